"""Captions and references from files.

Nearly every format is a list of records: COCO annotations and results, Karpathy splits, JSON lines,
CSV, Parquet. One step reads the records, one selects the id and the captions of each;
`{id: captions}` JSON is the exception.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from cidery.corpus import ImageId, Notice, ReadCandidates, ReadReferences, issue_notices
from cidery.errors import SettingError
from cidery.files.containers import (
    FORMATS,
    UNDERSTOOD,
    Format,
    parse_csv,
    parse_json,
    parse_json_lines,
    read_arrow,
    read_xlsx,
    recognize,
    recognize_json,
    unwrap_records,
)
from cidery.files.fields import (
    ID_FIELDS,
    OPTIONS,
    Chosen,
    Fields,
    Side,
    explain_ambiguous,
    find_fields,
    find_rivals,
    may_be_captions,
    spell_fields,
)
from cidery.files.harness_logs import find_wrapped, read_log_document, read_log_records
from cidery.files.list_cells import split_cells
from cidery.files.plugin_formats import has_format, read_plugin_format
from cidery.files.sources import (
    Readable,
    Source,
    collector_paused,
    decode,
    read_bytes,
    shorten,
)
from cidery.plugins import list_names

_Entries: TypeAlias = list[tuple[ImageId, str | list[str]]]


def read_references(
    source: Readable,
    *,
    name: str | None = None,
    format: Format | str | None = None,
    split: str | None = None,
    caption_field: str | None = None,
    id_field: str | None = None,
) -> ReadReferences:
    """Read references in any format, in the order of their images.

    The result is a dict, `{id: [caption, …]}`, whose `notices` say how the file was read where that
    is worth knowing; they are issued as `InputNote` warnings too.

    Args:
        source: A path (`-` is standard input), bytes or an open file; plain or gzipped.
        name: Name of the source in messages. Default: the path or the open file's name.
        format: One of `FORMATS`, or a format of another package. Default: detected by content and
            suffix.
        split: Split to read; `train+restval` reads both. Default: all.
        caption_field: Field of the references. Default: a well-known name.
        id_field: Field of the image id. Default: a well-known name. `{id: captions}` files have no
            fields: their keys are the ids.

    ```python
    read_references("references.json")
    read_references("photos.jsonl", caption_field="human", id_field="photo")
    read_references(b'{"kitchen": ["a cat", "the cat"]}', name="upload.json")
    ```
    """
    reader = Reader("references", split, Chosen(id_field, caption_field))
    references: defaultdict[ImageId, list[str]] = defaultdict(list)
    # Files with a record per candidate repeat the image's references in each.
    with collector_paused():
        for image, captions in reader.read(source, name, format):
            if isinstance(captions, str):
                references[image].append(captions)
            elif captions != references[image]:
                references[image].extend(captions)
    found = ReadReferences(references)
    found.notices = tuple(reader.notices)
    issue_notices(found.notices)
    return found


def read_candidates(
    source: Readable,
    *,
    name: str | None = None,
    format: Format | str | None = None,
    split: str | None = None,
    caption_field: str | None = None,
    id_field: str | None = None,
) -> ReadCandidates:
    """Read candidates in any format, one `(id, caption)` per caption, in the order of the file.

    The result is a list with `notices`, as that of `read_references`. The arguments are the same;
    `caption_field` is the field of the candidates.

    ```python
    read_candidates("outputs.jsonl", caption_field="prediction")
    ```
    """
    reader = Reader("candidates", split, Chosen(id_field, caption_field))
    with collector_paused():
        entries = reader.read(source, name, format)
        if all(type(captions) is str for _, captions in entries):
            found = ReadCandidates(entries)  # type: ignore[arg-type]  # just checked
        else:
            found = ReadCandidates(
                (image, caption)
                for image, captions in entries
                for caption in ([captions] if isinstance(captions, str) else captions)
            )
    found.notices = tuple(reader.notices)
    issue_notices(found.notices)
    return found


@dataclass(frozen=True, slots=True)
class Reader:
    """Reader of candidates or references, with a split and fields."""

    side: Side
    split: str | None
    chosen: Chosen
    in_chunks: bool = False
    """True for chunks of a stream, which cannot be read by the content of all records."""
    notices: list[Notice] = field(default_factory=list)
    """Notices about the reading, in its order."""

    def read(self, given: Readable, name: str | None, format: Format | str | None) -> _Entries:
        """Return ids and captions of a file."""
        if format is not None and format not in FORMATS and not has_format(format):
            known = ", ".join(list_names("format", FORMATS))
            raise SettingError(f"unknown format {format!r}; known: {known}")
        name, content = read_bytes(given, name=name, default=self.side)
        source, rows = Source(name), Source(name, "row")
        file = os.fspath(given) if isinstance(given, str | os.PathLike) else name
        container = format or recognize(content, file, self.chosen.id, source)
        if container in ("parquet", "arrow"):
            return self.pick(read_arrow(content, container, self._columns(rows), rows), rows)
        if container not in ("json", *FORMATS):
            return self.pick(read_plugin_format(container, content, name), source)
        if container == "xlsx":
            return self.pick(read_xlsx(content, rows), rows)
        text = decode(content, source)
        if container in ("csv", "tsv"):
            return self.pick(parse_csv(text, "\t" if container == "tsv" else None, rows), rows)
        if container == "jsonl":
            return self.pick(parse_json_lines(text, source), source)
        document = parse_json(text, source)
        shape = container
        if container in ("json", "results"):
            document, shape = self._unwrap(document, shape, source)
        if shape == "json":
            named = (self.chosen.id, self.chosen.captions)
            shape = recognize_json(document, named, source)
        if shape == "mapping":
            return self._pick_by_id(document, source)
        return self.pick(unwrap_records(document, shape, source), source)

    def _unwrap(self, document: Any, shape: str, source: Source) -> tuple[Any, str]:
        """Return what has the captions in a harness's log or under a key such as `results`."""
        if isinstance(document, dict) and (log := read_log_document(document)) is not None:
            records, harness = log
            self._note_log(harness, len(records), source)
            return records, "results"
        named = {self.chosen.id, self.chosen.captions} - {None}
        if not isinstance(document, dict) or not document.keys().isdisjoint({*ID_FIELDS, *named}):
            return document, shape
        if isinstance(document.get("annotations"), list):
            return document, shape
        key = find_wrapped(document, self.side, [*ID_FIELDS, *filter(None, [self.chosen.id])])
        if key is None:
            return document, shape
        value = document[key]
        others = ", ".join(map(repr, [name for name in document if name != key][:5])) or "nothing"
        message = f"{source.name}: the {self.side} are under {key!r}; beside it: {others}"
        self.notices.append(Notice("wrapped", message, len(value), key))
        return value, "results" if isinstance(value, list) else "json"

    def _note_log(self, harness: str, count: int, source: Source) -> None:
        if self.in_chunks:
            source.fail(
                f"this is a log of {harness}, which is not streamed; score it without --stream"
            )
        message = (
            f"{source.name}: the {self.side} are those of a log of {harness}, {count:,} samples"
        )
        self.notices.append(Notice("log", message, count, harness))

    def _columns(self, source: Source) -> Any:
        """Return the function that chooses the columns of a table."""

        def choose(present: dict[str, bool]) -> list[str]:
            fields = find_fields(present, self.side, self.chosen, source)
            return [fields.id, *fields.captions, *(["split"] if "split" in present else [])]

        return choose

    def pick(self, records: list[Any], source: Source) -> _Entries:
        """Return ids and captions of records, in the fields of the first record."""
        if not records:
            source.fail("there are no captions in it")
        if set(map(type, records)) != {dict}:
            index = next(i for i, record in enumerate(records) if type(record) is not dict)
            source.fail(
                f"expected an object with an id and captions, not {shorten(records[index])}",
                index=index,
            )
        named = {self.chosen.id, self.chosen.captions} - {None}
        if named.isdisjoint(records[0]) and (log := read_log_records(records)) is not None:
            records, harness = log
            self._note_log(harness, len(records), source)
        present = {name: may_be_captions(value) for name, value in records[0].items()}
        fields = find_fields(present, self.side, self.chosen, source)
        ids = _check_ids(_values(records, fields.id, source), source)
        if fields.numbered:
            # A table has as many columns as its best described image needs; others are blank.
            cells = [[record.get(field) for field in fields.captions] for record in records]
            values = [[cell for cell in row if cell not in (None, "")] for row in cells]
        else:
            values = self._split(_values(records, fields.captions[0], source), fields, source)
        self._check_rivals(records, fields, source)
        entries = list(zip(ids, _texts(values, source), strict=True))
        if self.split is None:
            return entries
        sizes = Counter(record.get("split") for record in records)
        wanted = _check_split(self.split, sizes, source)
        return [
            entry
            for entry, record in zip(entries, records, strict=True)
            if record["split"] in wanted
        ]

    def _split(self, values: list[Any], fields: Fields, source: Source) -> list[Any]:
        """Return the values of the captions' field, with lists in place of lists in text."""
        field = fields.captions[0]
        found = split_cells(values, field, source)
        if found is None:
            return values
        lists, form = found
        if self.in_chunks:
            source.fail(
                f"the field {field!r} has {form}, which are not streamed; write real lists, or "
                "score the file without --stream"
            )
        sizes = {len(value) for value in lists if isinstance(value, list)}
        each = f"{min(sizes)} to {max(sizes)}" if len(sizes) > 1 else str(min(sizes, default=0))
        message = f"{source.name}: the column {field!r} has {form}: {each} {self.side} per row"
        self.notices.append(Notice("list-text", message, len(lists), str(values[0])[:200]))
        return lists

    def _check_rivals(self, records: list[dict[str, Any]], fields: Fields, source: Source) -> None:
        """Raise a FormatError for fields of later records that may contain the captions."""
        if self.chosen.captions is not None:
            return
        others = list(set().union(*records).difference(records[0]))
        for rival in find_rivals(others, self.side, fields):
            for index, record in enumerate(records):
                if rival in record and may_be_captions(record[rival]):
                    names = (fields.captions[0], rival)
                    source.fail(explain_ambiguous(names, self.side), index=index)

    def _pick_by_id(self, document: Any, source: Source) -> _Entries:
        if not isinstance(document, dict):
            source.fail(f"expected an object that maps ids to captions; {UNDERSTOOD}")
        if not document:
            source.fail("there are no captions in it")
        if self.chosen.captions is not None:
            source.fail(
                "the file maps ids to captions and has no fields; leave "
                f"caption_field={self.chosen.captions!r} ({OPTIONS[self.side]}) out"
            )
        if self.split is not None:
            _check_split(self.split, Counter(), source)
        return list(zip(document, _texts(list(document.values()), source), strict=True))


def _values(records: list[dict[str, Any]], field: str, source: Source) -> list[Any]:
    try:
        return [record[field] for record in records]
    except KeyError:
        index = next(index for index, record in enumerate(records) if field not in record)
        source.fail(
            f"there is no {field!r}, as the entries before have; found "
            f"{spell_fields(records[index])}",
            index=index,
        )


def _check_ids(ids: list[Any], source: Source) -> list[ImageId]:
    if not set(map(type, ids)) <= {str, int}:
        index = next(index for index, image in enumerate(ids) if type(image) not in (str, int))
        source.fail(
            f"the id is {shorten(ids[index])}, expected a string or an integer", index=index
        )
    return ids


def _check_split(split: str, sizes: Counter[Any], source: Source) -> set[str]:
    """Return the chosen splits, all of which must exist."""
    present = {name: size for name, size in sizes.items() if isinstance(name, str)}
    if not present:
        raise SettingError(f"{source.name} has no splits; leave split={split!r} (--split) out")
    wanted = set(split.split("+"))
    unknown = sorted(wanted - set(present))
    if unknown:
        there = ", ".join(f"{name} ({size})" for name, size in sorted(present.items()))
        raise SettingError(f"{source.name} has no split {unknown[0]!r}; it has {there}")
    return wanted


def _texts(values: list[Any], source: Source) -> list[str | list[str]]:
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


def _sentence(sentence: Any, index: int, source: Source) -> str:
    """Return a caption; it may be an object with `raw` (Karpathy) or `caption` (coco-caption)."""
    text = sentence
    if isinstance(sentence, dict):
        text = sentence.get("raw", sentence.get("caption"))
    if not isinstance(text, str):
        source.fail(f"a caption is {shorten(sentence)}, expected text", index=index)
    return text
