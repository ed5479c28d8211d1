"""Files of judgments, JSON lines or CSV: see docs/judgments-format.md.

A line is one of

    {"image": …, "references": […]}                                       an image's references
    {"image": …, "pair": [first, second], "votes": […]}                   a preference
    {"image": …, "pair": [first, second], "reference": …, "votes": […]}   a triplet
    {"image": …, "caption": …, "ratings": […]}                            a rated caption
    {"image": …, "captions": […], "ratings": […]}                         a rated set of captions

and a file holds one kind of judgments besides the references. A line without votes or ratings was
not judged yet. Votes and ratings may be several, by question, and a pair or a caption may bring its
own references. Several lines of one item are joined where a file is read.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from cidery.corpus import translate_ids
from cidery.errors import DataWarning, FormatError, InputError, InputNote, warn_caller
from cidery.files import read_references
from cidery.files.fields import spell_fields
from cidery.meta.datasets.files import Record, read_records, read_table
from cidery.meta.datasets.judgment_fields import JudgmentFields, rename_fields
from cidery.meta.datasets.repeated_lines import join_lines, was_answered
from cidery.meta.judgments import (
    Dataset,
    Indexes,
    JudgedCaptions,
    Pairs,
    Ratings,
    Sets,
    count_votes,
)
from cidery.statistics import Floats

NAME = "judgments"


TABLES = (".csv", ".tsv", ".xlsx")
"""Suffixes of tables."""


def read_judgments(
    path: str | os.PathLike[str],
    *,
    references: str | os.PathLike[str] | None = None,
    id_field: str | None = None,
    caption_field: str | None = None,
    reference_field: str | None = None,
    rating_field: str | None = None,
) -> Dataset:
    """Read pairs, triplets, ratings of captions or ratings of sets.

    Args:
        path: JSON lines, or a table by the file's suffix (`.csv`, `.tsv`, `.xlsx`).
        references: file of references, in any format that `read_references` reads.
        id_field: field of the image id. Default: a well-known name, such as `image`.
        caption_field: field of the judged captions. Default: a well-known name.
        reference_field: field of the references in `path`. Default: a well-known name.
        rating_field: field of the ratings. Default: a well-known name, such as `score`.
    """
    fields = JudgmentFields(id_field, caption_field, reference_field, rating_field)
    records = list(read_judgment_records(path, fields))
    if references is not None:
        records = [*_read_references_file(references, records), *records]
    return build_judgments(join_lines(records), str(path))


def read_judgment_records(
    path: str | os.PathLike[str], fields: JudgmentFields | None = None
) -> Iterator[Record]:
    """Yield the lines of a file of judgments: JSON lines, or a table by the file's suffix.

    Args:
        path: file.
        fields: fields to read. Default: well-known names.
    """
    is_table = Path(path).suffix.lower() in TABLES
    records = list((read_table if is_table else read_records)(Path(path)))
    yield from rename_fields(records, fields or JudgmentFields(), str(path), is_table=is_table)


def _read_references_file(
    path: str | os.PathLike[str], records: Sequence[Record]
) -> Iterator[Record]:
    """Yield the references of the judged images, as lines of the format."""
    known = read_references(path)
    images = list(dict.fromkeys(record.text("image") for record in records))
    spelled = {str(image): image for image in known}
    if not all(image in spelled for image in images):
        translated = translate_ids(images, list(known), complete=False)
        if translated is not None:
            spelled = dict(zip(images, translated, strict=True))
            message = f"{path}: ids match those of the judgments, written differently"
            warn_caller(f"{message}: {images[0]!r} is {translated[0]!r}", InputNote)
    for image in images:
        if image in spelled:
            content = {"image": image, "references": known[spelled[image]]}
            yield Record(content, f"{path}, image {image!r}")


def build_judgments(records: Iterable[Record], source: str) -> Dataset:
    """Return the judgments of records in memory; `source` is their name in errors.

    Each record is an item of its own.
    """
    references: dict[str, list[str]] = {}
    judgments: dict[str, list[Record]] = {}
    for record in records:
        record.text("image")
        kind = _kind(record)
        if kind == "references":
            references.setdefault(record.text("image"), []).extend(record.texts("references"))
        else:
            judgments.setdefault(kind, []).append(record)
    if not judgments:
        raise FormatError(
            f"{source}: no judgments{', only references' if references else ''}; "
            "add lines with 'pair', 'caption' or 'captions'"
        )
    if len(judgments) > 1:
        raise FormatError(
            f"{source}: expected one kind of judgments, found {' and '.join(judgments)}; "
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


def _advise_references(record: Record) -> str:
    """Return the ways to add references, for the format of the file."""
    option = "--references FILE (references=) reads them from another file"
    if Path(record.place.rpartition(", ")[0]).suffix.lower() not in TABLES:
        return f'add a line {{"image": …, "references": […]}} for it; {option}'
    names = spell_fields(record.columns or list(record.content))
    return (
        f"expected a column references, refs or ref1, ref2, …, found {names}; --reference-field "
        f"NAME (reference_field=) names one; {option}"
    )


class _Documents:
    """Documents: images, and captions with references of their own."""

    def __init__(self, references: Mapping[str, list[str]]) -> None:
        self._names = {image: place for place, image in enumerate(references)}
        self._places: dict[tuple[str, tuple[str, ...] | None], int] = {
            (image, None): place for image, place in self._names.items()
        }
        self._images = list(self._names.values())
        self.references: list[list[str]] = list(references.values())

    def place(self, record: Record, own: list[str] | None = None) -> int:
        """Return the document of the record's image, or of its own references for that image."""
        image = record.text("image")
        key = (image, None if own is None else tuple(own))
        if key in self._places:
            return self._places[key]
        if own is None:
            record.refuse(f"image {image!r} has no references; {_advise_references(record)}")
        self._places[key] = len(self.references)
        self._images.append(self._names.setdefault(image, len(self._names)))
        self.references.append(own)
        return self._places[key]

    def judge(self, captions: list[str], documents: list[int]) -> JudgedCaptions:
        """Return the captions with their references."""
        return JudgedCaptions(
            captions,
            np.asarray(documents, np.int64),
            self.references,
            np.asarray(self._images, np.int64),
            list(self._names),
        )


def _own_references(record: Record) -> list[list[str]] | None:
    """Return the references of the two captions of a pair."""
    if "references" not in record:
        return None
    given = record.content["references"]
    if isinstance(given, list) and len(given) == 2 and all(isinstance(g, list) for g in given):
        sides = [Record({"references": group}, record.place) for group in given]
        return [side.texts("references") for side in sides]
    return [record.texts("references")] * 2


def _read_pair(record: Record) -> tuple[str, str]:
    first, *others = record.texts("pair", fewest=2)
    if len(others) != 1:
        record.refuse(f"a pair has 2 captions, not {len(others) + 1}")
    return first, others[0]


def _read_answers(record: Record, *keys: str) -> list[float]:
    """Return votes or ratings; empty if there are none yet."""
    if all(record.content.get(key) in (None, []) for key in keys):
        return []
    return record.numbers(*keys)


def _sum_votes(record: Record) -> int:
    """Return votes for the first caption minus votes for the second."""
    votes = _read_answers(record, "votes", "vote")
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


def _ask(records: list[Record], key: str) -> dict[str, list[Record]]:
    """Return question -> records with its judgments; `""` for a single question."""
    named = [record for record in records if isinstance(record.content.get(key), dict)]
    asked = dict.fromkeys(name for record in named for name in record.content[key])
    if named and not asked:
        named[0].refuse(f"expected answers by question in {key!r}, found none")
    return {
        name: [
            Record({**record.content, key: _answers_to(record, key, name)}, record.place)
            for record in records
        ]
        for name in asked
    } or {"": records}


def _answers_to(record: Record, key: str, question: str) -> object:
    """Return the judgments of one of several questions."""
    given = record.content.get(key)
    if given is None or given == []:
        return []
    if not isinstance(given, dict):
        record.refuse(f"expected {key} by question, as other lines have them, in {key!r}")
    return given.get(question, [])


def _join_questions(found: dict[str, Pairs]) -> Pairs:
    """Return the pairs with the votes on the first question, and those on all."""
    first = next(iter(found.values()))
    same = {name: replace(pairs, judged=first.judged) for name, pairs in found.items() if name}
    return replace(first, questions=same)


def _read_pairs(records: list[Record], references: dict[str, list[str]]) -> Pairs:
    asked = _ask(records, "votes")
    return _join_questions({name: _make_pairs(own, references) for name, own in asked.items()})


def _make_pairs(records: list[Record], references: dict[str, list[str]]) -> Pairs:
    documents = _Documents(references)
    own = [_own_references(record) for record in records]
    places = [
        documents.place(record, None if group is None else group[side])
        for side in (0, 1)
        for record, group in zip(records, own, strict=True)
    ]
    captions = [_read_pair(record) for record in records]
    count = len(records)
    votes = np.asarray([_sum_votes(record) for record in records], np.int64)
    answers = np.asarray([len(_read_answers(record, "votes", "vote")) for record in records])
    return Pairs(
        NAME,
        documents.judge([pair[side] for side in (0, 1) for pair in captions], places),
        np.arange(count),
        np.arange(count, 2 * count),
        {"preference": votes},
        kinds=[str(kind) for kind in _optional(records, "kind", lambda r: r.text("kind"))],
        systems=_optional(records, "systems", _read_systems),  # type: ignore[arg-type]
        answers=answers,
        vote_counts={
            "preference": count_votes(_read_answers(record, "votes", "vote") for record in records)
        },
    )


def _read_triplets(records: list[Record], references: dict[str, list[str]]) -> Pairs:
    """Group triplets by pair; their references are those of the pair."""
    if references:
        raise FormatError(
            "triplets bring their own references, so the file must hold no lines of references"
        )
    asked = _ask(records, "votes")
    return _join_questions({name: _make_triplets(own) for name, own in asked.items()})


def _make_triplets(records: list[Record]) -> Pairs:
    grouped: dict[tuple[str, str, str], list[Record]] = {}
    for record in records:
        grouped.setdefault((record.text("image"), *_read_pair(record)), []).append(record)
    groups = list(grouped.values())
    majorities = [[int(np.sign(_sum_votes(record))) for record in group] for group in groups]
    asked = [[len(_read_answers(record, "votes", "vote")) for record in group] for group in groups]
    even = len({len(group) for group in groups}) == 1
    whole = all(all(group) or not any(group) for group in asked)
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
        triplets=np.asarray(majorities, np.int8) if even and whole else None,
        answers=np.asarray([sum(group) for group in asked], np.int64),
    )


def _read_ratings(records: list[Record], references: dict[str, list[str]]) -> Ratings:
    documents = _Documents(references)
    places = [
        documents.place(record, record.texts("references") if "references" in record else None)
        for record in records
    ]
    found = {
        question: _flatten([_read_answers(record, "ratings", "rating") for record in asked])
        for question, asked in _ask(records, "ratings").items()
    }
    rows, ratings = next(iter(found.values()))
    return Ratings(
        NAME,
        documents.judge([record.text("caption") for record in records], places),
        rows,
        ratings,
        systems=[str(name) for name in _optional(records, "system", lambda r: r.text("system"))],
        questions={} if "" in found else found,
    )


def _flatten(groups: list[list[float]]) -> tuple[Indexes, Floats]:
    rows = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    return rows, np.asarray([answer for group in groups for answer in group], np.float64)


def _read_sets(records: list[Record], references: dict[str, list[str]]) -> Sets:  # noqa: ARG001
    records = _drop_unjudged(records)
    means = {
        question: np.asarray([np.mean(record.numbers("ratings", "rating")) for record in asked])
        for question, asked in _ask(records, "ratings").items()
    }
    return Sets(
        NAME,
        [record.text("image") for record in records],
        [record.texts("captions", fewest=2) for record in records],
        next(iter(means.values())),
        questions={} if "" in means else means,
    )


def _drop_unjudged(records: list[Record]) -> list[Record]:
    """Return the rated sets."""
    judged = [record for record in records if was_answered(record)]
    missing = len(records) - len(judged)
    if not judged:
        raise InputError(f"{NAME}: none of the {missing} sets has ratings")
    if missing:
        message = f"{missing} of {len(records)} sets are not judged and are ignored"
        warnings.warn(message, DataWarning, stacklevel=5)
    return judged


_READERS: Mapping[str, Callable[[list[Record], dict[str, list[str]]], Dataset]] = {
    "pairs": _read_pairs,
    "triplets": _read_triplets,
    "ratings": _read_ratings,
    "sets": _read_sets,
}
