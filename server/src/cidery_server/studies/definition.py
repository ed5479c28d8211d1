"""Definitions of studies, from a form, the API or a JSON file: with the same fields and checks."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from django.utils.translation import gettext_lazy
from rest_framework import serializers

from cidery.errors import FormatError
from cidery.meta import Record, read_judgment_records
from cidery_server.studies.images import find_image
from cidery_server.studies.items import (
    MAX_TEXT_LENGTH,
    UNSTORABLE,
    Content,
    Design,
    Sources,
    check_content,
    get_answers,
    is_storable,
    make_items,
)
from cidery_server.studies.models import MAX_STEPS, Study, write_number
from cidery_server.web.translation import translate as _

MAX_ITEMS = 200_000
WEB = ("https://", "http://")
SITE = re.compile(
    r"https://(\*\.)?[a-z0-9-]+(\.[a-z0-9-]+)+(:[0-9]{1,5})?"
    r"|http://(localhost|127\.0\.0\.1)(:[0-9]{1,5})?"
)
"""Pattern of a site that may show a study in a frame; http is for this machine only."""
MAX_QUESTIONS = 10
ABOUT_IMAGES = (Study.Design.PAIRWISE, Study.Design.RATING, Study.Design.COLLECTION)
"""Designs whose own question names the image."""


def scale_of(fields: Mapping[str, Any]) -> Study:
    """Return a study that is not stored, with the scale and the words of some fields."""
    chosen = {k: v for k, v in fields.items() if k.startswith("scale") or k.endswith("_words")}
    return Study(**chosen)


class ExampleData(serializers.Serializer[Any]):
    """A sentence that would be accepted or rejected, and why."""

    sentence = serializers.CharField(max_length=2000)
    accepted = serializers.BooleanField()
    why = serializers.CharField(max_length=500, allow_blank=True, required=False, default="")


class QuestionData(serializers.Serializer[Any]):
    """One of several questions about an item."""

    name = serializers.RegexField(
        r"\A[A-Za-z][A-Za-z0-9_-]{0,39}\Z",
        help_text="In exports: letters, digits, hyphens.",
        error_messages={
            "invalid": gettext_lazy(
                "A name consists of letters, digits and hyphens, for example fluency."
            )
        },
    )
    text = serializers.CharField(max_length=500, help_text="Text for judges.")


class StudyFields(serializers.ModelSerializer[Study]):
    """Fields of a study: question, judges, items."""

    examples = ExampleData(many=True, required=False)
    questions = QuestionData(many=True, required=False)

    class Meta:
        """Fields that the owner chooses."""

        model = Study
        fields: ClassVar[list[str]] = [
            "name", "title", "design", "language", "question", "instructions", "consent", "contact",
            "judges_each",
            "timeout_minutes", "items_per_judge", "check_every", "fewest_checks_right",
            "checks_before", "fewest_seconds", "images", "scale_low",
            "scale_high", "scale_step", "scale_low_label", "scale_high_label", "min_words",
            "max_words", "forbidden", "examples", "completion_code", "completion_url", "frames",
            "questions", "allow_ties", "allow_neither", "allow_skip", "ask_comment",
            "stop_when_decided", "seed", "state",
        ]  # fmt: skip

    def validate_questions(self, value: list[dict[str, str]]) -> list[dict[str, str]]:
        """Names of questions must differ."""
        names = [question["name"] for question in value]
        if len(set(names)) < len(names):
            raise serializers.ValidationError(_("Two questions have the same name."))
        if len(names) > MAX_QUESTIONS:
            raise serializers.ValidationError(
                _("There are at most {count} questions.").format(count=MAX_QUESTIONS)
            )
        return value

    def validate_state(self, value: str) -> str:
        """A new study is not decided yet."""
        if value == Study.State.DECIDED:
            raise serializers.ValidationError(_("A study starts as a pilot, open or closed."))
        return value

    def validate_images(self, value: str) -> str:
        """Check the address of images; only the command line may name files of the server."""
        if value and "{image}" not in value:
            raise serializers.ValidationError(_("The address must contain {image}."))
        local = self.context.get("local") and not value.startswith(WEB)
        if value and not value.startswith("https://") and not local:
            # Pages allow no other images: http would show strangers which items a judge sees.
            raise serializers.ValidationError(_("The address must begin with https://."))
        return value

    def validate_completion_url(self, value: str) -> str:
        """Judges are sent to web pages only."""
        if value and not value.startswith(WEB):
            raise serializers.ValidationError(_("The address must begin with https://."))
        return value

    def validate_frames(self, value: str) -> str:
        """Sites are named as Content-Security-Policy names them, without paths."""
        wrong = next((site for site in value.split() if not SITE.fullmatch(site)), None)
        if wrong is not None:
            raise serializers.ValidationError(
                _(
                    "{wrong!r} is not a site; write https://example.org or https://*.example.org."
                ).format(wrong=wrong)
            )
        return value

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Check combinations of fields."""
        study = scale_of(attrs)
        width = study.scale_high - study.scale_low
        if not 0 < width < math.inf:
            raise serializers.ValidationError(
                {"scale_high": _("The highest rating must be above the lowest.")}
            )
        if not 1 <= width / study.scale_step <= MAX_STEPS - 1:
            raise serializers.ValidationError(
                {"scale_step": _("The scale must have 2 to {most} steps.").format(most=MAX_STEPS)}
            )
        steps = width / study.scale_step
        if abs(steps - round(steps)) > 1e-6:  # the highest button would be another number
            raise serializers.ValidationError(
                {
                    "scale_step": _(
                        "The step must divide the scale: the highest rating must be one of "
                        "the steps."
                    )
                }
            )
        if len(study.labels) <= round(steps):
            raise serializers.ValidationError({"scale_step": _("The steps must be different.")})
        if study.min_words > study.max_words:
            raise serializers.ValidationError(
                {"max_words": _("The maximum must not be below the minimum number of words.")}
            )
        if attrs.get("questions") and attrs.get("design") == Study.Design.COLLECTION:
            raise serializers.ValidationError(
                {
                    "questions": _(
                        "A study that collects sentences has one question; create a"
                        " study for each question."
                    )
                }
            )
        if attrs.get("stop_when_decided") and attrs.get("design") == Study.Design.COLLECTION:
            raise serializers.ValidationError(
                {
                    "stop_when_decided": _(
                        "This study collects sentences; there is nothing to decide."
                    )
                }
            )
        return attrs


class SourceFields(serializers.Serializer[Any]):
    """Sources of items: results and references."""

    sets = serializers.BooleanField(
        required=False,
        default=False,
        help_text=gettext_lazy("Rate all captions of an image as a set."),
    )
    together = serializers.BooleanField(
        required=False,
        default=False,
        help_text=gettext_lazy("Ratings: show the sets of captions of all systems side by side."),
    )
    references_each = serializers.IntegerField(
        required=False,
        allow_null=True,
        default=None,
        min_value=1,
        max_value=1000,
        help_text=gettext_lazy("Triplets: number of references per image. Blank: all."),
    )
    sample = serializers.IntegerField(
        required=False,
        allow_null=True,
        default=None,
        min_value=1,
        max_value=MAX_ITEMS,
        help_text=gettext_lazy("Random sample size; blank: all images."),
    )


class FileSources(SourceFields):
    """Files on this machine that items are made from."""

    results = serializers.DictField(child=serializers.CharField(), required=False, default=dict)
    references = serializers.CharField(required=False, default=None)
    file = serializers.CharField(required=False, default=None)
    """File of items: lines of judgments."""


class StudyFile(StudyFields):
    """A study in a JSON file."""

    items = FileSources()
    checks = serializers.ListField(child=serializers.DictField(), required=False, default=list)
    training = serializers.ListField(child=serializers.DictField(), required=False, default=list)

    class Meta(StudyFields.Meta):
        """The study's own fields, and where its items come from."""

        fields: ClassVar[list[str]] = [*StudyFields.Meta.fields, "items", "checks", "training"]


@dataclass(frozen=True)
class Lesson:
    """An item that comes first, whose right answer is shown afterwards."""

    content: Content
    answer: float
    why: str


@dataclass(frozen=True)
class Definition:
    """A study that was checked and is ready to be created."""

    fields: Mapping[str, Any]
    """Fields validated by `StudyFields`."""
    items: Sequence[Content]
    checks: Sequence[tuple[Content, float]] = ()
    """Items with their right answers."""
    references: Mapping[str, Sequence[str]] = field(default_factory=dict)
    training: Sequence[Lesson] = ()

    def __post_init__(self) -> None:
        if not self.items:
            raise FormatError(_("the study has no items; add results, or a file of items"))
        design = self.fields["design"]
        own = self.fields.get("question") or self.fields.get("questions")
        if design in ABOUT_IMAGES and not (self.fields.get("images") or own):
            raise FormatError(
                _(
                    "the question is about an image, and no images are shown: give images, or a "
                    "question that can be answered without them"
                )
            )
        if self.fields.get("questions") and any("sets" in item for item in self.items):
            raise FormatError(_("sets side by side are rated by one question, not by several"))
        if len(self.items) > MAX_ITEMS:
            raise FormatError(
                _("the study has {count} items, more than {most}").format(
                    count=len(self.items), most=MAX_ITEMS
                )
            )
        for image, captions in self.references.items():
            for text in (image, *captions):
                if not is_storable(text):
                    raise FormatError(
                        _("a reference of image {image!r} contains {unstorable}").format(
                            image=image, unstorable=_(UNSTORABLE)
                        )
                    )

    def check_images(self) -> None:
        """Raise an error if image files of this machine are missing."""
        study = Study(images=self.fields.get("images", ""))
        if not study.has_local_images:
            return
        known = (content for content, _ in self.checks)
        contents = (*self.items, *known, *(lesson.content for lesson in self.training))
        names = dict.fromkeys(content["image"] for content in contents)
        missing = [name for name in names if find_image(study, name) is None]
        if missing:
            more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
            raise FormatError(
                f"{len(missing)} of {len(names)} images are missing, or are not images: "
                f"{', '.join(study.image_source({'image': name}) for name in missing[:3])}{more}"
            )

    def used_references(self) -> dict[str, list[str]]:
        """Return the references of the images that occur in items."""
        used = {item["image"] for item in self.items}
        return {image: list(found) for image, found in self.references.items() if image in used}


def read_definition(path: str | os.PathLike[str]) -> Definition:
    """Read a study's JSON file; the paths in it are relative to it."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise FormatError(f"{path}: not valid JSON ({error})") from None
    if not isinstance(content, dict):
        raise FormatError(f"{path}: expected a JSON object that describes a study")
    _check_known(str(path), content, StudyFile(context={"local": True}).fields)
    if isinstance(content.get("items"), dict):
        _check_known(f"{path}, items", content["items"], FileSources().fields)
    form = StudyFile(data=content, context={"local": True})
    if not form.is_valid():
        raise FormatError(f"{path}, {first_error(form.errors)}")
    values = dict(form.validated_data)
    folder = Path(path).absolute().parent
    sources, checks, training = (values.pop(name) for name in ("items", "checks", "training"))
    if values.get("images") and not values["images"].startswith(WEB):
        values["images"] = str(folder / values["images"])
    design = values["design"]
    items, references = _read_sources(design, sources, folder, values.get("seed", 0))
    checked = read_checks(values, checks, str(path))
    lessons = read_training(values, training, str(path))
    try:
        made = Definition(values, items, checked, references, lessons)
        made.check_images()
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from None
    return made


def _check_known(where: str, content: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    unknown = [key for key in content if key not in known]
    if unknown:
        raise FormatError(f"{where}: unknown {unknown[0]!r}; known: {', '.join(known)}")


def first_error(errors: Any, place: str = "") -> str:
    """Return `field, entry 2, subfield: message` of the first of a serializer's errors."""
    if isinstance(errors, Mapping):
        key, inner = next(iter(errors.items()))
        if key == "non_field_errors":
            return first_error(inner, place)
        named = f"entry {key + 1}" if isinstance(key, int) else str(key)
        return first_error(inner, f"{place}, {named}" if place else named)
    return f"{place}: {errors[0] if isinstance(errors, list) else errors}"


def _read_sources(
    design: Design, sources: Mapping[str, Any], folder: Path, seed: int
) -> tuple[list[Content], Mapping[str, Any]]:
    references = sources["references"]
    read = Sources.read(
        {system: folder / name for system, name in sources["results"].items()},
        None if references is None else folder / references,
    )
    if sources["file"] is not None:
        records = list(read_judgment_records(folder / sources["file"]))
        items = [check_content(design, record) for record in records if "references" not in record]
        return items, read.references
    made = make_items(
        design,
        read,
        sets=sources["sets"],
        together=sources["together"],
        references_each=sources["references_each"],
        sample=sources["sample"],
        seed=seed,
    )
    return made, read.references


def read_checks(
    fields: Mapping[str, Any], checks: list[dict[str, Any]], source: str
) -> list[tuple[Content, float]]:
    """Return attention checks: items, each with the `vote` or `rating` that is right."""
    records = [Record(check, f"{source}, check {n}") for n, check in enumerate(checks, start=1)]
    return [_read_known(fields, record, _("an attention check")) for record in records]


def read_training(
    fields: Mapping[str, Any], lessons: list[dict[str, Any]], source: str
) -> list[Lesson]:
    """Return training items, each with its right `vote` or `rating`, and the reason in `why`."""
    found = []
    for number, lesson in enumerate(lessons, start=1):
        record = Record(lesson, f"{source}, training {number}")
        why = record.text("why") if "why" in record else ""
        if len(why) > MAX_TEXT_LENGTH or not is_storable(why):
            record.refuse(
                _("'why' is too long or contains {unstorable}").format(unstorable=_(UNSTORABLE))
            )
        found.append(Lesson(*_read_known(fields, record, _("a training item")), why))
    return found


def _read_known(fields: Mapping[str, Any], record: Record, what: str) -> tuple[Content, float]:
    content = check_content(fields["design"], record)
    if "sets" in content:
        record.refuse(
            _("{what} cannot show sets side by side, which have no single right answer").format(
                what=what
            )
        )
    answers = get_answers(fields["design"], record)
    if len(answers) != 1 or (answers[0] == 0 and "vote" in record):
        record.refuse(
            _("{what} has one right answer, a 'vote' (1, -1) or a 'rating'").format(what=what)
        )
    steps = scale_of(fields).labels
    if fields["design"] == Study.Design.RATING and answers[0] not in steps.values():
        record.refuse(
            _("the rating {rating} is not a step of the scale ({steps})").format(
                rating=write_number(answers[0]), steps=", ".join(steps)
            )
        )
    return content, answers[0]
