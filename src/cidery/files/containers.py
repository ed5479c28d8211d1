"""Containers of records: JSON of several shapes, JSON lines, CSV, TSV, Parquet, Arrow."""

from __future__ import annotations

import codecs
import csv
import importlib
import io
import json
import re
from collections.abc import Callable
from pathlib import PurePath
from typing import Any, Literal, TypeAlias, get_args

from cidery.errors import MissingExtraError
from cidery.files.fields import CAPTION_FIELDS, ID_FIELDS
from cidery.files.plugin_formats import has_format
from cidery.files.sources import Source, read_json_lines

Format: TypeAlias = Literal[
    "coco", "results", "karpathy", "mapping", "jsonl", "csv", "tsv", "parquet", "arrow", "xlsx"
]
"""Name of a file format."""
FORMATS: tuple[Format, ...] = get_args(Format)
"""File formats of cidery."""
UNDERSTOOD = (
    "supported are COCO annotations ({'annotations': [{'image_id', 'caption'}]}), COCO results "
    "([{'image_id', 'caption'}]), Karpathy datasets ({'images': [{'cocoid', 'sentences'}]}), "
    "{id: caption} and {id: [captions]}, JSON lines, CSV, TSV, Excel (.xlsx), Parquet and Arrow"
)
_SUFFIXES: dict[str, str] = {
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
}


def recognize(content: bytes, file: str, id_field: str | None, source: Source) -> str:
    """Detect a container by its first bytes, then by its suffix, then by its first line."""
    if content.startswith(b"PAR1"):
        return "parquet"
    # The magic of Arrow files (which Feather is) and the continuation marker of Arrow streams.
    if content.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
        return "arrow"
    suffix = PurePath(file.removesuffix(".gz")).suffix.lower()
    if content.startswith(b"PK\x03\x04") and not has_format(suffix.removeprefix(".")):
        return "xlsx"
    if suffix in _SUFFIXES:
        return _SUFFIXES[suffix]
    if has_format(suffix.removeprefix(".")):
        return suffix.removeprefix(".")
    head = content.removeprefix(codecs.BOM_UTF8).lstrip()
    if head.startswith((b"{", b"[")):
        return "json"
    header = re.split(rb"[\n,;\t\r\"]+", head.partition(b"\n")[0])
    if any(field.encode() in header for field in (*ID_FIELDS, *filter(None, [id_field]))):
        return "csv"
    source.fail(
        f"unknown format; {UNDERSTOOD}; give the file the suffix of its format "
        f"({', '.join(_SUFFIXES)})"
    )


def parse_json(text: str, source: Source) -> Any:
    """Parse JSON; a complete object in the first line means JSON lines."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data" and "\n" not in text[: error.pos].strip():
            return parse_json_lines(text, source)
        source.fail(
            f"not JSON: {error.msg} in line {error.lineno}, column {error.colno}; "
            "check that the file is complete"
        )
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits, 100,000 brackets
        source.fail(f"not JSON that can be read: {error}")


def parse_json_lines(text: str, source: Source) -> list[Any]:
    """Return the records of JSON lines."""
    return [record for _, record in read_json_lines(text, source.name)]


def recognize_json(document: Any, named: tuple[str | None, ...], source: Source) -> str:
    """Detect the format of a JSON document; `named` are fields that the user chose."""
    if isinstance(document, list):
        return "results"
    if isinstance(document, dict):
        if isinstance(document.get("annotations"), list):
            return "coco"
        images = document.get("images")
        if isinstance(images, list) and any(
            isinstance(image, dict) and "sentences" in image for image in images[:1]
        ):
            return "karpathy"
        has_named = any(name in document for name in named if name is not None)
        if has_named or not (
            document.keys().isdisjoint(ID_FIELDS) or document.keys().isdisjoint(CAPTION_FIELDS)
        ):
            return "results"  # a single record
        if all(isinstance(value, str | list) for value in document.values()):
            return "mapping"
    source.fail(f"unknown JSON format; {UNDERSTOOD}")


def unwrap_records(document: Any, shape: str, source: Source) -> list[Any]:
    """Return the records of a JSON document; a single object is a list of one."""
    if shape == "results":
        return document if isinstance(document, list) else [document]
    key = {"coco": "annotations", "karpathy": "images"}[shape]
    records = document.get(key) if isinstance(document, dict) else None
    if not isinstance(records, list):
        source.fail(f"there is no list of {key!r}, which the {shape} format has; {UNDERSTOOD}")
    return records


def parse_csv(text: str, delimiter: str | None, source: Source) -> list[dict[str, str]]:
    """Return a dict per row. Default delimiter: the most frequent one in the header."""
    header = text.lstrip().partition("\n")[0]
    delimiter = delimiter or max(",\t;", key=header.count)
    # Strict, so that a stray quote is an error here and does not swallow the lines up to the next.
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    limit = csv.field_size_limit(max(len(text), 131072))  # a cell may have a picture in base64
    try:
        rows = list(filter(None, reader))
    except csv.Error as error:
        source.fail(f"line {reader.line_num}: {error}; double the quotes inside a quoted caption")
    finally:
        csv.field_size_limit(limit)
    if not rows:
        source.fail("the file is empty")
    columns = list(map(str.strip, rows[0]))
    for index, row in enumerate(rows[1:]):
        if len(row) != len(columns):
            source.fail(
                f"{len(row)} cells where the header has {len(columns)}; "
                f"quote captions that contain {delimiter!r}",
                index=index,
            )
    return [dict(zip(columns, row, strict=True)) for row in rows[1:]]


def read_xlsx(content: bytes, source: Source) -> list[dict[str, Any]]:
    """Return a dict per row of the first sheet of an Excel file; blank cells are empty text."""
    try:
        openpyxl = importlib.import_module("openpyxl")
    except ImportError:
        raise MissingExtraError.to("read Excel files", package="openpyxl", extra="excel") from None
    try:
        book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
        rows = [list(row) for row in book.worksheets[0].iter_rows(values_only=True)]
    except Exception as error:  # of zip, XML or openpyxl
        source.fail(f"not an Excel file (.xlsx) that can be read: {error}")
    rows = [row for row in rows if any(cell is not None for cell in row)]
    if not rows:
        source.fail("the first sheet is empty")
    columns = {
        place: str(name).strip() for place, name in enumerate(rows[0]) if name not in (None, "")
    }
    return [{name: _read_cell(row[place]) for place, name in columns.items()} for row in rows[1:]]


def _read_cell(cell: Any) -> Any:
    """Return a cell of Excel, which stores all numbers as floats."""
    if cell is None:
        return ""
    return int(cell) if isinstance(cell, float) and cell.is_integer() else cell


def read_arrow(
    content: bytes,
    container: str,
    choose: Callable[[dict[str, bool]], list[str]],
    source: Source,
) -> list[dict[str, Any]]:
    """Return a dict per row, with the columns that are needed.

    Args:
        content: content of a Parquet or Arrow file.
        container: `parquet` or `arrow`.
        choose: returns the columns to read, from the existing ones and True for possible captions.
        source: source, for messages.
    """
    pyarrow = import_pyarrow("pyarrow", "read Parquet and Arrow files")
    buffer = pyarrow.BufferReader(content)
    try:
        if container == "parquet":
            file = import_pyarrow("pyarrow.parquet", "read Parquet files").ParquetFile(buffer)
            return list_rows(file.read(choose(describe_columns(file.schema_arrow))), source)
        ipc = import_pyarrow("pyarrow.ipc", "read Arrow files")
        opened = (ipc.open_file if content.startswith(b"ARROW1") else ipc.open_stream)(buffer)
        table = opened.read_all()
        return list_rows(table.select(choose(describe_columns(table.schema))), source)
    except (pyarrow.ArrowException, OSError) as error:
        source.fail(f"not a complete {container.capitalize()} file: {error}")


def list_rows(table: Any, source: Source) -> list[dict[str, Any]]:
    """Return a dict per row."""
    check_texts(table, source)
    return list(table.to_pylist())


def check_texts(table: Any, source: Source) -> None:
    """Raise a FormatError with the row of text that is not UTF-8."""
    pyarrow = import_pyarrow("pyarrow", "read Parquet and Arrow files")
    try:
        table.validate(full=True)
    except pyarrow.ArrowInvalid:
        for index in range(table.num_rows):
            for name in table.column_names:
                try:
                    table.column(name)[index].as_py()
                except UnicodeDecodeError as error:
                    source.fail(
                        f"{name} is not UTF-8 ({error.reason}: byte {error.start + 1} of "
                        f"{error.object!r}); write it in UTF-8",
                        index=index,
                    )
        raise


def describe_columns(schema: Any) -> dict[str, bool]:
    """Return the columns, and True for those that may contain captions."""
    kinds = ("string", "large_string", "list", "large_list", "dictionary", "null")
    return {column.name: str(column.type).startswith(kinds) for column in schema}


def import_pyarrow(module: str, purpose: str) -> Any:
    """Import an optional module, or raise a MissingExtraError."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtraError.to(purpose, package="pyarrow", extra="parquet") from None
