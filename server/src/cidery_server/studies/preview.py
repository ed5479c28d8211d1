"""Preview of the page for judges, before a study is created."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from django.utils.translation import override
from rest_framework import serializers
from rest_framework.fields import SkipField

from cidery_server.studies.assignment import Task
from cidery_server.studies.definition import StudyFields
from cidery_server.studies.items import Content
from cidery_server.studies.models import Assignment, Item, Judge, Study
from cidery_server.studies.pages.judges import describe_task

GOAL = 20
"""Items of the judge whose page is shown."""
SCALE = ("scale_low", "scale_high", "scale_step")
_HORSE, _ANIMAL = "A man rides a brown horse along the beach.", "A person is on an animal."
SAMPLES: Mapping[str, Content] = MappingProxyType(
    {
        "pairwise": {"image": "1", "pair": [_HORSE, _ANIMAL]},
        "triplet": {"image": "1", "pair": [_HORSE, _ANIMAL], "reference": "Someone on a horse."},
        "rating": {"image": "1", "caption": _HORSE},
        "collection": {"image": "1"},
    }
)
"""design -> an item to show while there is none"""


def read_filled(form: serializers.Serializer[Any]) -> dict[str, Any]:
    """Return the valid fields of a form that may have errors."""
    given = form.get_initial() if not hasattr(form, "initial_data") else form.initial_data
    values: dict[str, Any] = {}
    for name, field in form.fields.items():
        try:
            value = field.run_validation(field.get_value(given))
            check = getattr(form, f"validate_{name}", None)
            values[name] = check(value) if check else value
        except (SkipField, serializers.ValidationError):
            continue
    values.setdefault("design", next(iter(SAMPLES)))
    return values


def preview_task(values: Mapping[str, Any], first: Content | None) -> dict[str, Any]:
    """Return a judge's page, of the first item or of made-up sentences.

    Images are not loaded: they may not be there yet.
    """
    fields = {name: values[name] for name in StudyFields.Meta.fields if name in values}
    try:
        StudyFields().validate(dict(fields))
    except serializers.ValidationError:
        fields = {name: value for name, value in fields.items() if name not in SCALE}
    if fields["design"] == Study.Design.COLLECTION:
        fields.pop("questions", None)
    study = Study(**fields)
    study.translate_defaults()
    study.item_count = GOAL
    item = Item(study=study, content=first or SAMPLES[study.design])
    judge = Judge(study=study)
    shows_images = bool(study.images or values.get("image_files"))
    study.images = ""
    given = Assignment(study=study, item=item, judge=judge)
    with override(study.language):
        shown = describe_task(Task(judge, 0, given, False))
    if shows_images:
        shown["choices"] = [*shown["choices"], "broken"]
    return shown | {"assignment": None, "image": "preview" if shows_images else ""}
