"""The list of studies, and the form that makes one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from django.core.files.base import File
from django.http import HttpResponseBase
from django.utils.translation import get_language, gettext_lazy
from rest_framework import serializers
from rest_framework.fields import empty
from rest_framework.request import Request

from cidery.errors import CideryError
from cidery.meta import Record
from cidery_server.studies.creation import create_study
from cidery_server.studies.definition import (
    Definition,
    ExampleData,
    QuestionData,
    SourceFields,
    StudyFields,
    first_error,
    read_checks,
    read_training,
)
from cidery_server.studies.form_labels import (
    CAPTIONED,
    DESIGNS,
    GROUPS,
    LABELS,
    TEXT_STYLE,
    field_style,
)
from cidery_server.studies.images import drop_images, keep_images
from cidery_server.studies.items import (
    Content,
    Sources,
    check_content,
    make_items,
    read_item_file,
)
from cidery_server.studies.models import DEFAULTS, Study
from cidery_server.studies.pages.judges import TaskData
from cidery_server.studies.preview import preview_task, read_filled
from cidery_server.studies.text_fields import (
    read_example_lines,
    read_item_lines,
    read_known_lines,
    read_question_lines,
)
from cidery_server.web.pages import FormPage, GroupedForm, Page
from cidery_server.web.roles import Role
from cidery_server.web.translation import translate as _

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

GZIP = b"\x1f\x8b"
"""First bytes of compressed files; a small one may unpack to any size."""
MAX_FILE_BYTES = 50 * 1024 * 1024
FIRST = ("name", "title", "design")
MAX_FILES = 100
"""Django's maximum in one request; more images must be zipped."""
IMAGE_STYLE = {"accept": "image/*,.zip"}
FILE_STYLE = {"accept": ".json,.jsonl,.csv,.tsv"}


class StudySummary(serializers.ModelSerializer[Study]):
    """A study in the list."""

    class Meta:
        """Fields of the list of studies."""

        model = Study
        fields: ClassVar[list[str]] = [
            "name", "title", "design", "state", "judges_each", "item_count", "check_count",
            "created", "closed",
        ]  # fmt: skip


class StudiesData(serializers.Serializer[Any]):
    """The studies of this installation, for its owner."""

    studies = StudySummary(many=True)


class Studies(Page):
    """Lists the studies to the owner; judges need their invitation."""

    role = Role.ANYONE
    template_name = "studies/studies.html"
    shows = StudiesData

    def show(self) -> Any:
        """Return all studies to the owner, none to others."""
        if not Role.OWNER.admits(self.request.user):
            return {"studies": []}
        return {"studies": Study.objects.defer("references")}


def check_file(file: File[Any]) -> None:
    """Refuse an upload that is too large, or may become so."""
    if (file.size or 0) > MAX_FILE_BYTES:
        raise serializers.ValidationError(
            _("A file has at most {largest_file} MB.").format(largest_file=MAX_FILE_BYTES // 2**20)
        )
    if file.read(2) == GZIP:
        raise serializers.ValidationError(_("Please send the file as it is, not compressed."))
    file.seek(0)


def _file(help_text: StrOrPromise, only_for: str = "") -> serializers.FileField:
    return serializers.FileField(
        required=False,
        validators=[check_file],
        help_text=help_text,
        style=FILE_STYLE | {"for": only_for},
    )


class FilesField(serializers.ListField):
    """Any number of files; an empty field sends an empty text instead."""

    def get_value(self, dictionary: Any) -> Any:
        """Return the files, possibly none."""
        given = super().get_value(dictionary)
        return [one for one in given if one != ""] or empty if isinstance(given, list) else given

    def run_child_validation(self, data: Any) -> list[Any]:
        """Assign errors of a file to its field."""
        checked = []
        for file in data:
            try:
                checked.append(self.child.run_validation(file))
            except serializers.ValidationError as error:
                messages = [f"{getattr(file, 'name', file)}: {one}" for one in error.detail]
                raise serializers.ValidationError(messages) from None
        return checked


def _files(
    help_text: StrOrPromise, style: dict[str, str], validators: Any = (), only_for: str = ""
) -> FilesField:
    return FilesField(
        child=serializers.FileField(validators=list(validators)),
        required=False,
        max_length=MAX_FILES,
        help_text=help_text,
        style={"base_template": "files.html", "for": only_for, **style},
    )


def _lines(
    help_text: StrOrPromise, longest: int = 1024 * 1024, only_for: str = ""
) -> serializers.CharField:
    return serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=longest,
        style=TEXT_STYLE | {"for": only_for},
        help_text=help_text,
    )


def _styles() -> dict[str, dict[str, Any]]:
    """Return the styles of fields with a default."""
    lines = ("examples", "questions")
    names = [name for name in StudyFields.Meta.fields if name not in (*FIRST, *lines)]
    return {name: {"style": field_style(name)} for name in names}


class StudyForm(GroupedForm, StudyFields, SourceFields):
    """A study: its questions and its items."""

    groups = GROUPS
    labels = LABELS

    design = serializers.ChoiceField(
        choices=DESIGNS,
        help_text=gettext_lazy("The following fields depend on it; see the preview."),
    )
    results_1 = _file(
        gettext_lazy("JSON or CSV, as metrics take it; the file's name becomes the system's."),
        CAPTIONED,
    )
    results_2 = _file(gettext_lazy("Captions of another system for the same images."), CAPTIONED)
    results_more = _files(gettext_lazy("Any number of files."), FILE_STYLE, [check_file], CAPTIONED)
    references = _file(
        gettext_lazy("Written by people. Required for sentence A, and to evaluate metrics.")
    )
    image_files = _files(
        gettext_lazy("Images, or a zip archive of them, named by the ids of their captions."),
        IMAGE_STYLE,
    )
    items = _lines(
        gettext_lazy(
            "One per line: image | sentence | other sentence; three sentences: image | "
            "sentence A | sentence | other sentence; ratings: image | sentence. Names of "
            "systems may follow. Or JSON lines. Caption files are not needed then."
        ),
        4 * 1024 * 1024,
    )
    items_file = _file(
        gettext_lazy("Or a file of items: judgments without votes, as JSON lines or CSV.")
    )
    checks = _lines(
        gettext_lazy(
            "One per line: image | better sentence | worse sentence. Three sentences: image"
            " | sentence A | closer sentence | other sentence. Ratings: image | sentence | "
            "right rating. Or JSON lines."
        )
    )
    training = _lines(
        gettext_lazy(
            "Shown first. Same format as above; a last part may explain why the answer is right."
        )
    )
    questions: Any = _lines(
        gettext_lazy("For several questions per item, one per line: fluency | How fluent is it?"),
        only_for=CAPTIONED,
    )
    examples: Any = _lines(
        gettext_lazy(
            "One per line: rejected | A dog. | too short. Or: accepted | and a good sentence."
        ),
        only_for="collection",
    )

    class Meta(StudyFields.Meta):
        """The study's own fields, and those of its items."""

        fields: ClassVar[list[str]] = [
            *("name", "title", "design", "results_1", "results_2", "results_more", "references"),
            *("image_files", "items", "items_file"),
            *("sample", "references_each", "sets", "together", "checks", "training"),
            *(name for name in StudyFields.Meta.fields if name not in FIRST),
        ]
        extra_kwargs: ClassVar[dict[str, Any]] = {
            name: {"initial": getattr(Study(), name)} | style for name, style in _styles().items()
        }

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        # Who reads the form in a language most likely has judges who do.
        self.fields["language"].initial = get_language()
        for name, text in DEFAULTS.items():
            self.fields[name].initial = _(text)

    def validate_examples(self, value: str) -> list[dict[str, Any]]:
        """Read the lines; each is an example."""
        return _check_lines(ExampleData, read_example_lines, value, "examples")

    def validate_questions(self, value: Any) -> list[dict[str, Any]]:
        """Read the lines; each is a question."""
        read = _check_lines(QuestionData, read_question_lines, value, "questions")
        return super().validate_questions(read)


def _check_lines(
    kind: type[serializers.Serializer[Any]],
    read_lines: Callable[[str, str], list[dict[str, Any]]],
    text: str,
    name: str,
) -> list[Any]:
    try:
        read: Any = kind(data=read_lines(text, name), many=True)
    except CideryError as error:
        raise serializers.ValidationError(str(error)) from None
    if not read.is_valid():
        raise serializers.ValidationError(first_error(read.errors, name))
    return list(read.validated_data)


class NewStudyData(StudiesData):
    """The studies of this installation, and a preview of the page for judges."""

    preview = TaskData(help_text="Page for judges, with placeholder sentences or the first item.")


class NewStudy(FormPage):
    """Makes a study."""

    role = Role.OWNER
    template_name = "studies/new.html"
    shows = NewStudyData
    form = StudyForm
    accepts = StudySummary
    has_files = True
    has_preview = True

    def show(self) -> Any:
        """Return the existing studies and the preview."""
        form = self.filled_form or self.make_form()
        values = read_filled(form)
        shown = preview_task(values, self._find_first(values))
        return {"studies": Study.objects.defer("references"), "preview": shown}

    def post(self, request: Request, **address: Any) -> HttpResponseBase:
        """Create the study, or show a preview."""
        if not (self.is_html and "preview" in request.data):
            return super().post(request, **address)
        form = self.make_form(request.data)
        form.is_valid()
        # What is missing is not wrong yet; but with errors, forms show what was sent as it was.
        form._errors = {"preview": []}  # type: ignore[attr-defined]
        self.filled_form = form
        return self.render()

    def _find_first(self, values: dict[str, Any]) -> Content | None:
        """Return the first item, if the form describes one."""
        sources = ("items", "items_file", "references", "results_1")
        if not any(values.get(name) for name in sources):
            return None
        try:
            return _make_contents(values, _read_sources(values))[0]
        except (serializers.ValidationError, CideryError, OSError, LookupError):
            return None

    def accept(self, values: dict[str, Any]) -> HttpResponseBase:
        """Make the items, then the study."""
        definition = _define(values)
        with assign_errors_to("name"):
            try:
                study = create_study(definition)
            except BaseException:
                drop_images(definition.fields.get("images", ""))
                raise
        return self.done("study", study, message=_("The study has been created."), name=study.name)


@contextmanager
def assign_errors_to(field: str) -> Iterator[None]:
    """Assign errors in the content of a field to that field."""
    try:
        yield
    except (CideryError, OSError) as error:
        raise serializers.ValidationError({field: [str(error)]}) from None


def _define(values: dict[str, Any]) -> Definition:
    fields = {name: values[name] for name in StudyFields.Meta.fields if name in values}
    design = fields["design"]
    with assign_errors_to("checks"):
        lines = read_known_lines(design, values.get("checks", ""), "checks")
        checks = read_checks(fields, lines, "checks")
    with assign_errors_to("training"):
        lines = read_known_lines(design, values.get("training", ""), "training")
        lessons = read_training(fields, lines, "training")
    sources = _read_sources(values)
    with assign_errors_to("items"):
        items = _make_contents(values, sources)
    if values.get("image_files"):
        known = [content for content, _ in checks] + [lesson.content for lesson in lessons]
        with assign_errors_to("image_files"):
            names = [content["image"] for content in (*items, *known)]
            fields["images"] = keep_images(values["image_files"], names)
    with assign_errors_to("items"):
        return Definition(fields, items, checks, sources.references, lessons)


def _make_contents(values: dict[str, Any], sources: Sources) -> list[Content]:
    design = values["design"]
    if values.get("items_file"):
        with assign_errors_to("items_file"):
            found = read_item_file(values["items_file"])
            return [check_content(design, one) for one in found if "references" not in one]
    if values.get("items"):
        lines = read_item_lines(design, values["items"], "items")
    else:
        lines = make_items(
            design,
            sources,
            sets=values["sets"],
            together=values["together"],
            references_each=values["references_each"],
            sample=values["sample"],
            seed=values.get("seed", 0),
        )
    records = [
        Record(line, _("item {number}").format(number=n)) for n, line in enumerate(lines, start=1)
    ]
    return [check_content(design, record) for record in records]


def _read_sources(values: dict[str, Any]) -> Sources:
    """Read the files; several of one name are several systems."""
    results: dict[str, Mapping[str, Sequence[str]]] = {}
    given = [("results_1", values.get("results_1")), ("results_2", values.get("results_2"))]
    given += [("results_more", file) for file in values.get("results_more") or ()]
    for field, file in given:
        if not file:
            continue
        name = _name(file)
        with assign_errors_to(field):
            (captions,) = Sources.read({name: file}).results.values()
        others = (f"{name}-{n}" for n in count(2))
        results[next(other for other in chain([name], others) if other not in results)] = captions
    with assign_errors_to("references"):
        references = Sources.read({}, values.get("references")).references
    return Sources(results, references)


def _name(file: File[Any]) -> str:
    """Return the name of the system of an uploaded file: the name of the file."""
    given = "-".join(Path(file.name or "file").name.split())
    name = "".join(c for c in given if c.isalnum() or c in "._-")
    return Path(name.lstrip(".") or "file").stem
