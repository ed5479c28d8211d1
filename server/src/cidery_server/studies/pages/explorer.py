"""The explorer of a study: captions image by image, with the judges' answers."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from rest_framework import serializers
from rest_framework.exceptions import NotFound

from cidery_server.studies.answer_counts import Count
from cidery_server.studies.definition import WEB
from cidery_server.studies.items import Content
from cidery_server.studies.models import Study
from cidery_server.studies.pages.creation import StudySummary
from cidery_server.studies.pages.management import StudyOwnerPage
from cidery_server.web.translation import translate as _

UNNAMED = ("first", "second")
"""Names of the captions of a pair without named systems."""


class ExploreStudyData(serializers.Serializer[Any]):
    """Captions and judges' answers image by image, in the columns of a report's JSON."""

    study = StudySummary()
    content = serializers.JSONField(help_text="images, systems, references, thumbnails.")


class ExploreStudy(StudyOwnerPage):
    """Shows captions image by image with answers: mean ratings, or mean votes from -1 to 1."""

    template_name = "studies/explore.html"
    shows = ExploreStudyData

    def show(self) -> Any:
        """Return the columns to a program; the HTML page loads them later."""
        study = self.study()
        if study.is_collection:
            raise NotFound(_("Collected sentences are reviewed, not explored."))
        return {"study": study, "content": None if self.is_html else describe_answers(study)}


def describe_answers(study: Study) -> dict[str, Any]:
    """Return images, systems with their captions and mean answers, and where pictures are."""
    names = [question["name"] for question in study.questions]
    # The votes of a pair, or ratings; by question where there are several.
    label = "votes" if study.is_pairwise else "rating"
    counts = {name: Count(study, name) for name in names} or {label: Count(study)}
    count = next(iter(counts.values()))
    answers: dict[str, dict[tuple[int, str], dict[str, list[float]]]] = {}
    places: dict[str, int] = {}
    pictured: list[int] = []
    references: list[list[str]] = []
    for item, content in count.items.items():
        image = content["image"]
        if image not in places:
            places[image] = len(places)
            pictured.append(item[0])
            references.append(list(study.references.get(image, ())))
        reference = content.get("reference")
        if reference is not None and reference not in references[places[image]]:
            references[places[image]].append(reference)
        for system, caption, sign in _list_captions(content):
            row = answers.setdefault(system, {}).setdefault((places[image], caption), {})
            for name, asked in counts.items():
                given = asked.values.get(item, [])
                row.setdefault(name, []).extend(sign * value for value in given)
    return {
        "images": list(places),
        "references": references,
        "names": list(answers),
        "systems": {name: _make_columns(rows) for name, rows in answers.items()},
        "thumbnails": _find_pictures(study, pictured),
    }


def _list_captions(content: Content) -> list[tuple[str, str, int]]:
    """Return system, caption and the sign of a vote for it."""
    if "pair" in content:
        names = content.get("systems") or UNNAMED
        return [(names[0], content["pair"][0], 1), (names[1], content["pair"][1], -1)]
    system = content.get("system", "captions")
    return [(system, caption, 1) for caption in content.get("captions") or [content["caption"]]]


def _make_columns(rows: dict[tuple[int, str], dict[str, list[float]]]) -> dict[str, Any]:
    ordered = sorted(rows.items(), key=lambda row: row[0][0])
    labels = ordered[0][1] if ordered else {}
    return {
        "captions": [caption for (_, caption), _ in ordered],
        "images": [place for (place, _), _ in ordered],
        "scores": {
            label: [sum(v[label]) / len(v[label]) if v[label] else None for _, v in ordered]
            for label in labels
        },
    }


def _find_pictures(study: Study, items: list[int]) -> dict[str, Any] | None:
    if not study.images:
        return None
    if study.images.startswith(WEB):
        return {"template": study.images}
    address = {"name": study.name}
    return {"files": [reverse("study-image", kwargs={**address, "item": i}) for i in items]}
