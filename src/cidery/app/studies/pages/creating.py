"""The list of studies, and the form that makes one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from django.core.files.base import File
from django.http import HttpResponseBase
from rest_framework import serializers

from cidery.app.studies.creation import create_study
from cidery.app.studies.definition import (
    Definition,
    ExampleData,
    SourceFields,
    StudyFields,
    first_error,
    read_checks,
    read_json_lines,
)
from cidery.app.studies.items import Sources, check_content, make_items
from cidery.app.studies.models import Study
from cidery.app.web.pages import FormPage, Page
from cidery.app.web.roles import Role
from cidery.errors import CideryError
from cidery.meta.datasets.files import Record

GZIP = b"\x1f\x8b"
"""How compressed files begin; a small one may unpack to anything."""
LARGEST_FILE = 50 * 1024 * 1024
FIRST = ("name", "title", "design")
TEXT_STYLE = {"base_template": "textarea.html", "rows": 4}
FILE_STYLE = {"accept": ".json,.jsonl,.csv,.tsv"}


class StudySummary(serializers.ModelSerializer[Study]):
    """A study in the list."""

    class Meta:
        """What tells studies apart."""

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
        """Return all studies, or none to others than the owner."""
        if not Role.OWNER.admits(self.request.user):
            return {"studies": []}
        return {"studies": Study.objects.defer("references")}


def check_file(file: File[Any]) -> None:
    """Refuse an upload that is too large, or may become so."""
    if (file.size or 0) > LARGEST_FILE:
        raise serializers.ValidationError(f"A file has at most {LARGEST_FILE // 2**20} MB.")
    if file.read(2) == GZIP:
        raise serializers.ValidationError("Please send the file as it is, not compressed.")
    file.seek(0)


def _file(help_text: str) -> serializers.FileField:
    return serializers.FileField(
        required=False, validators=[check_file], help_text=help_text, style=FILE_STYLE
    )


def _lines(help_text: str, longest: int = 1024 * 1024) -> serializers.CharField:
    return serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=longest,
        style=TEXT_STYLE,
        help_text=f"{help_text} JSON lines.",
    )


def _styles() -> dict[str, dict[str, Any]]:
    """Return how the fields with a default are typed, long texts in a box."""
    names = [name for name in StudyFields.Meta.fields if name not in (*FIRST, "examples")]
    long = ("instructions", "consent", "forbidden")
    return {name: {"style": TEXT_STYLE} if name in long else {} for name in names}


class StudyForm(StudyFields, SourceFields):
    """A study: what it asks, and the items to ask about."""

    results_1 = _file("Captions of a system; its file's name becomes the system's.")
    results_2 = _file("Captions of another system, for pairs and triplets.")
    references = _file("Captions by people.")
    items = _lines("Instead of files: lines of judgments without votes.", 4 * 1024 * 1024)
    checks = _lines("Attention checks: items, each with the right vote or rating.")
    examples: Any = _lines(
        'Of sentences: {"sentence": "A dog.", "accepted": false, "why": "too short"}'
    )

    class Meta(StudyFields.Meta):
        """The study's own fields, and those of its items."""

        fields: ClassVar[list[str]] = [
            *("name", "title", "design", "results_1", "results_2", "references", "items"),
            *("sample", "references_each", "sets", "checks"),
            *(name for name in StudyFields.Meta.fields if name not in FIRST),
        ]
        extra_kwargs: ClassVar[dict[str, Any]] = {
            name: {"initial": getattr(Study(), name)} | style for name, style in _styles().items()
        }

    def validate_examples(self, value: str) -> list[dict[str, Any]]:
        """Read the lines; each is an example."""
        try:
            examples = ExampleData(data=read_json_lines(value, "examples"), many=True)
        except CideryError as error:
            raise serializers.ValidationError(str(error)) from None
        if not examples.is_valid():
            raise serializers.ValidationError(first_error(examples.errors, "examples"))
        return list(examples.validated_data)

    def validate_name(self, value: str) -> str:
        """Refuse the name that the address of this form has."""
        if value == "new":
            raise serializers.ValidationError("This name is reserved; choose another.")
        return value


class NewStudy(FormPage):
    """Makes a study."""

    role = Role.OWNER
    template_name = "studies/new.html"
    shows = StudiesData
    form = StudyForm
    accepts = StudySummary
    has_files = True

    def show(self) -> Any:
        """Return the studies there are, whose names are taken."""
        return {"studies": Study.objects.defer("references")}

    def accept(self, values: dict[str, Any]) -> HttpResponseBase:
        """Make the items, then the study."""
        definition = _define(values)
        with blaming("name"):
            study = create_study(definition)
        return self.done("study", study, message="The study is made.", name=study.name)


@contextmanager
def blaming(field: str) -> Iterator[None]:
    """Show what is wrong with the content of a field at that field."""
    try:
        yield
    except (CideryError, OSError) as error:
        raise serializers.ValidationError({field: [str(error)]}) from None


def _define(values: dict[str, Any]) -> Definition:
    fields = {name: values[name] for name in StudyFields.Meta.fields if name in values}
    design = fields["design"]
    with blaming("checks"):
        checks = read_checks(fields, read_json_lines(values.get("checks", ""), "checks"), "checks")
    sources = _read_sources(values)
    with blaming("items"):
        if values.get("items"):
            lines = read_json_lines(values["items"], "items")
        else:
            lines = make_items(
                design,
                sources,
                sets=values["sets"],
                references_each=values["references_each"],
                sample=values["sample"],
                seed=values.get("seed", 0),
            )
        records = [Record(line, f"item {n}") for n, line in enumerate(lines, start=1)]
        items = [check_content(design, record) for record in records]
        return Definition(fields, items, checks, sources.references)


def _read_sources(values: dict[str, Any]) -> Sources:
    """Read the files; two of one name are two systems."""
    results: dict[str, Mapping[str, Sequence[str]]] = {}
    for field in ("results_1", "results_2"):
        file = values.get(field)
        if not file:
            continue
        name = _name(file)
        with blaming(field):
            (captions,) = Sources.read({name: file}).results.values()
        results[f"{name}-2" if name in results else name] = captions
    with blaming("references"):
        references = Sources.read({}, values.get("references")).references
    return Sources(results, references)


def _name(file: File[Any]) -> str:
    """Return what the system of an uploaded file is called: the file's name, plain."""
    name = "".join(c for c in Path(file.name or "file").name if c.isalnum() or c in "._-")
    return Path(name.lstrip(".") or "file").stem
