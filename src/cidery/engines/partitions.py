"""Partitions: candidates and references of a stream, split by the hash of the image id.

Each chunk of the inputs becomes one Arrow file with a record batch per partition (and again for
each block of a gzip file), so that neither side has to fit in memory. An image's partition, and the
order of images within it, depend on its id alone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cidery._native import hash_texts, hash_words
from cidery.corpus import spell_integers
from cidery.files import CaptionColumns, Chunk, Side, collector_paused, import_pyarrow, read_chunk
from cidery.storage import write_atomically
from cidery.text import TextColumn

if TYPE_CHECKING:
    from numpy.typing import NDArray

UNMATCHED = ("no_references", "no_candidates", "empty_references")
"""Reasons why an image cannot be scored."""
GROUP_BITS = 14
"""The bootstrap draws at most 2^14 groups of images, the maximum number of partitions."""


@dataclass(frozen=True)
class SplitTask:
    """Task: split one chunk of an input by partition."""

    chunk: Chunk
    side: Side
    caption_field: str | None
    id_field: str | None
    partitions: int
    file: Path

    @property
    def is_done(self) -> bool:
        """True if an earlier run did this task."""
        return self.file.with_suffix(".json").exists()


def split_chunk(task: SplitTask) -> dict[str, Any]:
    """Write a chunk by partition; return its numbers of rows and captions and its kind of ids."""
    summary = task.file.with_suffix(".json")
    if task.is_done:
        known: dict[str, Any] = json.loads(summary.read_text())
        return known
    blocks = read_chunk(
        task.chunk, task.side, caption_field=task.caption_field, id_field=task.id_field
    )
    content: dict[str, Any] = {"rows": 0, "captions": 0, "kind": None, "spelled": True}
    with _writing(task) as write:
        for found in blocks:
            write(found)
            content["rows"] += len(found.ids)
            content["captions"] += len(found.captions.flatten())
            content["kind"] = found.kind
            content["spelled"] &= found.kind == "int" or spell_integers(found.ids.to_pylist())
    write_atomically(summary, json.dumps(content).encode())
    return content


@contextmanager
def _writing(task: SplitTask) -> Iterator[Callable[[CaptionColumns], None]]:
    """Yield a function that writes captions by partition into the file of a task."""
    pa = import_pyarrow("pyarrow", "score streams")
    ipc = import_pyarrow("pyarrow.ipc", "score streams")
    schema = pa.schema(
        {
            "id": pa.string(),
            "hash": pa.uint64(),
            "row": pa.int64(),
            "listed": pa.bool_(),
            "captions": pa.list_(pa.string()),
        }
    )

    def write(found: CaptionColumns) -> None:
        hashes = hash_ids(found.ids)
        # There are at most 2^14: NumPy sorts numbers of 16 bits by counting them.
        parts = partition_of(hashes, task.partitions).astype(np.uint16)
        order = np.argsort(parts, kind="stable")
        ends = np.searchsorted(parts[order], np.arange(task.partitions + 1))
        columns = [found.ids, pa.array(hashes), found.rows, found.listed, found.captions]
        table = pa.Table.from_arrays(columns, schema=schema).take(pa.array(order))
        whole = table.combine_chunks().to_batches()[0]
        for part in range(task.partitions):
            writer.write_batch(whole.slice(ends[part], ends[part + 1] - ends[part]))

    with replacing(task.file) as temporary, ipc.new_file(str(temporary), schema) as writer:
        yield write


@contextmanager
def replacing(file: Path) -> Iterator[Path]:
    """Yield a temporary path; it gets the name of the file when it is complete."""
    temporary = file.with_name(f".{file.name}.{os.urandom(4).hex()}.part")
    try:
        yield temporary
        temporary.replace(file)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def hash_ids(ids: Any) -> NDArray[np.uint64]:
    """Return the hash of each id of a pyarrow array of strings, the same on every machine."""
    _, offsets, content = ids.buffers()
    ends = np.frombuffer(offsets, np.int32, len(ids) + 1, ids.offset * 4).astype(np.int64)
    if content is None:
        return hash_texts(np.empty(0, np.uint8), ends)
    return hash_texts(np.frombuffer(content, np.uint8), ends)


def partition_of(hashes: NDArray[np.uint64], partitions: int) -> NDArray[np.uint64]:
    """Return the partition of each hash: its highest bits; `partitions` is a power of two."""
    bits = partitions.bit_length() - 1
    return hashes >> np.uint64(64 - bits) if bits else np.zeros_like(hashes)


@dataclass(frozen=True)
class Row:
    """File and row of a caption."""

    file: str
    row: int
    is_line: bool

    def __str__(self) -> str:
        return f"{self.file}, {'line' if self.is_line else 'row'} {self.row}"


@dataclass(frozen=True)
class Partition:
    """Images of one partition with candidates and references, in the order of their ids' hashes."""

    images: list[str]
    references: TextColumn
    """Image by image, in the order of the files."""
    reference_offsets: NDArray[np.int64]
    candidates: TextColumn
    """Image by image, in the order of the files."""
    candidate_images: NDArray[np.int64]
    """Indexes into `images`."""
    origins: Origins
    """Files and rows of the candidates."""
    hashes: NDArray[np.uint64]
    """Hashes of the image ids."""
    unmatched_ids: Mapping[str, list[str]]
    """Ids of images that cannot be scored, by `UNMATCHED`."""

    @property
    def sizes(self) -> tuple[int, int] | None:
        """Smallest and largest number of references of an image."""
        counts = np.diff(self.reference_offsets)
        return (int(counts.min()), int(counts.max())) if len(counts) else None


@dataclass(frozen=True)
class Origins:
    """Files and rows of candidates."""

    chunks: list[Chunk]
    places: NDArray[np.int64]
    """int64[candidates]: indexes into `chunks`"""
    rows: NDArray[np.int64]

    def __getitem__(self, index: int) -> Row:
        chunk = self.chunks[int(self.places[index])]
        return Row(chunk.file, int(self.rows[index]), chunk.kind == "jsonl")


def read_partition(
    splits: list[SplitTask], number: int, references_only: bool = False
) -> Partition:
    """Read one partition from the files of all chunks."""
    with collector_paused():
        references = _Rows.read(splits, "references", number)
        if references_only:
            return _group(splits, references, None)
        candidates = _Rows.read(splits, "candidates", number)
        places = _match(references, candidates)
        if places is None:
            return _group(splits, references, candidates)
        return _join(splits, references, candidates, places)


def _match(references: _Rows, candidates: _Rows) -> NDArray[np.int64] | None:
    """Return the row of references of each row of candidates.

    None if an image has references in several rows, or cannot be scored.
    """
    if not len(references.hashes) or not len(candidates.hashes):
        return None
    if not (np.diff(references.offsets).all() and np.diff(candidates.offsets).all()):
        return None
    if (references.hashes[1:] == references.hashes[:-1]).any():
        return None
    places = np.searchsorted(references.hashes, candidates.hashes)
    places[places == len(references.hashes)] = 0
    fits = np.array_equal(references.hashes[places], candidates.hashes)
    if not fits or not np.bincount(places, minlength=len(references.hashes)).all():
        return None
    return places if references.ids.take(places).equals(candidates.ids) else None


def _join(
    splits: list[SplitTask], references: _Rows, candidates: _Rows, places: NDArray[np.int64]
) -> Partition:
    """Return the partition without regrouping: each image has one row of references."""
    owners = np.repeat(np.arange(len(places)), np.diff(candidates.offsets))
    return Partition(
        references.ids.to_pylist(),
        TextColumn(references.captions),
        references.offsets,
        TextColumn(candidates.captions),
        places[owners],
        candidates.trace(splits, owners),
        references.hashes,
        {reason: [] for reason in UNMATCHED},
    )


def _group(splits: list[SplitTask], references: _Rows, candidates: _Rows | None) -> Partition:
    """Return the partition regrouped by image."""
    pa = import_pyarrow("pyarrow", "score streams")
    groups = references.group()
    ids: list[str] = []
    if candidates is not None:
        owners = np.repeat(np.arange(len(candidates.hashes)), np.diff(candidates.offsets))
        ids = candidates.ids.take(owners).to_pylist()
    described = dict.fromkeys(ids)
    matched = [i for i, group in groups.items() if group and (candidates is None or i in described)]
    place = {image: number for number, image in enumerate(matched)}
    offsets = np.zeros(len(matched) + 1, np.int64)
    np.cumsum([len(groups[image]) for image in matched], out=offsets[1:])
    images = np.asarray([place.get(image, -1) for image in ids], np.int64)
    rows = np.flatnonzero(images >= 0)
    texts = pa.array([], pa.string()) if candidates is None else candidates.captions.take(rows)
    if candidates is None:
        origins = references.trace(splits, rows)
    else:
        origins = candidates.trace(splits, owners[rows])
    flat = [text for image in matched for text in groups[image]]
    return Partition(
        matched,
        TextColumn(pa.array(flat, pa.string())),
        offsets,
        TextColumn(texts),
        images[rows],
        origins,
        hash_words(matched),
        {
            "no_references": [image for image in described if not groups.get(image)],
            "no_candidates": []
            if candidates is None
            else [image for image, group in groups.items() if group and image not in described],
            "empty_references": [image for image, group in groups.items() if not group],
        },
    )


@dataclass(frozen=True)
class _Rows:
    """Rows of candidates or references, sorted by hash, id and position in the inputs."""

    ids: Any
    """Arrow array of strings."""
    hashes: NDArray[np.uint64]
    captions: Any
    """Arrow array of strings."""
    offsets: NDArray[np.int64]
    """CaptionColumns of row i are captions[offsets[i] : offsets[i + 1]]."""
    listed: NDArray[np.bool_]
    places: NDArray[np.int64]
    rows: NDArray[np.int64]

    @classmethod
    def read(cls, splits: list[SplitTask], side: Side, number: int) -> _Rows:
        pa = import_pyarrow("pyarrow", "score streams")
        batches, places = [], []
        for place, split in enumerate(splits):
            if split.side == side and split.file.exists():
                for batch in _read_batches(split, number):
                    batches.append(batch)
                    places.append(np.full(batch.num_rows, place))
        if not batches:
            nothing, texts = np.empty(0, np.int64), pa.array([], pa.string())
            hashes, listed = nothing.astype(np.uint64), nothing.astype(bool)
            return cls(texts, hashes, texts, np.zeros(1, np.int64), listed, nothing, nothing)
        table = pa.Table.from_batches(batches).combine_chunks()
        hashes = table.column("hash").to_numpy()
        order = np.argsort(hashes, kind="stable")  # rows are in the order of the inputs
        order = _separate_collisions(hashes, order, table.column("id"))
        taken = table.take(pa.array(order))
        captions = taken.column("captions").combine_chunks()
        lengths = captions.value_lengths().to_numpy(zero_copy_only=False)
        offsets = np.zeros(len(order) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        return cls(
            taken.column("id").combine_chunks(),
            hashes[order],
            captions.flatten(),
            offsets,
            taken.column("listed").to_numpy(),
            np.concatenate(places)[order],
            taken.column("row").to_numpy(),
        )

    def group(self) -> dict[str, list[str]]:
        """Return the captions by id, as `read_references` does."""
        ends, texts = self.offsets.tolist(), self.captions.to_pylist()
        groups: dict[str, list[str]] = {}
        for i, image in enumerate(self.ids.to_pylist()):
            captions = texts[ends[i] : ends[i + 1]]
            known = groups.setdefault(image, [])
            # Files with a row per candidate repeat the references.
            if not self.listed[i] or captions != known:
                known += captions
        return groups

    def trace(self, splits: list[SplitTask], rows: NDArray[np.int64]) -> Origins:
        """Return the files and rows of some rows."""
        return Origins([split.chunk for split in splits], self.places[rows], self.rows[rows])


def _read_batches(split: SplitTask, number: int) -> Iterator[Any]:
    """Yield the record batches of a partition, in the order of the chunk's rows."""
    pa = import_pyarrow("pyarrow", "score streams")
    ipc = import_pyarrow("pyarrow.ipc", "score streams")
    reader = ipc.open_file(pa.memory_map(str(split.file)))
    for place in range(number, reader.num_record_batches, split.partitions):
        yield reader.get_batch(place)


def _separate_collisions(
    hashes: NDArray[np.uint64], order: NDArray[np.int64], ids: Any
) -> NDArray[np.int64]:
    """Sort different ids with the same hash, so that the rows of an image are adjacent."""
    ordered = hashes[order]
    equal = np.flatnonzero(ordered[1:] == ordered[:-1])
    if not len(equal) or ids.take(order[equal]).equals(ids.take(order[equal + 1])):
        return order
    listed = ids.take(order).to_pylist()
    places = sorted(range(len(listed)), key=lambda i: (int(ordered[i]), listed[i], i))
    return order[places]
