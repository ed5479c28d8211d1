"""Tables with one row per caption, as files."""

from __future__ import annotations

import csv
import io
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np

from cidery.errors import InputError, SettingError
from cidery.files.containers import import_pyarrow
from cidery.storage import write_atomically

Column: TypeAlias = Sequence[Any] | np.ndarray[Any, Any]


def write_rows(path: str | os.PathLike[str], columns: Mapping[str, Column]) -> None:
    """Write a table, one row per caption, as `.csv`, `.jsonl` or `.parquet` by the suffix.

    The file is replaced when it is complete.
    """
    check_rows_file(path)
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        raise InputError(f"the columns of a table must have equal lengths, not {lengths}")
    table = {
        name: list(values.tolist() if isinstance(values, np.ndarray) else values)
        for name, values in columns.items()
    }
    content = io.BytesIO()
    _WRITERS[Path(path).suffix.lower()](content, table)
    write_atomically(path, content.getvalue())


def check_rows_file(path: str | os.PathLike[str]) -> None:
    """Raise a SettingError unless `write_rows` supports the suffix, and its package is there."""
    suffix = Path(path).suffix.lower()
    if suffix not in _WRITERS:
        raise SettingError(
            f"{os.fspath(path)}: rows are written as {', '.join(_WRITERS)}, not {suffix!r}"
        )
    if suffix == ".parquet":
        import_pyarrow("pyarrow", "write Parquet files")


def _write_csv(file: IO[bytes], table: dict[str, list[Any]]) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(zip(*table.values(), strict=True))
    file.write(text.getvalue().encode())


def _write_jsonl(file: IO[bytes], table: dict[str, list[Any]]) -> None:
    encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
    for row in zip(*table.values(), strict=True):
        values = (None if isinstance(v, float) and not math.isfinite(v) else v for v in row)
        file.write(encode(dict(zip(table, values, strict=True))).encode() + b"\n")


def _write_parquet(file: IO[bytes], table: dict[str, list[Any]]) -> None:
    pyarrow = import_pyarrow("pyarrow", "write Parquet files")
    parquet = import_pyarrow("pyarrow.parquet", "write Parquet files")
    parquet.write_table(pyarrow.table(table), file)


_WRITERS: dict[str, Callable[[IO[bytes], dict[str, list[Any]]], None]] = {
    ".csv": _write_csv,
    ".jsonl": _write_jsonl,
    ".parquet": _write_parquet,
}
