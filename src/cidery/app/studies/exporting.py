"""Exports: judgments as JSON lines or CSV, every answer as CSV, collected sentences as COCO."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from cidery.app.studies.counting import Count, counted_answers
from cidery.app.studies.models import Assignment, Study, write_number
from cidery.errors import SettingError
from cidery.meta.datasets.files import JSON_COLUMNS


def export_judgments(study: Study) -> str:
    """Return judgments as JSON lines."""
    lines = Count(study).judgments()
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def export_table(study: Study) -> str:
    """Return judgments as CSV, lists as JSON in their cells."""
    lines = list(Count(study).judgments())
    columns = list(dict.fromkeys(key for line in lines for key in line))
    rows = (
        [
            json.dumps(line[key], ensure_ascii=False)
            if key in JSON_COLUMNS and key in line
            else line.get(key, "")
            for key in columns
        ]
        for line in lines
    )
    return _write_csv(columns, rows)


def export_answers(study: Study) -> str:
    """Return every answer as a row of CSV: who, what, when, which side they saw first."""
    columns = (
        "item", "image", "judge", "excluded", "check", "value", "sentence", "review", "reason",
        "swapped", "given", "answered", "seconds",
    )  # fmt: skip
    found = (
        Assignment.objects.filter(study=study, state=Assignment.State.ANSWERED)
        .select_related("item", "judge")
        .order_by("item__number", "answered", "pk")
    )
    return _write_csv(columns, (_answer_cells(one) for one in found.iterator(2000)))


def _answer_cells(one: Assignment) -> list[Any]:
    assert one.judge is not None
    assert one.given is not None
    assert one.answered is not None
    known = one.item.known_answer
    return [
        one.item.number,
        one.item.content["image"],
        _as_text(one.judge.worker),
        int(one.judge.excluded),
        "" if known is None else write_number(known),
        "" if one.value is None else write_number(one.value),
        _as_text(one.sentence),
        one.review,
        one.reason,
        int(one.swapped),
        one.given.isoformat(),
        one.answered.isoformat(),
        f"{(one.answered - one.given).total_seconds():.3f}",
    ]


def _as_text(cell: str) -> str:
    """Mark what strangers wrote as text, where a spreadsheet would run it as a formula."""
    return f"'{cell}" if cell.startswith(("=", "+", "-", "@", "\t", "\r")) else cell


def export_coco(study: Study) -> str:
    """Return accepted sentences as COCO annotations."""
    if not study.is_collection:
        raise SettingError(f"{study.name} collects no sentences; export its judgments instead")
    accepted = counted_answers(study).filter(review=Assignment.Review.ACCEPTED)
    annotations = [
        {"id": number, "image_id": _image_id(content["image"]), "caption": sentence}
        for number, (content, sentence) in enumerate(
            accepted.values_list("item__content", "sentence"), start=1
        )
    ]
    images = dict.fromkeys(annotation["image_id"] for annotation in annotations)
    content = {
        "info": {"description": study.title},
        "images": [{"id": image} for image in images],
        "annotations": annotations,
    }
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def _image_id(image: str) -> int | str:
    """Return COCO's ids as the numbers that they are."""
    return int(image) if image.isascii() and image.isdigit() and str(int(image)) == image else image


def _write_csv(columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()


EXPORTS: Mapping[str, tuple[str, Callable[[Study], str]]] = MappingProxyType(
    {
        "jsonl": ("judgments.jsonl", export_judgments),
        "csv": ("judgments.csv", export_table),
        "answers": ("answers.csv", export_answers),
        "coco": ("annotations.json", export_coco),
    }
)
"""format -> name of the file, and what writes it"""


def export_study(study: Study, format: str) -> str:
    """Return a study's answers in one of the formats of `EXPORTS`."""
    if format not in EXPORTS:
        raise SettingError(f"unknown format {format!r}; known: {', '.join(EXPORTS)}")
    if study.is_collection and format in ("jsonl", "csv"):
        raise SettingError(f"{study.name} collects sentences; export them as coco or answers")
    return EXPORTS[format][1](study)
