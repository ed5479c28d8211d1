"""Both sides of a stream, cut into partitions by the hash of the image's id.

Each piece of the inputs becomes one Arrow file with a record batch per partition (and again for
each block of a zipped file), so that images meet their references without either side being held.
An image's partition, and the order of images within it, depend on its id alone.
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
from cidery.files.chunks import Captions, Piece, read_piece
from cidery.files.containers import import_pyarrow
from cidery.files.fields import Side
from cidery.files.sources import collector_paused
from cidery.storage import write_atomically
from cidery.text import TextColumn

if TYPE_CHECKING:
    from numpy.typing import NDArray

LACKS = ("alone", "without", "empty")
"""What an image may lack: its references, its candidates, references in their list."""
GROUP_BITS = 14
"""Images are drawn in at most 2^14 groups, so there are no more partitions either."""


@dataclass(frozen=True)
class Split:
    """Cuts one piece of an input."""

    piece: Piece
    side: Side
    caption_field: str | None
    id_field: str | None
    partitions: int
    file: Path

    @property
    def is_done(self) -> bool:
        """Whether an earlier run did this."""
        return self.file.with_suffix(".json").exists()


def split_piece(task: Split) -> dict[str, Any]:
    """Write a piece by partition, and return what the plan must know of it."""
    summary = task.file.with_suffix(".json")
    if task.is_done:
        known: dict[str, Any] = json.loads(summary.read_text())
        return known
    blocks = read_piece(
        task.piece, task.side, caption_field=task.caption_field, id_field=task.id_field
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
def _writing(task: Split) -> Iterator[Callable[[Captions], None]]:
    """Yield what writes captions by partition into the file of a task."""
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

    def write(found: Captions) -> None:
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
    """Yield a name to write to; the file has its own name when it is complete."""
    temporary = file.with_name(f".{file.name}.{os.urandom(4).hex()}.part")
    try:
        yield temporary
        temporary.replace(file)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def hash_ids(ids: Any) -> NDArray[np.uint64]:
    """Return a number for each id of a pyarrow array of strings, the same on every machine."""
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
    """Where a caption comes from."""

    file: str
    row: int
    is_line: bool

    def __str__(self) -> str:
        return f"{self.file}, {'line' if self.is_line else 'row'} {self.row}"


@dataclass(frozen=True)
class Partition:
    """The images of one partition that have both sides, in the order of their ids' hashes.

    Where candidates are not asked for, references are enough.
    """

    images: list[str]
    references: TextColumn
    """Image by image; those of an image in the order of its files."""
    reference_offsets: NDArray[np.int64]
    candidates: TextColumn
    """Those of an image lie together, in the order of its files."""
    candidate_images: NDArray[np.int64]
    """Indexes into `images`."""
    origins: Origins
    """Where the candidates come from."""
    hashes: NDArray[np.uint64]
    """Of the images' ids."""
    lacks: Mapping[str, list[str]]
    """Images that lack a side, by `LACKS`."""

    @property
    def sizes(self) -> tuple[int, int] | None:
        """The fewest and the most references of an image."""
        counts = np.diff(self.reference_offsets)
        return (int(counts.min()), int(counts.max())) if len(counts) else None


@dataclass(frozen=True)
class Origins:
    """Where candidates come from."""

    pieces: list[Piece]
    places: NDArray[np.int64]
    """int64[candidates]: indexes into `pieces`"""
    rows: NDArray[np.int64]

    def __getitem__(self, index: int) -> Row:
        piece = self.pieces[int(self.places[index])]
        return Row(piece.file, int(self.rows[index]), piece.kind == "jsonl")


def gather(splits: list[Split], number: int, alone: bool = False) -> Partition:
    """Return one partition, out of the files of all pieces; `alone` without candidates."""
    with collector_paused():
        told = _Side.read(splits, "references", number)
        if alone:
            return _group(splits, told, None)
        said = _Side.read(splits, "candidates", number)
        places = _match(told, said)
        return _group(splits, told, said) if places is None else _join(splits, told, said, places)


def _match(told: _Side, said: _Side) -> NDArray[np.int64] | None:
    """Return the row of references of each row of candidates, where each image has just one.

    None where some image lacks a side, or its references are in several rows.
    """
    if not len(told.hashes) or not len(said.hashes):
        return None
    if not (np.diff(told.offsets).all() and np.diff(said.offsets).all()):
        return None
    if (told.hashes[1:] == told.hashes[:-1]).any():
        return None
    places = np.searchsorted(told.hashes, said.hashes)
    places[places == len(told.hashes)] = 0
    fits = np.array_equal(told.hashes[places], said.hashes)
    if not fits or not np.bincount(places, minlength=len(told.hashes)).all():
        return None
    return places if told.ids.take(places).equals(said.ids) else None


def _join(splits: list[Split], told: _Side, said: _Side, places: NDArray[np.int64]) -> Partition:
    """Return the partition as its columns are."""
    owners = np.repeat(np.arange(len(places)), np.diff(said.offsets))
    return Partition(
        told.ids.to_pylist(),
        TextColumn(told.captions),
        told.offsets,
        TextColumn(said.captions),
        places[owners],
        said.trace(splits, owners),
        told.hashes,
        {lack: [] for lack in LACKS},
    )


def _group(splits: list[Split], told: _Side, said: _Side | None) -> Partition:
    """Return the partition image by image: some have rows in several files, or lack a side."""
    pa = import_pyarrow("pyarrow", "score streams")
    groups = told.group()
    ids: list[str] = []
    if said is not None:
        owners = np.repeat(np.arange(len(said.hashes)), np.diff(said.offsets))
        ids = said.ids.take(owners).to_pylist()
    candidates = dict.fromkeys(ids)
    kept = [i for i, group in groups.items() if group and (said is None or i in candidates)]
    place = {image: number for number, image in enumerate(kept)}
    offsets = np.zeros(len(kept) + 1, np.int64)
    np.cumsum([len(groups[image]) for image in kept], out=offsets[1:])
    images = np.asarray([place.get(image, -1) for image in ids], np.int64)
    rows = np.flatnonzero(images >= 0)
    texts = pa.array([], pa.string()) if said is None else said.captions.take(rows)
    flat = [text for image in kept for text in groups[image]]
    return Partition(
        kept,
        TextColumn(pa.array(flat, pa.string())),
        offsets,
        TextColumn(texts),
        images[rows],
        told.trace(splits, rows) if said is None else said.trace(splits, owners[rows]),
        hash_words(kept),
        {
            "alone": [image for image in candidates if not groups.get(image)],
            "without": []
            if said is None
            else [image for image, group in groups.items() if group and image not in candidates],
            "empty": [image for image, group in groups.items() if not group],
        },
    )


@dataclass(frozen=True)
class _Side:
    """The rows of one side, sorted by hash, id and place in the inputs."""

    ids: Any
    """An Arrow array of strings."""
    hashes: NDArray[np.uint64]
    captions: Any
    """An Arrow array of strings."""
    offsets: NDArray[np.int64]
    """Captions of row i are captions[offsets[i] : offsets[i + 1]]."""
    listed: NDArray[np.bool_]
    places: NDArray[np.int64]
    rows: NDArray[np.int64]

    @classmethod
    def read(cls, splits: list[Split], side: Side, number: int) -> _Side:
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
        order = _part_collisions(hashes, order, table.column("id"))
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

    def trace(self, splits: list[Split], rows: NDArray[np.int64]) -> Origins:
        """Return where rows come from."""
        return Origins([split.piece for split in splits], self.places[rows], self.rows[rows])


def _read_batches(split: Split, number: int) -> Iterator[Any]:
    """Yield the batches of a partition, in the order of the piece's rows."""
    pa = import_pyarrow("pyarrow", "score streams")
    ipc = import_pyarrow("pyarrow.ipc", "score streams")
    reader = ipc.open_file(pa.memory_map(str(split.file)))
    for place in range(number, reader.num_record_batches, split.partitions):
        yield reader.get_batch(place)


def _part_collisions(
    hashes: NDArray[np.uint64], order: NDArray[np.int64], ids: Any
) -> NDArray[np.int64]:
    """Sort ids that differ and have the same hash, so that an image's rows lie together."""
    ordered = hashes[order]
    equal = np.flatnonzero(ordered[1:] == ordered[:-1])
    if not len(equal) or ids.take(order[equal]).equals(ids.take(order[equal + 1])):
        return order
    listed = ids.take(order).to_pylist()
    places = sorted(range(len(listed)), key=lambda i: (int(ordered[i]), listed[i], i))
    return order[places]
