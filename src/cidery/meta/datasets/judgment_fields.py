"""Fields of files of judgments: `image_id`, `score` and other names that people use.

Records become those of docs/judgments-format.md, with `image`, `caption`, `ratings`, `references`.
"""

from __future__ import annotations

import json
import math
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from cidery.errors import DataWarning, FormatError
from cidery.files.fields import ID_FIELDS, spell_fields
from cidery.files.list_cells import JOINED, parse_list
from cidery.meta.datasets.files import JSON_COLUMNS, Record
from cidery.tables import unguard_cell

_CAPTIONS = (
    *("candidate", "prediction", "hypothesis", "generated_caption", "model_caption"),
    *("system_caption", "model_output", "output", "response", "pred", "hyp", "generated", "text"),
)
"""Fields that may have the judged caption, where there is no `caption`."""
_RIVALS = _CAPTIONS[:7]
"""Those that may have it also beside a field `caption`, which then has references."""
_RATINGS = (
    *("score", "scores", "human_score", "human_scores", "human_rating", "human_ratings", "mos"),
    *("judgment", "judgments", "judgement", "judgements", "human_judgment", "human_judgement"),
)
_REFERENCES = ("refs", "references_list", "reference_captions", "ground_truth", "gt")
_SYSTEMS = ("model", "system_name", "model_name")
_NUMBER = r"[ _.\-]?(?:([0-9]+)|\[([0-9]+)\])"
_NUMBERED_RATING = re.compile(rf"(?:rating|score|rater|annotator|judge){_NUMBER}", re.IGNORECASE)
_NUMBERED_REFERENCE = re.compile(rf"(?:ref|reference)s?{_NUMBER}", re.IGNORECASE)
_MISSING = frozenset(("nan", "na", "n/a", "<na>", "none", "null", "-", "#n/a"))
"""Texts of a missing rating, in lower case."""
_KNOWN = {*JSON_COLUMNS, "image", "caption", "reference", "system", "kind"}


@dataclass(frozen=True)
class JudgmentFields:
    """Fields that the user chose; None: well-known names."""

    id_field: str | None = None
    caption_field: str | None = None
    reference_field: str | None = None
    rating_field: str | None = None


def rename_fields(
    records: Sequence[Record], chosen: JudgmentFields, name: str, *, is_table: bool
) -> list[Record]:
    """Return records with the fields of the format.

    Args:
        records: objects of JSON lines, or rows of a table, whose cells are text.
        chosen: fields that the user chose.
        name: name of the file, for messages.
        is_table: True for rows of a table.
    """
    if not records:
        return []
    present = dict.fromkeys(key for record in records for key in record.content)
    fields = _Fields(list(present), name, is_table)
    names = fields.choose(chosen, records)
    converted = [_convert(record, names, is_table) for record in records]
    if is_table:
        _warn_missing(records, names, name)
    return converted


@dataclass(frozen=True)
class _Names:
    """Fields of a file by their meaning."""

    single: dict[str, str]
    """Name in the file -> name in the format."""
    ratings: tuple[str, ...] = ()
    """Numbered ratings."""
    references: tuple[str, ...] = ()
    """Numbered references."""


@dataclass(frozen=True)
class _Fields:
    """Names of the fields of a file."""

    present: list[str]
    file: str
    is_table: bool

    @property
    def noun(self) -> str:
        return "column" if self.is_table else "field"

    def choose(self, chosen: JudgmentFields, records: Sequence[Record]) -> _Names:
        """Return the fields to read; raise a FormatError that names those that are there."""
        single: dict[str, str] = {}
        image = self._find_image(chosen.id_field)
        if image is not None:
            single[image] = "image"
        caption = self._find_caption(chosen.caption_field, chosen.reference_field)
        if caption is not None:
            single[caption] = "caption"
        references = self._find_references(chosen.reference_field, caption)
        if len(references) == 1:
            single[references[0]] = "references"
        ratings = self._find_ratings(chosen.rating_field, records)
        if len(ratings) == 1:
            single[ratings[0]] = "ratings"
        if self._is_missing("system") and (system := self._first(_SYSTEMS)):
            single[system] = "system"
        return _Names(
            single,
            ratings if len(ratings) > 1 else (),
            references if len(references) > 1 else (),
        )

    def _is_missing(self, *names: str) -> bool:
        return not any(name in self.present for name in names)

    def _first(self, names: Sequence[str]) -> str | None:
        return next((name for name in names if name in self.present), None)

    def _check(self, chosen: str, option: str) -> str:
        if chosen not in self.present:
            self.fail(
                f"there is no {self.noun} {chosen!r}, which --{option.replace('_', '-')} "
                f"({option}=) names; found {spell_fields(self.present)}"
            )
        return chosen

    def fail(self, problem: str) -> NoReturn:
        """Raise a FormatError with the name of the file."""
        raise FormatError(f"{self.file}: {problem}")

    def _find_image(self, chosen: str | None) -> str | None:
        """Return the field of the image; None if it has the usual name."""
        if chosen is not None:
            return self._check(chosen, "id_field")
        if not self._is_missing("image"):
            return None
        found = self._first(ID_FIELDS)
        if found is None and self.is_table:
            self.fail(
                f"no {self.noun} names the image; expected one of {', '.join(ID_FIELDS)}, found "
                f"{spell_fields(self.present)}; name one with --id-field NAME (id_field=)"
            )
        return found

    def _find_caption(self, chosen: str | None, references: str | None) -> str | None:
        """Return the field of the judged captions; None if it has the usual name."""
        if chosen is not None:
            return self._check(chosen, "caption_field")
        if not self._is_missing("pair", "captions"):
            return None
        if not self._is_missing("caption") and references != "caption":
            rivals = [name for name in _RIVALS if name in self.present]
            if rivals:
                self._fail_ambiguous(["caption", *rivals], "the judged captions", "caption_field")
            return None
        found = [name for name in _CAPTIONS if name in self.present and name != references]
        if len(found) > 1:
            self._fail_ambiguous(found, "the judged captions", "caption_field")
        if found:
            return found[0]
        rated = not self._is_missing(*_RATINGS, "rating", "ratings")
        if self.is_table and (rated or self._is_missing("references")):
            self.fail(
                f"no {self.noun} has the judged captions; expected caption, {', '.join(_CAPTIONS)}"
                f" (or pair, captions), found {spell_fields(self.present)}; name one with "
                "--caption-field NAME (caption_field=)"
            )
        return None

    def _find_references(self, chosen: str | None, caption: str | None) -> tuple[str, ...]:
        if chosen is not None:
            return (self._check(chosen, "reference_field"),)
        if not self._is_missing("references"):
            return ()
        numbered = self._number(_NUMBERED_REFERENCE)
        if numbered:
            return numbered
        names = _REFERENCES if not self._is_missing("pair") else (*_REFERENCES, "reference")
        found = self._first([name for name in names if name != caption])
        return () if found is None else (found,)

    def _find_ratings(self, chosen: str | None, records: Sequence[Record]) -> tuple[str, ...]:
        if chosen is not None:
            return (self._check(chosen, "rating_field"),)
        if not self._is_missing("ratings", "rating", "votes", "vote"):
            return ()
        numbered = self._number(_NUMBERED_RATING)
        if numbered:
            return numbered
        found = [name for name in _RATINGS if name in self.present]
        if len(found) > 1:
            self._fail_ambiguous(found, "the ratings", "rating_field")
        if not found and self._is_missing("pair"):
            numeric = [name for name in self.present if self._may_rate(name, records)]
            if numeric:
                self.fail(
                    f"no {self.noun} has the ratings; expected rating, ratings or "
                    f"{', '.join(_RATINGS)}, found {spell_fields(self.present)}; name one with "
                    f"--rating-field NAME (rating_field=), such as --rating-field {numeric[0]}"
                )
        return tuple(found)

    def _may_rate(self, name: str, records: Sequence[Record]) -> bool:
        """Return True for a field of numbers that has no meaning in the format."""
        if name in _KNOWN or name in ID_FIELDS or name in _SYSTEMS or not name:
            return False
        found = [record.content[name] for record in records if record.content.get(name) is not None]
        return bool(found) and all(map(_is_number, found))

    def _fail_ambiguous(self, names: Sequence[str], what: str, option: str) -> NoReturn:
        listed = f"{', '.join(map(repr, names[:-1]))} and {names[-1]!r}"
        self.fail(
            f"{listed} may {'both' if len(names) == 2 else 'all'} have {what}; name one with "
            f"--{option.replace('_', '-')} NAME ({option}=)"
        )

    def _number(self, pattern: re.Pattern[str]) -> tuple[str, ...]:
        numbered = {
            int(match[1] or match[2]): name
            for name in self.present
            if (match := pattern.fullmatch(name))
        }
        return tuple(numbered[number] for number in sorted(numbered))


def _is_number(value: object) -> bool:
    if isinstance(value, str):
        if value.strip().lower() in _MISSING:
            return True
        try:
            return math.isfinite(float(value))
        except ValueError:
            return False
    return isinstance(value, int | float) and not isinstance(value, bool)


def _convert(record: Record, names: _Names, is_table: bool) -> Record:
    """Return a record with the fields of the format."""
    given = record.content
    taken = set(names.single.values())
    several = {*names.ratings, *names.references}
    content: dict[str, Any] = {}
    for name, value in given.items():
        key = names.single.get(name, name)
        if name in several or (key == name and name in taken and name not in names.single):
            continue  # numbered, or replaced by the field that the user chose
        content[key] = _read_cell(key, name, value, record) if is_table else value
    for key, fields in (("ratings", names.ratings), ("references", names.references)):
        values = [given[name] for name in fields if given.get(name) not in (None, "")]
        if not fields:
            continue
        if key == "ratings" and is_table:
            read = [
                _read_rating(name, str(given[name]), record) for name in fields if name in given
            ]
            values = [one for one in read if one is not None]
        elif is_table:
            values = [unguard_cell(str(value)) for value in values]
        if values:
            content[key] = values
    if "references" in content and isinstance(content["references"], str):
        content["references"] = [content["references"]]
    found = {key: value for key, value in content.items() if value is not None}
    return Record(found, record.place, tuple(given))


def _read_cell(key: str, name: str, cell: Any, record: Record) -> Any:
    """Return the value of a cell; None for a missing one."""
    if not isinstance(cell, str):
        return cell
    if not cell.strip():
        return None
    if key in ("rating", "ratings"):
        return _read_rating(name, cell, record)
    if key == "references":
        return _read_references(name, cell, record)
    if key not in JSON_COLUMNS:
        return unguard_cell(cell)
    try:
        return json.loads(cell)
    except ValueError:
        if (found := parse_list(cell)) is not None:
            return found
    return record.refuse(f"expected JSON in {name!r}, found {cell!r}")


def _read_rating(name: str, cell: str, record: Record) -> Any:
    """Return a number, a list or an object of answers; None for a missing rating."""
    if not cell.strip() or cell.strip().lower() in _MISSING:
        return None
    try:
        return json.loads(cell)
    except ValueError:
        pass
    try:
        return float(cell.replace(",", ".") if cell.count(",") == 1 else cell)
    except ValueError:
        return record.refuse(
            f"expected a number in {name!r}, found {cell!r}; if another column has the ratings, "
            "name it with --rating-field NAME (rating_field=)"
        )


def _read_references(name: str, cell: str, record: Record) -> Any:
    """Return the references of a cell: a list in text, captions joined by `|||`, or one."""
    text = cell.strip()
    if text[0] in "[(":
        try:
            return json.loads(text)  # also a list of two lists, of a pair
        except ValueError:
            found = parse_list(text)
        if found is not None:
            return found
        if text[0] == "[":
            record.refuse(f"expected a list of captions in {name!r}, found {cell!r}")
    if JOINED in text:
        return [part for part in map(str.strip, text.split(JOINED)) if part]
    return [unguard_cell(cell)]


def _warn_missing(records: Sequence[Record], names: _Names, file: str) -> None:
    """Warn of ratings such as `NaN`."""
    fields = {"rating", "ratings", *names.ratings}
    fields |= {name for name, key in names.single.items() if key == "ratings"}
    found = [
        (record, name)
        for record in records
        for name in fields
        if str(record.content.get(name, "")).strip().lower() in _MISSING
    ]
    if found:
        record, name = found[0]
        count = f"{len(found)} rating{'s are' if len(found) > 1 else ' is'} missing"
        warnings.warn(
            f"{file}: {count}, such as {record.content[name]!r} in {name!r} of "
            f"{record.place.removeprefix(f'{file}, ')}; captions without ratings are not judged",
            DataWarning,
            stacklevel=5,
        )
