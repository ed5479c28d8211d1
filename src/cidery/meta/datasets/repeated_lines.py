"""Repeated lines of one item: their judgments are joined."""

from __future__ import annotations

from collections.abc import Iterable

from cidery.meta.datasets.files import Record

JUDGED = ("pair", "caption", "captions")
"""Fields of judged items; a line without them has references."""
ITEM = (*JUDGED, "reference", "references", "system", "systems", "kind")
"""Lines with the same image and the same values of these fields are one item."""


def join_lines(records: Iterable[Record]) -> list[Record]:
    """Return a record for each item, at the place of its first line.

    A judged line replaces one that is not judged. Judged triplets are not joined: two people may
    have written the same reference.
    """
    items: dict[object, Record] = {}
    for number, record in enumerate(records):
        key = _identify(record) if any(name in record for name in JUDGED) else number
        if key not in items:
            items[key] = record
        elif "reference" in record and was_answered(record) and was_answered(items[key]):
            items[number] = record
        else:
            items[key] = _join(items[key], record)
    return list(items.values())


def _identify(record: Record) -> object:
    return record.text("image"), repr([record.content.get(name) for name in ITEM])


def _name_answers(record: Record) -> tuple[str, str]:
    """Return the names of the fields of several judgments and of one."""
    return ("votes", "vote") if "pair" in record else ("ratings", "rating")


def _get_answers(record: Record) -> object:
    found = (record.content.get(key) for key in _name_answers(record))
    return next((answers for answers in found if _has_any(answers)), None)


def _has_any(answers: object) -> bool:
    if isinstance(answers, dict):
        return any(map(_has_any, answers.values()))
    return answers not in (None, [])


def was_answered(record: Record) -> bool:
    """Return True for a judged line."""
    return _get_answers(record) is not None


def _join(first: Record, second: Record) -> Record:
    """Return two lines of one item as one, with the judgments of both."""
    if not was_answered(second):
        return first
    if not was_answered(first):
        return second
    given, more = _get_answers(first), _get_answers(second)
    several, one = _name_answers(first)
    answers: object
    if isinstance(given, dict) and isinstance(more, dict):
        answers = {
            question: _as_list(given.get(question)) + _as_list(more.get(question))
            for question in given | more
        }
    elif isinstance(given, dict) or isinstance(more, dict):
        second.refuse(
            f"{first.place} is of the same item, and only one of the two has {several} by question"
        )
    else:
        answers = _as_list(given) + _as_list(more)
    kept = {key: value for key, value in first.content.items() if key != one}
    place = f"{first.place} and {second.place}"
    return Record({**kept, several: answers}, place, first.columns)


def _as_list(answers: object) -> list[object]:
    if answers is None:
        return []
    return answers if isinstance(answers, list) else [answers]
