"""Readers of captions and references.

Nearly every caption file is a list of records, however it is wrapped: COCO annotations and results,
Karpathy splits, JSON lines, CSV, Parquet. So one step unwraps a container into records, and one
picks the id and the captions out of records; `{id: captions}` JSON is the one exception.
"""

from __future__ import annotations

import codecs
import csv
import gc
import gzip
import importlib
import io
import json
import os
import re
import sys
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn, TypeAlias, get_args

from cidery.captions.corpus import ImageId, Rows
from cidery.captions.formats.foreign import has_format, read_foreign
from cidery.errors import FormatError, MissingExtraError, SettingError
from cidery.plugins import list_names

Format: TypeAlias = Literal[
    "coco", "results", "karpathy", "mapping", "jsonl", "csv", "tsv", "parquet", "arrow"
]
FORMATS: tuple[Format, ...] = get_args(Format)
_JSON_SHAPES = ("coco", "results", "karpathy", "mapping")
_SUFFIXES: dict[str, str] = {
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
}

_Side: TypeAlias = Literal["candidates", "references"]
_Entries: TypeAlias = list[tuple[ImageId, str | list[str]]]

_ID_FIELDS = (
    *("image_id", "cocoid", "imgid", "id", "image", "image_name", "file_name", "filename"),
    *("audio", "audio_id", "video", "video_id"),
)
_SHARED_FIELDS = ("captions", "caption", "sentences")
_CAPTION_FIELDS: dict[_Side, tuple[str, ...]] = {
    "candidates": ("candidates", "candidate", *_SHARED_FIELDS),
    "references": ("references", "refs", *_SHARED_FIELDS),
}
_NUMBERED = re.compile(r"caption_?([0-9]+)")
_UNDERSTOOD = (
    "understood are COCO annotations ({'annotations': [{'image_id', 'caption'}]}), COCO results "
    "([{'image_id', 'caption'}]), Karpathy datasets ({'images': [{'cocoid', 'sentences'}]}), "
    "{id: caption} and {id: [captions]}, JSON lines, CSV, TSV, Parquet and Arrow"
)


def read_references(
    path: str | os.PathLike[str], *, format: Format | str | None = None, split: str | None = None
) -> dict[ImageId, list[str]]:
    """Read references from a file in any format, in the order in which their images first come.

    Args:
        path: The file, plain or gzipped; `-` is standard input.
        format: One of `FORMATS`, or one that another package adds; by default it is recognised by
            content and suffix.
        split: Keep the records of this split only; `train+restval` keeps both.
    """
    references: defaultdict[ImageId, list[str]] = defaultdict(list)
    with collector_paused():
        for image, captions in _read(path, "references", format, split):
            if isinstance(captions, str):
                references[image].append(captions)
            # Files with a record per candidate repeat the image's references in each.
            elif captions != references[image]:
                references[image].extend(captions)
    return dict(references)


def read_candidates(
    path: str | os.PathLike[str], *, format: Format | str | None = None, split: str | None = None
) -> Rows:
    """Read candidates from a file in any format, one `(id, caption)` per caption, in file order.

    The arguments are those of `read_references`.
    """
    with collector_paused():
        entries = _read(path, "candidates", format, split)
        if all(type(captions) is str for _, captions in entries):
            return entries  # type: ignore[return-value]  # just checked
        return [
            (image, caption)
            for image, captions in entries
            for caption in ([captions] if isinstance(captions, str) else captions)
        ]


@dataclass(frozen=True, slots=True)
class _Source:
    """A file being read: what messages call it, and what its records are called."""

    name: str
    unit: str = "entry"

    def fail(self, problem: str, *, index: int | None = None) -> NoReturn:
        """Raise the error that names this file and, from 1, the record."""
        place = self.name if index is None else f"{self.name}, {self.unit} {index + 1}"
        raise FormatError(f"{place}: {problem}") from None


def _read(
    path: str | os.PathLike[str], side: _Side, format: Format | str | None, split: str | None
) -> _Entries:
    """Return what a file holds for one side; where a record has both, `side` says which to take."""
    if format is not None and format not in FORMATS and not has_format(format):
        known = ", ".join(list_names("format", FORMATS))
        raise SettingError(f"format {format!r} is unknown; there are {known}")
    name, content = read_bytes(path)
    source = _Source(name)
    container = _container(source, content) if format is None else format
    if container in ("parquet", "arrow"):
        records = _arrow_records(content, container, side, _Source(name, "row"))
        return _record_entries(records, side, split, _Source(name, "row"))
    if container not in ("json", *FORMATS):
        return _record_entries(read_foreign(container, content, name), side, split, source)
    text = _decode(content, source)
    if container in ("csv", "tsv"):
        records = _csv_records(text, "\t" if container == "tsv" else None, source)
        return _record_entries(records, side, split, _Source(name, "row"))
    if container == "jsonl":
        return _record_entries(_json_lines(text, source), side, split, source)
    document = _json_document(text, source)
    shape = _shape(document, source) if container == "json" else container
    if shape == "mapping":
        return _mapping_entries(document, split, source)
    return _record_entries(_wrapped_records(document, shape, source), side, split, source)


def read_bytes(path: str | os.PathLike[str]) -> tuple[str, bytes]:
    """Return the name and the content of a file, unzipped if need be; `-` is standard input."""
    if os.fspath(path) == "-":
        name, content = "standard input", sys.stdin.buffer.read()
    else:
        name, content = str(path), Path(path).read_bytes()
    if content.startswith(b"\x1f\x8b"):
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            _Source(name).fail(f"the gzip data is damaged or cut short ({error})")
    return name, content


def _container(source: _Source, content: bytes) -> str:
    """Recognise a container by its first bytes, then by its suffix, then by its first line."""
    if content.startswith(b"PAR1"):
        return "parquet"
    # The magic of Arrow files (which Feather is) and the continuation marker of Arrow streams.
    if content.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
        return "arrow"
    suffix = Path(source.name.removesuffix(".gz")).suffix.lower()
    if suffix in _SUFFIXES:
        return _SUFFIXES[suffix]
    if has_format(suffix.removeprefix(".")):
        return suffix.removeprefix(".")
    head = content.removeprefix(codecs.BOM_UTF8).lstrip()
    if head.startswith((b"{", b"[")):
        return "json"
    header = re.split(rb"[\n,;\t\r\"]+", head.partition(b"\n")[0])
    if any(field.encode() in header for field in _ID_FIELDS):
        return "csv"
    source.fail(f"the format is not recognised; {_UNDERSTOOD}; pass format= to name one")


def _decode(content: bytes, source: _Source) -> str:
    utf16 = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return content.decode("utf-16" if utf16 else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        source.fail(
            f"byte {content[error.start]:#04x} in line {line} is not "
            f"{'UTF-16' if utf16 else 'UTF-8'}; convert the file, "
            "for instance with: iconv -f latin1 -t utf-8"
        )


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the cyclic garbage collector, which walks over all parsed records again and again.

    It takes a fifth of the time to read `captions_val2014.json`, for nothing: JSON makes no cycles.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _json_document(text: str, source: _Source) -> Any:
    """Parse JSON; a first line that is complete by itself makes it JSON lines."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data" and "\n" not in text[: error.pos].strip():
            return _json_lines(text, source)
        source.fail(
            f"not JSON: {error.msg} in line {error.lineno}, column {error.colno}; "
            "check that the file is complete"
        )
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits, 100,000 brackets
        source.fail(f"not JSON that can be read: {error}")


def _json_lines(text: str, source: _Source) -> list[Any]:
    records = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            records.append(json.loads(line))
        except (ValueError, RecursionError) as error:
            what = error.msg if isinstance(error, json.JSONDecodeError) else error
            source.fail(f"line {number} is not JSON: {what}; JSON lines have one object per line")
    return records


def _shape(document: Any, source: _Source) -> str:
    """Recognise what a JSON document holds."""
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
        if any(map(document.__contains__, _ID_FIELDS)) and "caption" in document:
            return "results"
        if all(isinstance(value, str | list) for value in document.values()):
            return "mapping"
    source.fail(f"the JSON has a shape that is not understood; {_UNDERSTOOD}")


def _wrapped_records(document: Any, shape: str, source: _Source) -> list[Any]:
    """Return the records of a JSON document; a single object is a list of one."""
    if shape == "results":
        return document if isinstance(document, list) else [document]
    key = {"coco": "annotations", "karpathy": "images"}[shape]
    records = document.get(key) if isinstance(document, dict) else None
    if not isinstance(records, list):
        source.fail(f"there is no list of {key!r}, which the {shape} format has; {_UNDERSTOOD}")
    return records


def _csv_records(text: str, delimiter: str | None, source: _Source) -> list[dict[str, str]]:
    """Return a dict per row; the delimiter is the one that the header has most of."""
    header = text.lstrip().partition("\n")[0]
    delimiter = delimiter or max(",\t;", key=header.count)
    # Strict, so that a stray quote is an error here and does not swallow the lines up to the next.
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        rows = list(filter(None, reader))
    except csv.Error as error:
        source.fail(f"line {reader.line_num}: {error}; double the quotes inside a quoted caption")
    if not rows:
        source.fail("the file is empty")
    columns = list(map(str.strip, rows[0]))
    for index, row in enumerate(rows[1:]):
        if len(row) != len(columns):
            _Source(source.name, "row").fail(
                f"{len(row)} cells where the header has {len(columns)}; "
                f"quote captions that contain {delimiter!r}",
                index=index,
            )
    return [dict(zip(columns, row, strict=True)) for row in rows[1:]]


def _arrow_records(
    content: bytes, container: str, side: _Side, source: _Source
) -> list[dict[str, Any]]:
    """Return a dict per row, of the columns that are needed: a column of images stays unread."""
    pyarrow = import_pyarrow("pyarrow", "read Parquet and Arrow files")
    buffer = pyarrow.BufferReader(content)
    try:
        if container == "parquet":
            file = import_pyarrow("pyarrow.parquet", "read Parquet files").ParquetFile(buffer)
            return list(file.read(_columns(file.schema_arrow.names, side, source)).to_pylist())
        ipc = import_pyarrow("pyarrow.ipc", "read Arrow files")
        opened = (ipc.open_file if content.startswith(b"ARROW1") else ipc.open_stream)(buffer)
        table = opened.read_all()
        return list(table.select(_columns(table.schema.names, side, source)).to_pylist())
    except (pyarrow.ArrowException, OSError) as error:
        source.fail(f"not a complete {container.capitalize()} file: {error}")


def _columns(names: list[str], side: _Side, source: _Source) -> list[str]:
    id_field, caption_fields = _choose_fields(names, side, source)
    return [id_field, *caption_fields, *(["split"] if "split" in names else [])]


def import_pyarrow(module: str, purpose: str) -> Any:
    """Import an optional module, or say which extra brings it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtraError.to(purpose, package="pyarrow", extra="parquet") from None


def _choose_fields(
    names: Iterable[str], side: _Side, source: _Source
) -> tuple[str, tuple[str, ...]]:
    """Return the field of the id and the field, or the numbered fields, of the captions."""
    present = list(names)
    id_field = next((field for field in _ID_FIELDS if field in present), None)
    if id_field is None:
        source.fail(
            f"no field names the image; expected one of {', '.join(_ID_FIELDS)}, "
            f"found {_listed(present)}"
        )
    for field in _CAPTION_FIELDS[side]:
        if field in present:
            return id_field, (field,)
    numbered = {int(match[1]): field for field in present if (match := _NUMBERED.fullmatch(field))}
    if not numbered:
        source.fail(
            f"no field has {side}; expected one of {', '.join(_CAPTION_FIELDS[side])} "
            f"or caption_1, caption_2, …, found {_listed(present)}"
        )
    return id_field, tuple(numbered[number] for number in sorted(numbered))


def _record_entries(
    records: list[Any], side: _Side, split: str | None, source: _Source
) -> _Entries:
    """Pick ids and captions out of records; the first record decides in which fields they are."""
    if not records:
        source.fail("there are no captions in it")
    for index, record in enumerate(records):
        if not isinstance(record, dict):
            source.fail(
                f"expected an object with an id and captions, not {shorten(record)}", index=index
            )
    id_field, fields = _choose_fields(records[0], side, source)
    ids = _check_ids(_pick(records, id_field, source), source)
    if fields[0] in _CAPTION_FIELDS[side]:
        captions = _texts(_pick(records, fields[0], source), source)
    else:
        # A table has as many columns as its best described image needs; the other cells are blank.
        cells = [[record.get(field) for field in fields] for record in records]
        captions = _texts(
            [[cell for cell in row if cell not in (None, "")] for row in cells], source
        )
    entries = list(zip(ids, captions, strict=True))
    if split is None:
        return entries
    wanted = _check_split(split, Counter(record.get("split") for record in records), source)
    return [
        entry for entry, record in zip(entries, records, strict=True) if record["split"] in wanted
    ]


def _mapping_entries(document: Any, split: str | None, source: _Source) -> _Entries:
    if not isinstance(document, dict):
        source.fail(f"expected an object that maps ids to captions; {_UNDERSTOOD}")
    if not document:
        source.fail("there are no captions in it")
    if split is not None:
        _check_split(split, Counter(), source)
    return list(zip(document, _texts(list(document.values()), source), strict=True))


def _pick(records: list[dict[str, Any]], field: str, source: _Source) -> list[Any]:
    try:
        return [record[field] for record in records]
    except KeyError:
        index = next(index for index, record in enumerate(records) if field not in record)
        found = _listed(list(records[index]))
        source.fail(
            f"there is no {field!r}, as the entries before have; found {found}", index=index
        )


def _check_ids(ids: list[Any], source: _Source) -> list[ImageId]:
    if not set(map(type, ids)) <= {str, int}:
        index = next(index for index, image in enumerate(ids) if type(image) not in (str, int))
        source.fail(
            f"the id is {shorten(ids[index])}, expected a string or an integer", index=index
        )
    return ids


def _check_split(split: str, sizes: Counter[Any], source: _Source) -> set[str]:
    """Return the splits asked for, all of which must be there."""
    present = {name: size for name, size in sizes.items() if isinstance(name, str)}
    if not present:
        raise SettingError(f"{source.name} has no splits; leave split={split!r} (--split) out")
    wanted = set(split.split("+"))
    unknown = sorted(wanted - set(present))
    if unknown:
        there = ", ".join(f"{name} ({size})" for name, size in sorted(present.items()))
        raise SettingError(f"{source.name} has no split {unknown[0]!r}; it has {there}")
    return wanted


def _texts(values: list[Any], source: _Source) -> list[str | list[str]]:
    """Return captions as text or lists of text, one per record."""
    if set(map(type, values)) == {str}:
        return values
    texts: list[str | list[str]] = []
    for index, value in enumerate(values):
        if isinstance(value, str):
            texts.append(value)
        elif not isinstance(value, list):
            problem = f"the caption is {shorten(value)}, expected text or a list of texts"
            source.fail(problem, index=index)
        elif set(map(type, value)) <= {str}:
            texts.append(value)
        else:
            texts.append([_sentence(sentence, index, source) for sentence in value])
    return texts


def _sentence(sentence: Any, index: int, source: _Source) -> str:
    """Return a sentence; it may be an object with `raw` (Karpathy) or `caption` (coco-caption)."""
    text = sentence
    if isinstance(sentence, dict):
        text = sentence.get("raw", sentence.get("caption"))
    if not isinstance(text, str):
        source.fail(f"a caption is {shorten(sentence)}, expected text", index=index)
    return text


def shorten(value: Any) -> str:
    """Return a value as JSON spells it, fit for a message."""
    shown = json.dumps(value, ensure_ascii=False, default=repr)
    return shown if len(shown) <= 60 else f"{shown[:57]}…"


def _listed(names: list[str]) -> str:
    return shorten(", ".join(names)) if names else "none"
