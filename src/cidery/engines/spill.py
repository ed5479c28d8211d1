"""Both sides of a stream, cut into partitions by the hash of the image's id.

Each piece of the inputs becomes one Arrow file with a record batch per partition, so that images
meet their references without either side being held. An image's partition, and the order of images
within it, depend on its id alone.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cidery._native import hash_texts
from cidery.captions.formats.chunks import Piece, read_piece
from cidery.captions.formats.containers import import_pyarrow
from cidery.captions.formats.fields import Side
from cidery.captions.ids import spell_integers
from cidery.store import write_atomically

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
    found = read_piece(
        task.piece, task.side, caption_field=task.caption_field, id_field=task.id_field
    )
    content: dict[str, Any] = {"rows": 0, "captions": 0, "kind": None, "spelled": True}
    if found is not None:
        _write_partitions(found, task)
        content = {
            "rows": len(found.ids),
            "captions": len(found.captions.flatten()),
            "kind": found.kind,
            "spelled": found.kind == "int" or spell_integers(found.ids.to_pylist()),
        }
    write_atomically(summary, json.dumps(content).encode())
    return content


def _write_partitions(found: Any, task: Split) -> None:
    pa = import_pyarrow("pyarrow", "score streams")
    hashes = hash_ids(found.ids)
    parts = partition_of(hashes, task.partitions)
    order = np.argsort(parts, kind="stable")
    ends = np.searchsorted(parts[order], np.arange(task.partitions + 1))
    table = pa.table(
        {
            "id": found.ids,
            "hash": hashes,
            "row": found.rows,
            "listed": found.listed,
            "captions": found.captions,
        }
    ).take(pa.array(order))
    batch = table.combine_chunks().to_batches()
    whole = batch[0] if batch else pa.RecordBatch.from_pylist([], table.schema)
    ipc = import_pyarrow("pyarrow.ipc", "score streams")
    with replacing(task.file) as temporary, ipc.new_file(str(temporary), table.schema) as writer:
        for part in range(task.partitions):
            writer.write_batch(whole.slice(ends[part], ends[part + 1] - ends[part]))


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


@dataclass
class Partition:
    """The images of one partition: references in the order of their files, candidates likewise."""

    references: dict[str, list[str]] = field(default_factory=dict)
    """In the order of the ids' hashes."""
    candidates: list[tuple[str, str]] = field(default_factory=list)
    origins: list[Row] = field(default_factory=list)
    """Of the candidates."""
    hashes: dict[str, int] = field(default_factory=dict)
    """Of the images that have references."""


def gather(splits: list[Split], number: int) -> Partition:
    """Return one partition, out of the files of all pieces."""
    found = Partition()
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for _, _, _, image, listed, captions, hashed, _ in _rows(splits, "references", number):
        found.hashes[image] = hashed
        if not listed:
            groups[image].append(captions[0])
        elif captions != groups[image]:  # files with a row per candidate repeat the references
            groups[image].extend(captions)
    found.references = dict(groups)
    for _, _, row, image, _, captions, _, piece in _rows(splits, "candidates", number):
        origin = Row(piece.file, row, piece.kind == "jsonl")
        for caption in captions:
            found.candidates.append((image, caption))
            found.origins.append(origin)
    return found


def _rows(splits: list[Split], side: Side, number: int) -> list[tuple[Any, ...]]:
    """Return the rows of one side, sorted by hash, id and place in the inputs."""
    pa = import_pyarrow("pyarrow", "score streams")
    ipc = import_pyarrow("pyarrow.ipc", "score streams")
    rows: list[tuple[Any, ...]] = []
    for place, split in enumerate(splits):
        if split.side != side or not split.file.exists():
            continue
        with pa.memory_map(str(split.file)) as opened:
            batch = ipc.open_file(opened).get_batch(number)
            columns = {name: batch.column(name).to_pylist() for name in batch.schema.names}
        rows += [
            ((hashed, image, place, row), place, row, image, listed, captions, hashed, split.piece)
            for image, hashed, row, listed, captions in zip(
                *(columns[name] for name in ("id", "hash", "row", "listed", "captions")),
                strict=True,
            )
        ]
    rows.sort(key=lambda entry: entry[0])
    return rows
