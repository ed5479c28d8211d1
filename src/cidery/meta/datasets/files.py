"""Shared parts of readers: files, records, errors with their position."""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from cidery.errors import FormatError
from cidery.files import read_json_objects, read_text, shorten
from cidery.files.containers import read_xlsx
from cidery.files.sources import Source


class MissingFilesError(FormatError):
    """A folder lacks the files of a data set."""


def locate(path: str | os.PathLike[str], *names: str, folder: str = "") -> list[Path]:
    """Return files of a data set, given its folder, one of its files, or the folder above.

    Args:
        path: what the user gave.
        names: of the files.
        folder: the data set's name for its own folder.
    """
    if found := find_all(path, *names, folder=folder):
        return found
    given = Path(path).parent if Path(path).is_file() else Path(path)
    missing = [name for name in names if not (given / name).is_file()]
    raise MissingFilesError(f"{path}: there is no {' and no '.join(missing)} in this folder")


def find_all(path: str | os.PathLike[str], *names: str, folder: str = "") -> list[Path]:
    """Return the files if all are there, otherwise none; the arguments are those of `locate`."""
    given = Path(path)
    if given.is_file():
        given = given.parent
    elif not given.exists():
        raise FileNotFoundError(2, "there is no such folder or file", str(path))
    for place in (given, given / folder):
        found = [place / name for name in names]
        if all(file.is_file() for file in found):
            return found
    return []


@dataclass(frozen=True)
class Record:
    """A JSON object and its position."""

    content: dict[str, Any]
    place: str
    """`pairs.jsonl, line 3`"""
    columns: tuple[str, ...] = ()
    """Names in the file, if they differ from those of the format."""

    def __contains__(self, key: str) -> bool:
        return self.content.get(key) is not None

    def refuse(self, message: str) -> NoReturn:
        """Raise a FormatError that names the place."""
        raise FormatError(f"{self.place}: {message}")

    def text(self, key: str) -> str:
        """Return a field that holds text; an integer is converted to text."""
        value = self.content.get(key)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str):
            self.refuse(f"expected text in {key!r}, found {value!r}")
        return value

    def texts(self, key: str, fewest: int = 1) -> list[str]:
        """Return a field that holds a list of texts."""
        value = self.content.get(key)
        if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
            self.refuse(f"expected a list of texts in {key!r}, found {value!r}")
        if len(value) < fewest:
            self.refuse(f"expected at least {fewest} in {key!r}, found {len(value)}")
        return value

    def numbers(self, *keys: str) -> list[float]:
        """Return the first of these fields that exists: a number or a list of numbers."""
        key = next((key for key in keys if key in self), None)
        if key is None:
            self.refuse(f"there is no {' and no '.join(map(repr, keys))}")
        value = self.content[key]
        values = value if isinstance(value, list) else [value]
        if not values or not all(map(_is_finite, values)):
            self.refuse(
                f"expected a number or a list of numbers in {key!r}, all of them finite, found "
                f"{shorten(value)}"
            )
        return [float(v) for v in values]


def _is_finite(value: object) -> bool:
    """Return True for a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond 1.8e308
        return False


def read_lines(path: Path) -> Iterator[tuple[str, str]]:
    """Yield `(place, line)` of a text file, without empty lines."""
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield f"{path}, line {number}", line.rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: not UTF-8 text ({error.reason})") from None


def read_records(path: Path) -> Iterator[Record]:
    """Yield the objects of a file of JSON lines."""
    name, text = read_text(path)
    for place, content in read_json_objects(text, name):
        yield Record(content, place)


JSON_COLUMNS = ("pair", "votes", "vote", "ratings", "rating", "references", "captions", "systems")
"""Columns of a CSV file of judgments whose cells are JSON; the others are text."""


def read_table(path: Path) -> Iterator[Record]:
    """Yield the rows of a table (CSV, TSV, Excel); an empty cell is a field that is not there.

    Cells of CSV and TSV are text.
    """
    if path.suffix.lower() == ".xlsx":
        rows = read_xlsx(path.read_bytes(), Source(str(path), "row"))
        for number, cells in enumerate(rows, start=2):
            yield Record({k: c for k, c in cells.items() if c != ""}, f"{path}, row {number}")
        return
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            header = file.readline()
            file.seek(0)
            delimiter = "\t" if path.suffix.lower() == ".tsv" else max(",\t;", key=header.count)
            reader = csv.DictReader(file, strict=True, delimiter=delimiter)
            for row in reader:
                place = f"{path}, line {reader.line_num}"
                if None in row:
                    raise FormatError(f"{place}: there are more cells than columns")
                yield Record({key.strip(): cell for key, cell in row.items() if cell}, place)
    except csv.Error as error:
        raise FormatError(
            f"{path}, after line {reader.line_num}: not valid CSV ({error})"
        ) from None
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: not UTF-8 text ({error.reason})") from None


def read_json(path: Path) -> Any:
    """Return the content of a JSON file."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise FormatError(f"{path}: not valid JSON ({error})") from None
