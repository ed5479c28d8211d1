"""Slices of images from files: CSV, TSV, JSON, JSON lines, Parquet, Arrow."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cidery.corpus import (
    GROUPINGS,
    GroupingData,
    ImageId,
    Slices,
    SlicesLike,
    group_images,
    is_grouping,
    match_slices,
    read_slice_names,
)
from cidery.errors import FormatError, SettingError
from cidery.files.containers import (
    parse_csv,
    parse_json,
    parse_json_lines,
    read_arrow,
    recognize,
)
from cidery.files.fields import CAPTION_FIELDS, ID_FIELDS, spell_fields
from cidery.files.plugin_formats import read_plugin_format
from cidery.files.sources import Readable, Source, decode, read_bytes, shorten

KNOWN_FIELDS = ("slice", "slices", "domain", "domains", "tag", "tags", "group", "groups")
"""Names of columns that have slices, in files with several columns."""
SEPARATOR = "|"
"""Separator of the slices of one image in a cell of CSV or TSV."""


class NoColumnError(FormatError):
    """A file has no column, or field, of that name."""

    def __init__(self, name: str, field: str, columns: Sequence[str]) -> None:
        self.found = f"{name} has {spell_fields(columns) if columns else 'no fields'}"
        super().__init__(f"there is no column {field!r}: {self.found}")


def read_slices(
    source: Readable,
    field: str | None = None,
    *,
    name: str | None = None,
    id_field: str | None = None,
    images: Collection[Any] | None = None,
) -> dict[ImageId, tuple[str, ...]]:
    r"""Read the slices of images from CSV, TSV, JSON lines, Parquet, Arrow or JSON.

    JSON is `{id: slice}`, `{id: [slices]}`, a list of records, or annotations whose `images`
    (or `annotations`) have the field, as those of nocaps have `domain`.

    Args:
        source: A path (`-` is standard input), bytes or an open file; plain or gzipped.
        field: Column of the slices. Default: the only one beside the id, or a well-known name.
        name: Name of the source in messages.
        id_field: Column of the image ids. Default: a well-known name.
        images: Ids of images to keep. Default: all.

    ```python
    read_slices(b"image_id,domain\n1,in-domain\n2,out-domain", name="domains.csv")
    ```
    """
    name, content = read_bytes(source, name=name, default="slices")
    file = os.fspath(source) if isinstance(source, str | os.PathLike) else name
    found = _read(content, file, Source(name), field, id_field)
    return found if images is None else {i: s for i, s in found.items() if i in images}


def slice_images(
    by: SlicesLike, images: Sequence[ImageId], data: GroupingData, name: str | None = None
) -> Slices:
    """Group images by a mapping, a list, a file or the name of a grouping.

    Args:
        by: id -> slice or slices, a list in the order of the images, `length` (quartiles of
            the references' words), `length:8,12` (with these edges), `references` (their number),
            or a file of `read_slices`, also as `FILE:COLUMN`.
        images: ids of the images.
        data: numbers per image for groupings.
        name: name of the slices in messages.
    """
    if isinstance(by, str) and is_grouping(by):
        return group_images(by, data)
    if isinstance(by, str) and not is_slice_file(by):
        raise SettingError(
            f"no slices named {by!r}: neither {', '.join(GROUPINGS)}, an existing file nor "
            "FILE:COLUMN; pass a dict by image id, or read a field with read_slices"
        )
    if isinstance(by, str | os.PathLike):
        return match_slices(read_named_slices(by), images, name or os.fspath(by))
    return match_slices(by, images, name or "slices")


def find_slices(
    text: str, files: Sequence[tuple[str, str | None]], images: Collection[ImageId]
) -> SlicesLike:
    """Return the slices that a text names: a grouping, a file, `FILE:COLUMN`, or a field.

    Args:
        text: name that the user typed.
        files: files of references, then of candidates, each with the field of its ids, if named.
        images: images of the references; other records of the first file are ignored.
    """
    if is_grouping(text):
        return text
    if is_slice_file(text):
        return read_named_slices(text)
    tried = []
    for number, (file, id_field) in enumerate(files):
        if file == "-":
            tried.append("standard input can be read once only")
            continue
        try:
            wanted = images if number == 0 else None
            return read_slices(file, text, id_field=id_field, images=wanted)
        except NoColumnError as error:
            tried.append(error.found)
    raise SettingError(
        f"no slices named {text!r}: neither {', '.join(GROUPINGS)}, an existing file, FILE:COLUMN "
        f"nor a field; {'; '.join(tried)}"
    )


def is_slice_file(text: str) -> bool:
    """Return True if a text is a file, or a file and a column as `FILE:COLUMN`."""
    return _is_file(text) or _is_file(text.rpartition(":")[0])


def read_named_slices(text: str | os.PathLike[str]) -> dict[ImageId, tuple[str, ...]]:
    """Read a file, or one column of it where the text is `FILE:COLUMN`."""
    path = os.fspath(text)
    if _is_file(path) or ":" not in path:
        return read_slices(path)
    file, _, column = path.rpartition(":")
    return read_slices(file, column)


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # too long a name, a null byte
        return False


@dataclass(frozen=True, slots=True)
class _Table:
    """Records with columns."""

    records: Sequence[Mapping[str, Any]]
    source: Source
    split_cells: bool = False

    @property
    def columns(self) -> list[str]:
        return list(dict.fromkeys(key for record in self.records for key in record))


def _read(
    content: bytes, file: str, source: Source, field: str | None, id_field: str | None
) -> dict[ImageId, tuple[str, ...]]:
    container = recognize(content, file, id_field, source)
    rows = Source(source.name, "row")
    if container in ("parquet", "arrow"):

        def choose(present: dict[str, bool]) -> list[str]:
            names = list(present)
            found = _find_id(names, id_field, rows)
            return [found, _find_column([name for name in names if name != found], field, rows)]

        table = _Table(read_arrow(content, container, choose, rows), rows)
        return _pick([table], field, id_field, source)
    if container not in ("json", "jsonl", "csv", "tsv"):
        records = read_plugin_format(container, content, source.name)
        return _pick([_Table(records, source)], field, id_field, source)
    text = decode(content, source)
    if container in ("csv", "tsv"):
        cells = parse_csv(text, "\t" if container == "tsv" else None, rows)
        return _pick([_Table(cells, rows, split_cells=True)], field, id_field, source)
    document = parse_json_lines(text, source) if container == "jsonl" else parse_json(text, source)
    if isinstance(document, list):
        return _pick([_Table(document, source)], field, id_field, source)
    if not isinstance(document, dict):
        source.fail(f"expected slices by image, not {shorten(document)}")
    tables = [document[key] for key in ("images", "annotations") if _is_table(document.get(key))]
    if tables:
        return _pick([_Table(records, source) for records in tables], field, id_field, source)
    return _pick_by_id(document, field, source)


def _is_table(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def _pick_by_id(
    document: dict[str, Any], field: str | None, source: Source
) -> dict[ImageId, tuple[str, ...]]:
    if field is not None:
        raise NoColumnError(source.name, field, ())
    if not document:
        source.fail("there are no slices in it")
    return {
        image: read_slice_names(value, f"{source.name}, image {image!r}")
        for image, value in document.items()
    }


def _pick(
    tables: Sequence[_Table], field: str | None, id_field: str | None, source: Source
) -> dict[ImageId, tuple[str, ...]]:
    """Read the column of the first table that has it."""
    for table in tables:
        for index, record in enumerate(table.records):
            if not isinstance(record, dict):
                problem = f"expected an object with an id and slices, not {shorten(record)}"
                table.source.fail(problem, index=index)
    if not any(table.records for table in tables):
        source.fail("there are no slices in it")
    columns = list(dict.fromkeys(column for table in tables for column in table.columns))
    if len(tables) == 1:
        _find_id(columns, id_field, source)
    chosen = _find_column([c for c in columns if c != id_field], field, source)
    table = next(table for table in tables if chosen in table.columns)
    named = id_field if id_field in table.columns or len(tables) == 1 else None
    id_column = _find_id(table.columns, named, table.source)
    found: dict[ImageId, tuple[tuple[str, ...], int]] = {}
    for index, record in enumerate(table.records):
        image = record.get(id_column)
        place = f"{table.source.name}, {table.source.unit} {index + 1}"
        if not isinstance(image, str | int) or isinstance(image, bool):
            problem = f"the id is {shorten(image)}, expected a string or an integer"
            table.source.fail(problem, index=index)
        value = record.get(chosen)
        if table.split_cells and isinstance(value, str):
            value = value.split(SEPARATOR)
        names = read_slice_names(value, place)
        before, first = found.setdefault(image, (names, index))
        if before != names:
            table.source.fail(
                f"image {image!r} is in {_spell(names)} here, but in {_spell(before)} in "
                f"{table.source.unit} {first + 1}; give an image once, with all its slices: a list "
                f"in JSON, separated by {SEPARATOR} in CSV",
                index=index,
            )
    return {image: names for image, (names, _) in found.items()}


def _find_column(columns: Sequence[str], field: str | None, source: Source) -> str:
    if field is not None:
        if field not in columns:
            raise NoColumnError(source.name, field, columns)
        return field
    others = [name for name in columns if name not in (*ID_FIELDS, *CAPTION_FIELDS)]
    if len(others) == 1:
        return others[0]
    known = [name for name in KNOWN_FIELDS if name in columns]
    if len(known) == 1:
        return known[0]
    source.fail(
        f"no unique column of slices; found {spell_fields(columns)}; pass FILE:COLUMN (--by) or "
        "field="
    )


def _find_id(columns: Sequence[str], id_field: str | None, source: Source) -> str:
    if id_field is not None:
        if id_field not in columns:
            source.fail(f"there is no column {id_field!r} of ids; found {spell_fields(columns)}")
        return id_field
    found = next((name for name in ID_FIELDS if name in columns), None)
    if found is None:
        source.fail(
            f"no column names the image; expected one of {', '.join(ID_FIELDS)}, found "
            f"{spell_fields(columns)}"
        )
    return found


def _spell(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names)) or "no slice"
