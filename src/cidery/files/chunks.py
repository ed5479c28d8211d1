"""Chunks of large files, for streams.

Parquet files are split between row groups, Arrow files between record batches, Arrow streams
between rows, JSON lines between lines. Chunks can be read in any order and by any process. A gzip
file is one chunk, which is read block by block.
"""

from __future__ import annotations

import codecs
import gzip
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np

from cidery.errors import FormatError, InputError, MissingExtraError
from cidery.files.caption_files import Reader
from cidery.files.containers import check_texts, describe_columns, import_pyarrow
from cidery.files.fields import Chosen, Fields, Side, find_fields
from cidery.files.list_cells import JOINED
from cidery.files.sources import Source, decode, read_json_lines
from cidery.runtime import available_memory

SUFFIXES = {
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), "arrow"),
    **dict.fromkeys((".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz"), "jsonl"),
}
"""File formats that can be streamed, by suffix."""
CHUNK_BYTES = 16_000_000
"""Size of a chunk of JSON lines."""
CHUNK_ROWS = 200_000
"""Number of rows of a chunk that has several small row groups."""
GZIP = b"\x1f\x8b"
"""First bytes of gzip files."""
MAX_ID = (1 << 63) - 1
"""Maximum integer id of a candidate: scores are written with ids of 64 bits."""


@dataclass(frozen=True)
class Chunk:
    """Part of a file."""

    file: str
    kind: str
    begin: int
    """First row group, record batch, row (of an Arrow stream) or byte."""
    end: int
    first: int
    """Number of rows or lines before it."""


@dataclass(frozen=True)
class CaptionColumns:
    """CaptionColumns of a chunk, or of a block of it, as Arrow arrays."""

    ids: Any
    """Strings: ids as written."""
    captions: Any
    """Lists of strings."""
    listed: Any
    """Booleans: True if the captions are a list in the file."""
    kind: str
    """Kind of the ids: `int` or `str`."""
    rows: Any
    """Number of each row or line in its file, from 1."""


def find_files(given: str) -> list[str]:
    """Return the files of a path, folder, pattern or URL, sorted by name."""
    if "://" in given:
        found = _list_remote(given)
    elif Path(given).is_dir():
        found = [str(p) for p in sorted(Path(given).rglob("*")) if p.is_file() and _kind(str(p))]
    elif any(sign in given for sign in "*?[") and not Path(given).exists():
        import glob

        found = [path for path in sorted(glob.glob(given, recursive=True)) if Path(path).is_file()]  # noqa: PTH207
    else:
        Path(given).stat()  # OSError says what is wrong
        found = [given]
    if not found:
        raise InputError(f"{given}: no files found; streams read {', '.join(SUFFIXES)}")
    for file in found:
        if _kind(file) is None:
            raise FormatError(
                f"{file}: this format cannot be streamed; convert the captions to one of "
                f"{', '.join(SUFFIXES)}"
            )
    return found


def is_streamable(given: str) -> bool:
    """Return True if a path, folder, pattern or URL can be streamed, judging by its name."""
    if "://" in given or Path(given).is_dir() or _kind(given) is not None:
        return True
    return any(sign in given for sign in "*?[") and not Path(given).exists()


MEMORY_FACTOR = 12
"""Memory that captions need, as an approximate multiple of their file's size."""


def must_stream(*given: str) -> bool:
    """Return True if an input has several files, or the inputs exceed the available memory."""
    if "-" in given:
        return False
    several = ["://" in each or not Path(each).is_file() for each in given]
    if any(several):
        return any(is_streamable(each) for each, many in zip(given, several, strict=True) if many)
    size = sum(Path(each).stat().st_size for each in given)
    return (
        size > 50_000_000
        and all(map(is_streamable, given))
        and size * MEMORY_FACTOR > available_memory()
    )


def _kind(file: str) -> str | None:
    return next((kind for end, kind in SUFFIXES.items() if file.lower().endswith(end)), None)


def _list_remote(url: str) -> list[str]:
    with _open_remote(url) as (system, path):
        if any(sign in path for sign in "*?["):
            found = system.glob(path)
        elif system.isdir(path):
            found = [p for p in system.find(path) if _kind(p)]
        else:
            found = [path]
        return [system.unstrip_protocol(p) for p in sorted(found)]


def import_fsspec() -> Any:
    """Import fsspec, or raise a MissingExtraError."""
    try:
        import fsspec
    except ImportError:
        raise MissingExtraError(
            "fsspec is needed to read URLs such as s3://; install it with the package of the "
            "storage: pip install fsspec s3fs (or gcsfs, adlfs)",
            name="fsspec",
        ) from None
    return fsspec


@contextmanager
def _open_remote(url: str) -> Iterator[tuple[Any, str]]:
    """Yield the file system and path of a URL; errors name the URL."""
    fsspec = import_fsspec()
    try:
        yield fsspec.core.url_to_fs(url)
    except ImportError as error:
        raise MissingExtraError(
            f"{url}: {error}; fsspec opens such URLs with a package of their storage",
            name=error.name or "fsspec",
        ) from error
    except Exception as error:  # each storage has its own
        reason = str(error) or type(error).__name__
        raise InputError(f"{url} cannot be read: {reason}") from error


@contextmanager
def open_file(file: str) -> Iterator[IO[bytes]]:
    """Open a path or a URL for reading."""
    if "://" in file:
        with _open_remote(file) as (system, path):
            remote = system.open(path, "rb")
        with remote as opened:
            yield opened
    else:
        with Path(file).open("rb") as opened:
            yield opened


VERSIONS = (
    *("ETag", "etag", "mtime", "modified", "created", "updated", "generation", "ino"),
    *("LastModified", "Last-Modified", "last_modified", "Content-MD5", "Digest", "md5Hash"),
)
"""Names under which storages report the version of a file."""


def fingerprint_file(file: str) -> list[Any]:
    """Return the size, times and hash of the first and last bytes of a file.

    For a URL: the size and version that its storage reports; None in place of the version if it
    reports none.
    """
    import hashlib

    if "://" in file:
        with _open_remote(file) as (system, path):
            known = system.info(path)
        reported = [f"{key}: {known[key]}" for key in VERSIONS if known.get(key) is not None]
        return [known.get("size"), *reported] if reported else [known.get("size"), None]
    status = os.stat(file)  # noqa: PTH116
    digest = hashlib.sha256()
    with open_file(file) as opened:
        digest.update(opened.read(65536))
        opened.seek(max(0, status.st_size - 65536))
        digest.update(opened.read(65536))
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, digest.hexdigest()[:16]]


def get_file_size(file: str) -> int:
    """Return the size of a file in bytes."""
    if "://" in file:
        with _open_remote(file) as (system, path):
            return int(system.size(path) or 0)
    return Path(file).stat().st_size


def split_file(file: str) -> list[Chunk]:
    """Return the chunks of a file, in order."""
    kind = _kind(file) or ""
    if kind == "jsonl":
        return _split_lines(file)
    source = Source(file)
    pyarrow = import_pyarrow("pyarrow", "read Parquet and Arrow files")
    try:
        if kind == "parquet":
            sizes = _measure_row_groups(file)
        elif _begins_with(file, b"ARROW1"):
            sizes = _measure_batches(file)
        else:
            return _split_stream(file)
    except (pyarrow.ArrowException, OSError) as error:
        if isinstance(error, FileNotFoundError | PermissionError):
            raise
        source.fail(f"not a complete {kind.capitalize()} file: {error}")
    chunks = []
    begin = first = rows = 0
    for number, size in enumerate(sizes):
        rows += size
        if rows >= CHUNK_ROWS or number + 1 == len(sizes):
            chunks.append(Chunk(file, kind, begin, number + 1, first))
            begin, first, rows = number + 1, first + rows, 0
    return chunks


def _measure_row_groups(file: str) -> list[int]:
    parquet = import_pyarrow("pyarrow.parquet", "read Parquet files")
    with open_file(file) as opened:
        known = parquet.ParquetFile(opened).metadata
        return [known.row_group(i).num_rows for i in range(known.num_row_groups)]


def _measure_batches(file: str) -> list[int]:
    ipc = import_pyarrow("pyarrow.ipc", "read Arrow files")
    with _open_arrow(file) as opened:
        reader = ipc.open_file(opened)
        return [reader.get_batch(i).num_rows for i in range(reader.num_record_batches)]


def _split_stream(file: str) -> list[Chunk]:
    """Split an Arrow stream, which has no index and may be one batch, between rows."""
    ipc = import_pyarrow("pyarrow.ipc", "read Arrow files")
    with _open_arrow(file) as opened:
        count = sum(batch.num_rows for batch in ipc.open_stream(opened))
    begins = range(0, count, CHUNK_ROWS)
    return [Chunk(file, "stream", at, min(at + CHUNK_ROWS, count), at) for at in begins]


@contextmanager
def _open_arrow(file: str) -> Iterator[Any]:
    """Open an Arrow file; a local file is memory-mapped."""
    pyarrow = import_pyarrow("pyarrow", "read Arrow files")
    if "://" in file:
        with open_file(file) as opened:
            yield pyarrow.PythonFile(opened, "r")
    else:
        yield pyarrow.memory_map(file)  # closed when no batch refers to it


def _begins_with(file: str, magic: bytes) -> bool:
    with open_file(file) as opened:
        return opened.read(len(magic)) == magic


def _split_lines(file: str) -> list[Chunk]:
    """Split between lines; a gzip file, which has no random access, is one chunk."""
    if _begins_with(file, GZIP):
        return [Chunk(file, "jsonl", 0, get_file_size(file), 0)]
    chunks = []
    begin = lines = counted = at = 0
    with open_file(file) as opened:
        while block := opened.read(CHUNK_BYTES):
            cut = block.rfind(b"\n") + 1
            if cut:
                counted += block.count(b"\n")
                chunks.append(Chunk(file, "jsonl", begin, at + cut, lines))
                begin, lines = at + cut, counted
            at += len(block)
    if at > begin:
        chunks.append(Chunk(file, "jsonl", begin, at, lines))
    return chunks


def read_chunk(
    chunk: Chunk, side: Side, *, caption_field: str | None = None, id_field: str | None = None
) -> Iterator[CaptionColumns]:
    """Yield the captions of a chunk; those of a gzip file block by block."""
    chosen = Chosen(id_field, caption_field)
    if chunk.kind == "jsonl":
        yield from _read_lines(chunk, side, chosen)
        return
    pyarrow = import_pyarrow("pyarrow", "read Parquet and Arrow files")
    rows = Source(chunk.file, "row", chunk.first)
    try:
        table, fields = _read_table(chunk, side, chosen, rows)
    except FormatError:
        raise
    except (pyarrow.ArrowException, OSError) as error:
        _fail_damaged(f"the rows from {chunk.first + 1} on", error, rows)
    if table.num_rows:
        yield _convert_columns(table, fields, chunk, side, chosen, rows)


def _fail_damaged(what: str, error: Exception, rows: Source) -> NoReturn:
    rows.fail(f"{what} cannot be read: {error}; the file is damaged, write or fetch it again")


def _read_table(chunk: Chunk, side: Side, chosen: Chosen, rows: Source) -> tuple[Any, Fields]:
    """Return the columns of ids and captions, and their names."""
    read = {"parquet": _read_row_groups, "arrow": _read_batches, "stream": _read_rows}[chunk.kind]

    def choose(schema: Any) -> Fields:
        fields = find_fields(describe_columns(schema), side, chosen, rows)
        for name in (fields.id, *fields.captions):
            if schema.names.count(name) > 1:
                rows.fail(
                    f"{schema.names.count(name)} columns have the name {name!r}; rename all but one"
                )
        return fields

    table, fields = read(chunk, choose, rows)
    check_texts(table, rows)
    return table, fields


def _read_row_groups(
    chunk: Chunk, choose: Callable[[Any], Fields], rows: Source
) -> tuple[Any, Fields]:
    pyarrow = import_pyarrow("pyarrow", "read Parquet files")
    parquet = import_pyarrow("pyarrow.parquet", "read Parquet files")
    tables, first = [], chunk.first
    with open_file(chunk.file) as opened:
        file = parquet.ParquetFile(opened)
        fields = choose(file.schema_arrow)
        for number in range(chunk.begin, chunk.end):
            last = first + file.metadata.row_group(number).num_rows
            try:
                columns = [fields.id, *fields.captions]
                tables.append(file.read_row_group(number, columns, use_threads=False))
            except (pyarrow.ArrowException, OSError) as error:
                what = f"row group {number + 1} (rows {first + 1} to {last})"
                _fail_damaged(what, error, rows)
            first = last
    return pyarrow.concat_tables(tables), fields


def _read_batches(
    chunk: Chunk, choose: Callable[[Any], Fields], rows: Source
) -> tuple[Any, Fields]:
    pyarrow = import_pyarrow("pyarrow", "read Arrow files")
    ipc = import_pyarrow("pyarrow.ipc", "read Arrow files")
    batches, first = [], chunk.first
    with _open_arrow(chunk.file) as opened:
        reader = ipc.open_file(opened)
        fields = choose(reader.schema)
        for number in range(chunk.begin, chunk.end):
            try:
                batches.append(reader.get_batch(number))
            except (pyarrow.ArrowException, OSError) as error:
                what = f"record batch {number + 1}, which begins with row {first + 1},"
                _fail_damaged(what, error, rows)
            first += batches[-1].num_rows
    table = pyarrow.Table.from_batches(batches, reader.schema)
    return table.select([fields.id, *fields.captions]), fields


def _read_rows(chunk: Chunk, choose: Callable[[Any], Fields], rows: Source) -> tuple[Any, Fields]:
    """Read some rows of an Arrow stream; of earlier batches, only the lengths are read."""
    pyarrow = import_pyarrow("pyarrow", "read Arrow files")
    ipc = import_pyarrow("pyarrow.ipc", "read Arrow files")
    parts, at = [], 0
    with _open_arrow(chunk.file) as opened:
        reader = ipc.open_stream(opened)
        fields = choose(reader.schema)
        for batch in reader:
            if at + batch.num_rows > chunk.begin:
                skipped = max(0, chunk.begin - at)
                parts.append(batch.slice(skipped, chunk.end - at - skipped))
            at += batch.num_rows
            if at >= chunk.end:
                break
        else:
            rows.fail(f"the file changed while it was read: {at} rows instead of {chunk.end}")
    table = pyarrow.Table.from_batches(parts, reader.schema)
    return table.select([fields.id, *fields.captions]), fields


def _convert_columns(
    table: Any, fields: Fields, chunk: Chunk, side: Side, chosen: Chosen, rows: Source
) -> CaptionColumns:
    """Return the columns of ids and captions, converted row by row where necessary."""
    pa = import_pyarrow("pyarrow", "read Parquet and Arrow files")
    ids = table.column(fields.id).combine_chunks()
    texts = None if fields.numbered else table.column(fields.captions[0]).combine_chunks()
    numbers = pa.array(np.arange(table.num_rows, dtype=np.int64) + (chunk.first + 1))
    if texts is not None and not ids.null_count and not texts.null_count:
        integer_ids = pa.types.is_integer(ids.type)
        if pa.types.is_uint64(ids.type) and side == "candidates":
            _check_sizes(ids.to_pylist(), rows)
        kind = "int" if integer_ids else "str" if _is_text(ids.type) else None
        if _is_text(texts.type) and _may_be_lists(texts):
            kind = None  # the reader of rows fails if they are
        if kind and _is_text(texts.type):
            count = len(texts)
            ends = pa.array(np.arange(count + 1, dtype=np.int32))
            lists = pa.ListArray.from_arrays(ends, texts.cast(pa.string()))
            listed = pa.array(np.zeros(count, bool))
            return CaptionColumns(ids.cast(pa.string()), lists, listed, kind, numbers)
        if kind and _is_list(texts.type) and _is_text(texts.type.value_type):
            lists = texts.cast(pa.list_(pa.string()))
            if not lists.flatten().null_count:
                listed = pa.array(np.ones(len(texts), bool))
                return CaptionColumns(ids.cast(pa.string()), lists, listed, kind, numbers)
    entries = Reader(side, None, chosen, in_chunks=True).pick(table.to_pylist(), rows)
    return _make_captions(entries, numbers.to_pylist(), rows, side)


def _is_text(kind: Any) -> bool:
    pa = import_pyarrow("pyarrow", "read Parquet and Arrow files")
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _may_be_lists(texts: Any) -> bool:
    """Return True if captions may be lists in text, which the reader of rows refuses."""
    compute = import_pyarrow("pyarrow.compute", "read Parquet and Arrow files")
    if len(texts) and str(texts[0])[:1] in ("[", "("):
        return True
    return bool(compute.any(compute.match_substring(texts, JOINED)).as_py())


def _is_list(kind: Any) -> bool:
    pa = import_pyarrow("pyarrow", "read Parquet and Arrow files")
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _read_lines(chunk: Chunk, side: Side, chosen: Chosen) -> Iterator[CaptionColumns]:
    kind: str | None = None
    for content, before in _read_blocks(chunk):
        found = _read_block(content, Source(chunk.file, "line", before), side, chosen, kind)
        if found is not None:
            kind = found.kind
            yield found


def _read_block(
    content: bytes, source: Source, side: Side, chosen: Chosen, kind: str | None
) -> CaptionColumns | None:
    if not source.first and content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        source.fail(
            "JSON lines in UTF-16 are not streamed; convert the file, for instance with: "
            "iconv -f utf-16 -t utf-8"
        )
    numbered = list(read_json_lines(decode(content, source), source.name, source.first))
    if not numbered:
        return None
    numbers = [number for number, _ in numbered]
    lines = _Lines(source.name, "line", 0, tuple(numbers))
    entries = Reader(side, None, chosen, in_chunks=True).pick(
        [record for _, record in numbered], lines
    )
    return _make_captions(entries, numbers, lines, side, kind)


def _read_blocks(chunk: Chunk) -> Iterator[tuple[bytes, int]]:
    """Yield whole lines of a chunk with the number of lines before them in the file."""
    with open_file(chunk.file) as opened:
        zipped = opened.read(len(GZIP)) == GZIP
        opened.seek(chunk.begin)
        if zipped:
            yield from _unzip_lines(opened, Source(chunk.file))
        else:
            yield opened.read(chunk.end - chunk.begin), chunk.first


def _unzip_lines(opened: IO[bytes], source: Source) -> Iterator[tuple[bytes, int]]:
    rest, lines = b"", 0
    for block in _unzip(opened, source):
        cut = block.rfind(b"\n") + 1
        if cut:
            whole, rest = rest + block[:cut], block[cut:]
            yield whole, lines
            lines += whole.count(b"\n")
        else:
            rest += block
    if rest:
        yield rest, lines


def _unzip(opened: IO[bytes], source: Source) -> Iterator[bytes]:
    file = gzip.GzipFile(fileobj=opened, mode="rb")
    while True:
        try:
            block = file.read(CHUNK_BYTES)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            source.fail(f"the gzip data is damaged or cut short ({error})")
        if not block:
            return
        yield block


@dataclass(frozen=True, slots=True)
class _Lines(Source):
    """Lines of a file with blank lines."""

    numbers: tuple[int, ...] = ()

    def place(self, index: int) -> int:
        return self.numbers[index]


def _make_captions(
    entries: Sequence[Any],
    numbers: Sequence[int],
    source: Source,
    side: Side,
    kind: str | None = None,
) -> CaptionColumns:
    """Return entries as columns; `kind` is the kind of the ids in earlier blocks."""
    pa = import_pyarrow("pyarrow", "score streams")
    kind = kind or ("int" if type(entries[0][0]) is int else "str")
    _check_kinds(entries, source, kind)
    if kind == "int" and side == "candidates":
        _check_sizes([image for image, _ in entries], source)
    captions = [[text] if isinstance(text, str) else list(text) for _, text in entries]
    ids = [str(image) for image, _ in entries]
    try:
        return CaptionColumns(
            pa.array(ids, pa.string()),
            pa.array(captions, pa.list_(pa.string())),
            pa.array([not isinstance(text, str) for _, text in entries], pa.bool_()),
            kind,
            pa.array(numbers, pa.int64()),
        )
    except UnicodeEncodeError:
        for index, texts in enumerate(zip(ids, captions, strict=True)):
            _check_text("id", texts[0], index, source)
            for text in texts[1]:
                _check_text("caption", text, index, source)
        raise


def _check_kinds(entries: Sequence[Any], source: Source, kind: str) -> None:
    expected = int if kind == "int" else str
    if {type(image) for image, _ in entries} != {expected}:
        index = next(i for i, (image, _) in enumerate(entries) if type(image) is not expected)
        source.fail(
            f"the id {entries[index][0]!r} is not {'an integer' if kind == 'int' else 'a string'}, "
            "unlike those before; use one kind of ids in all files of an input",
            index=index,
        )


def _check_sizes(ids: Sequence[int], source: Source) -> None:
    """Raise a FormatError for ids that do not fit in the column of the scores."""
    if max(ids) > MAX_ID or min(ids) < -MAX_ID - 1:
        index = next(i for i, image in enumerate(ids) if not -MAX_ID - 1 <= image <= MAX_ID)
        source.fail(
            f"the id {ids[index]} exceeds 64 bits (signed); write these ids as strings",
            index=index,
        )


def _check_text(what: str, text: str, index: int, source: Source) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        source.fail(
            f"the {what} has half of a surrogate pair, which is not a valid character: "
            f"{text!r:.60}; the text was truncated or decoded wrongly",
            index=index,
        )
