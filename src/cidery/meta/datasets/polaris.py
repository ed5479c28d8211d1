"""Polaris (Wada et al., CVPR 2024) and Nebula (Matsuda et al., ACCV 2024): ratings of captions.

Both come as Parquet files for each split, with the images, which are not read; Polaris also as
CSV files, in which references are a Python list.
"""

from __future__ import annotations

import ast
import csv
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cidery.errors import FormatError
from cidery.files import import_pyarrow
from cidery.meta.datasets.files import MissingFilesError, Record
from cidery.meta.judgments import JudgedCaptions, Ratings

CAPTION = ("mt", "cand")
RATING = ("human_score", "score")
IMAGE = ("imgid", "file_name")
COLUMNS = (*CAPTION, *RATING, *IMAGE, "refs")


def read_polaris(path: str | os.PathLike[str]) -> Ratings:
    """Read the test split: 26,122 ratings from 0 to 1 of captions by ten systems."""
    return _read("polaris", Path(path), "polaris_test.csv")


def read_nebula(path: str | os.PathLike[str]) -> Ratings:
    """Read the test split: 3,298 ratings from 0 to 1."""
    return _read("nebula", Path(path), "nebula_test.csv")


def _read(name: str, path: Path, table: str) -> Ratings:
    """Read a split; each row is a document, as in the authors' evaluation."""
    files = _find(name, path, table)
    records = [record for file in files for record in _read_rows(file)]
    if not records:
        raise FormatError(f"{files[0]}: there are no rows")
    references = [record.texts("refs") for record in records]
    # Polaris' Parquet files do not name images: captions with the same references share one.
    key = next((name for name in IMAGE if name in records[0]), None)
    images = [
        "\n".join(group) if key is None else record.text(key)
        for record, group in zip(records, references, strict=True)
    ]
    rows = np.arange(len(records))
    return Ratings(
        name,
        JudgedCaptions(
            [record.text(_choose(record, CAPTION)) for record in records],
            rows,
            references,
            np.unique(images, return_inverse=True)[1].astype(np.int64),
        ),
        rows,
        np.asarray([record.numbers(*RATING)[0] for record in records]),
    )


def _choose(record: Record, names: Sequence[str]) -> str:
    return next((name for name in names if name in record), names[0])


def _find(name: str, path: Path, table: str) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.exists():
        raise FileNotFoundError(2, "there is no such folder or file", str(path))
    for folder in (path, path / name, path / "data", path / name / "data"):
        if (folder / table).is_file():
            return [folder / table]
        if found := sorted(folder.glob("test-*.parquet")):
            return found
    raise MissingFilesError(f"{path}: there is no {table} and no test-*.parquet in this folder")


def _read_rows(file: Path) -> Iterator[Record]:
    if file.suffix == ".parquet":
        yield from _read_parquet(file)
    else:
        yield from _read_csv(file)


def _read_parquet(file: Path) -> Iterator[Record]:
    parquet = import_pyarrow("pyarrow.parquet", "read Parquet files")
    pyarrow = import_pyarrow("pyarrow", "read Parquet files")
    try:
        with parquet.ParquetFile(file) as opened:
            wanted = [name for name in COLUMNS if name in opened.schema_arrow.names]
            rows = opened.read(columns=wanted).to_pylist()
    except pyarrow.ArrowException as error:
        raise FormatError(f"{file}: not valid Parquet ({error})") from None
    for number, row in enumerate(rows, start=1):
        yield Record(row, f"{file}, row {number}")


def _read_csv(file: Path) -> Iterator[Record]:
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    try:
        with file.open(encoding="utf-8-sig", newline="") as opened:
            reader = csv.DictReader(opened)
            for row in reader:
                place = f"{file}, line {reader.line_num}"
                yield Record(
                    {name: _read_cell(name, row, place) for name in row if row[name]}, place
                )
    except (csv.Error, UnicodeDecodeError) as error:
        raise FormatError(f"{file}: not valid CSV ({error})") from None


def _read_cell(name: str, row: dict[str, str], place: str) -> Any:
    cell = row[name]
    try:
        if name == "refs":
            return ast.literal_eval(cell)  # a Python list; nothing else is evaluated
        return float(cell) if name in RATING else cell
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise FormatError(f"{place}: cannot read {name!r}, found {cell[:60]!r}") from None
