"""Anyone's judgments: a file of JSON lines or CSV, described in docs/judgments-format.md.

A line is one of

    {"image": …, "references": […]}                                       an image's references
    {"image": …, "pair": [first, second], "votes": […]}                   a preference
    {"image": …, "pair": [first, second], "reference": …, "votes": […]}   a triplet
    {"image": …, "caption": …, "ratings": […]}                            a rated caption
    {"image": …, "captions": […], "ratings": […]}                         a rated set of captions

and a file holds one kind of judgments besides the references.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np

from cidery.errors import FormatError
from cidery.meta.datasets.files import Record, read_records, read_table
from cidery.meta.judgments import Dataset, Indexes, JudgedCaptions, Pairs, Ratings, Sets

NAME = "judgments"


def read_judgments(path: str | os.PathLike[str]) -> Dataset:
    """Read pairs, triplets, ratings of captions or ratings of sets."""
    read = read_table if Path(path).suffix.lower() == ".csv" else read_records
    return build_judgments(read(Path(path)), str(path))


def build_judgments(records: Iterable[Record], source: str) -> Dataset:
    """Return the judgments of records that are in memory; `source` is what errors call them."""
    references: dict[str, list[str]] = {}
    judgments: dict[str, list[Record]] = {}
    for record in records:
        record.text("image")
        kind = _kind(record)
        if kind == "references":
            references.setdefault(record.text("image"), []).extend(record.texts("references"))
        else:
            judgments.setdefault(kind, []).append(record)
    if len(judgments) != 1:
        found = " and ".join(judgments) or "none"
        raise FormatError(
            f"{source}: expected one kind of judgments, found {found}; "
            "put each kind in its own file"
        )
    ((kind, judged),) = judgments.items()
    return _READERS[kind](judged, references)


def _kind(record: Record) -> str:
    if "pair" in record:
        return "triplets" if "reference" in record else "pairs"
    if "captions" in record:
        return "sets"
    if "caption" in record:
        return "ratings"
    if "references" in record:
        return "references"
    return record.refuse("expected 'pair', 'caption', 'captions' or 'references'")


class _Documents:
    """Images as documents, each added when a judgment first needs it."""

    def __init__(self, references: Mapping[str, list[str]]) -> None:
        self._known = references
        self._place: dict[str, int] = {image: place for place, image in enumerate(references)}
        self.references: list[list[str]] = list(references.values())

    def place(self, record: Record) -> int:
        """Return the document of the record's image."""
        image = record.text("image")
        if image not in self._place:
            record.refuse(
                f"image {image!r} has no references; add a line "
                '{"image": …, "references": […]} for it'
            )
        return self._place[image]

    def judge(self, captions: list[str], documents: list[int]) -> JudgedCaptions:
        """Return the captions with their references."""
        count = len(self.references)
        return JudgedCaptions(
            captions, np.asarray(documents, np.int64), self.references, np.arange(count)
        )


def _read_pair(record: Record) -> tuple[str, str]:
    first, *others = record.texts("pair", fewest=2)
    if len(others) != 1:
        record.refuse(f"a pair has 2 captions, not {len(others) + 1}")
    return first, others[0]


def _count_votes(record: Record) -> int:
    """Return votes for the first caption minus votes for the second."""
    votes = record.numbers("votes", "vote")
    if any(vote not in (-1, 0, 1) for vote in votes):
        record.refuse("a vote is 1 (the first), -1 (the second) or 0 (neither)")
    return int(sum(votes))


def _optional(records: list[Record], key: str, read: Callable[[Record], object]) -> list[object]:
    """Return a field that either all records have or none."""
    found = [record for record in records if key in record]
    if found and len(found) < len(records):
        missing = next(record for record in records if key not in record)
        missing.refuse(f"there is no {key!r}, which other lines have")
    return [read(record) for record in found]


def _read_systems(record: Record) -> tuple[str, str]:
    first, *others = record.texts("systems", fewest=2)
    if len(others) != 1:
        record.refuse("a pair has 2 systems")
    return first, others[0]


def _read_pairs(records: list[Record], references: dict[str, list[str]]) -> Pairs:
    documents = _Documents(references)
    places = [documents.place(record) for record in records]
    captions = [_read_pair(record) for record in records]
    count = len(records)
    return Pairs(
        NAME,
        documents.judge([pair[side] for side in (0, 1) for pair in captions], places * 2),
        np.arange(count),
        np.arange(count, 2 * count),
        {"preference": np.asarray([_count_votes(record) for record in records], np.int64)},
        kinds=[str(kind) for kind in _optional(records, "kind", lambda r: r.text("kind"))],
        systems=_optional(records, "systems", _read_systems),  # type: ignore[arg-type]
    )


def _read_triplets(records: list[Record], references: dict[str, list[str]]) -> Pairs:
    """Group triplets by pair; the sentences people compared with are the pair's references."""
    if references:
        raise FormatError(
            "triplets bring their own references, so the file must hold no lines of references"
        )
    grouped: dict[tuple[str, str, str], list[Record]] = {}
    for record in records:
        grouped.setdefault((record.text("image"), *_read_pair(record)), []).append(record)
    groups = list(grouped.values())
    majorities = [[int(np.sign(_count_votes(record))) for record in group] for group in groups]
    even = len({len(group) for group in groups}) == 1
    count = len(groups)
    images: Indexes = np.unique([key[0] for key in grouped], return_inverse=True)[1]
    firsts = [group[0] for group in groups]
    return Pairs(
        NAME,
        JudgedCaptions(
            [key[side] for side in (1, 2) for key in grouped],
            np.tile(np.arange(count), 2),
            [[record.text("reference") for record in group] for group in groups],
            images.astype(np.int64),
        ),
        np.arange(count),
        np.arange(count, 2 * count),
        {"triplets": np.asarray([sum(group) for group in majorities], np.int64)},
        kinds=[str(kind) for kind in _optional(firsts, "kind", lambda r: r.text("kind"))],
        systems=_optional(firsts, "systems", _read_systems),  # type: ignore[arg-type]
        triplets=np.asarray(majorities, np.int8) if even else None,
    )


def _read_ratings(records: list[Record], references: dict[str, list[str]]) -> Ratings:
    documents = _Documents(references)
    places = [documents.place(record) for record in records]
    answers = [record.numbers("ratings", "rating") for record in records]
    return Ratings(
        NAME,
        documents.judge([record.text("caption") for record in records], places),
        np.repeat(np.arange(len(records)), [len(group) for group in answers]),
        np.asarray([answer for group in answers for answer in group]),
        systems=[str(name) for name in _optional(records, "system", lambda r: r.text("system"))],
    )


def _read_sets(records: list[Record], references: dict[str, list[str]]) -> Sets:  # noqa: ARG001
    return Sets(
        NAME,
        [record.text("image") for record in records],
        [record.texts("captions", fewest=2) for record in records],
        np.asarray([np.mean(record.numbers("ratings", "rating")) for record in records]),
    )


_READERS: Mapping[str, Callable[[list[Record], dict[str, list[str]]], Dataset]] = {
    "pairs": _read_pairs,
    "triplets": _read_triplets,
    "ratings": _read_ratings,
    "sets": _read_sets,
}
