"""Exports: judgments as JSON lines or CSV, every answer as CSV, collected sentences as COCO."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from datetime import datetime
from types import MappingProxyType
from typing import Any

from django.db.models import Count, F, Q

from cidery.errors import SettingError
from cidery.meta import JSON_COLUMNS
from cidery.tables import guard_cell
from cidery_server.studies.answer_counts import Count as Counted
from cidery_server.studies.answer_counts import counted_answers
from cidery_server.studies.models import Assignment, Study, Visit, write_number
from cidery_server.studies.system_results import Standing, Standings, SystemComparison, rank_systems


def export_judgments(study: Study) -> str:
    """Return judgments as JSON lines."""
    lines = Counted(study).judgments()
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def export_table(study: Study) -> str:
    """Return judgments as CSV, lists as JSON in their cells."""
    lines = list(Counted(study).judgments())
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
    """Return every answer as a row of CSV: judge, answer, time, side shown first."""
    columns = (
        "item", "image", "judge", "excluded", "kind", "too_fast", "check", "value", "ratings",
        "choice", "sentence", "review", "reason", "comment", "swapped", "given", "answered",
        "seconds", "consent_version", "consented",
    )  # fmt: skip
    found = (
        Assignment.objects.filter(Q(state=Assignment.State.ANSWERED) | ~Q(choice=""), study=study)
        .select_related("item", "judge")
        .order_by("item__number", "answered", "pk")
    )
    return _write_csv(columns, (_answer_cells(one) for one in found.iterator(2000)))


def export_codes(study: Study) -> str:
    """Return every visit as a row of CSV: its code, once it is finished, and its answers."""
    columns = (
        "judge", "assignment", "code", "answers", "checks", "checks_right", "started", "finished",
        "stopped", "excluded", "consent_version", "consented",
    )  # fmt: skip
    mine = Q(assignments__state=Assignment.State.ANSWERED)
    checks = mine & Q(assignments__item__known_answer__isnull=False)  # training has no visit
    right = checks & Q(assignments__value=F("assignments__item__known_answer"))
    visits = Visit.objects.filter(judge__study=study).select_related("judge")
    counted = visits.annotate(
        given=Count("assignments", mine),
        checks=Count("assignments", checks),
        right=Count("assignments", right),
    )
    return _write_csv(columns, (_visit_cells(visit) for visit in counted.order_by("pk")))


RESULT_COLUMNS = (
    "question", "with", "system", "against", "quantity", "value", "low", "high", "p", "fixed_low",
    "fixed_high", "fixed_p", "judged", "decided", "ahead", "needed", "confidence", "signature",
)  # fmt: skip


def export_results(study: Study) -> str:
    """Return results by system as CSV: every system, then every two compared."""
    rows = []
    for standings in rank_systems(study).standings:
        rows += [_result_cells(standings, one) for one in standings.systems]
        rows += [_result_cells(standings, one) for one in standings.contests]
    return _write_csv(RESULT_COLUMNS, rows)


def _result_cells(standings: Standings, one: Standing | SystemComparison) -> list[Any]:
    wins = standings.kind == "wins"
    row = asdict(one) | {
        "question": standings.question,
        "with": standings.metric,
        "quantity": "share of wins" if wins else "mean",
        "confidence": standings.confidence,
        "signature": standings.signature,
    }
    if isinstance(one, SystemComparison):
        row |= {"system": one.first, "against": one.second, "decided": int(one.decided)}
        row["quantity"] = "share of wins" if wins else "difference of means"
    found = (row.get(name) for name in RESULT_COLUMNS)
    return ["" if cell is None else cell for cell in found]


def _visit_cells(visit: Any) -> list[Any]:
    return [
        visit.judge.worker,
        visit.assignment,
        visit.code,
        visit.given - visit.checks,
        visit.checks,
        visit.right,
        visit.started.isoformat(),
        _show_time(visit.finished),
        _show_time(visit.stopped),
        int(visit.judge.excluded),
        visit.judge.consent_version or "",
        _show_time(visit.judge.consented),
    ]


def _answer_cells(one: Assignment) -> list[Any]:
    assert one.judge is not None
    assert one.given is not None
    assert one.answered is not None
    known = one.item.known_answer
    kind = "training" if one.item.training else "item" if known is None else "check"
    return [
        one.item.number,
        one.item.content["image"],
        one.judge.worker,
        int(one.judge.excluded),
        "pilot" if one.pilot else kind,
        int(one.too_fast),
        "" if known is None else write_number(known),
        "" if one.value is None else write_number(one.value),
        "" if one.ratings is None else json.dumps(_name_ratings(one)),
        one.choice,
        one.sentence,
        one.review,
        one.reason,
        one.comment,
        int(one.swapped),
        one.given.isoformat(),
        one.answered.isoformat(),
        f"{(one.answered - one.given).total_seconds():.3f}",
        one.judge.consent_version or "",
        _show_time(one.judge.consented),
    ]


def _name_ratings(one: Assignment) -> dict[str, float | str]:
    """Return ratings by question, or by system where sets were shown side by side."""
    systems = one.item.content.get("systems") if "sets" in one.item.content else None
    return {systems[int(k)] if systems else k: v for k, v in (one.ratings or {}).items()}


def _show_time(moment: datetime | None) -> str:
    return moment.isoformat() if moment else ""


def export_consents(study: Study) -> str:
    """Return all consents as CSV: judge, time, version and text."""
    texts = dict(study.consent_texts.values_list("version", "text"))
    rows = (
        [judge.worker, judge.consent_version or "", _show_time(judge.consented), text]
        for judge in study.judges.order_by("pk")
        for text in [texts.get(judge.consent_version or 0, "")]
    )
    return _write_csv(("judge", "consent_version", "consented", "text"), rows)


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
    """Return COCO's ids as integers."""
    return int(image) if image.isascii() and image.isdigit() and str(int(image)) == image else image


def _write_csv(columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(
        [guard_cell(cell) if isinstance(cell, str) else cell for cell in row] for row in rows
    )
    return text.getvalue()


EXPORTS: Mapping[str, tuple[str, Callable[[Study], str]]] = MappingProxyType(
    {
        "jsonl": ("judgments.jsonl", export_judgments),
        "csv": ("judgments.csv", export_table),
        "answers": ("answers.csv", export_answers),
        "results": ("results.csv", export_results),
        "codes": ("codes.csv", export_codes),
        "consents": ("consents.csv", export_consents),
        "coco": ("annotations.json", export_coco),
    }
)
"""format -> name of the file, and function that writes it"""


def export_study(study: Study, format: str) -> str:
    """Return a study's answers in one of the formats of `EXPORTS`."""
    if format not in EXPORTS:
        raise SettingError(f"unknown format {format!r}; known: {', '.join(EXPORTS)}")
    if study.is_collection and format in ("jsonl", "csv", "results"):
        raise SettingError(f"{study.name} collects sentences; export them as coco or answers")
    return EXPORTS[format][1](study)
