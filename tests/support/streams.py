"""Captions written as streams, and their results."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cidery
from cidery.engines import Engine, Pool, StreamResult, get_engine, score_stream
from cidery.engines.local import LocalPool
from cidery.scoring.score_table import ScoreTable

HERE = get_engine("local", processes=1)
"""This process alone."""


def write_parquet(
    folder: Path, side: str, column: str, captions: Mapping[Any, Any], files: int = 1, rows: int = 7
) -> Path:
    """Write captions by id into a folder of so many files."""
    (folder / side).mkdir(parents=True, exist_ok=True)
    items = list(captions.items())
    for number in range(files):
        part = items[number::files]
        table = pa.table(
            {"image_id": [image for image, _ in part], column: [value for _, value in part]}
        )
        pq.write_table(table, folder / side / f"{number}.parquet", row_group_size=rows)
    return folder / side


def write_streams(
    folder: Path, candidates: Mapping[Any, Any], references: Mapping[Any, Any], files: int = 2
) -> tuple[str, str]:
    """Write both sides, and return what `score_stream` takes."""
    return (
        str(write_parquet(folder, "candidates", "caption", candidates, files)),
        str(write_parquet(folder, "references", "references", references, files + 1)),
    )


def damage_row_group(file: Path, number: int) -> None:
    """Overwrite the captions of a row group."""
    group = pq.read_metadata(file).row_group(number).column(1)
    content = bytearray(file.read_bytes())
    start = group.dictionary_page_offset or group.data_page_offset
    content[start : start + group.total_compressed_size] = bytes(group.total_compressed_size)
    file.write_bytes(content)


@contextmanager
def small_disk(folder: Path) -> Iterator[Callable[[], None]]:
    """Make a folder a disk of 200 kB; yield what makes it larger."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("file systems cannot be mounted here")
    try:
        larger = ["mount", "-o", "remount,size=50m", str(folder)]
        yield lambda: subprocess.run(larger, check=True) and None
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def score_here(folder: Path, sides: tuple[str, str], metrics: Any, **settings: Any) -> StreamResult:
    """Score a stream in this process, in folders of its own."""
    given = {"engine": HERE, "work": folder / "work", "captions": folder / "scores"}
    return score_stream(*sides, metrics, **given | settings)


def check_same(result: StreamResult, table: ScoreTable) -> None:
    """Assert that a stream has the bits of `score`, each caption once."""
    assert dict(result.table.corpus) == dict(table.corpus)
    assert dict(result.table.signatures) == dict(table.signatures)
    assert (result.table.image_count, result.captions) == (table.image_count, len(table.ids))
    columns = read_scores(result.files)
    rows = sorted(zip(*([columns["image_id"]] + [columns[k] for k in table.each]), strict=True))
    known = zip(table.ids, *(values.tolist() for values in table.each.values()), strict=True)
    assert rows == sorted(known)


def read_scores(files: Sequence[Path]) -> dict[str, list[Any]]:
    """Return the rows of all partitions."""
    return pa.concat_tables([pq.read_table(file) for file in files]).to_pydict()


class Stopping(Engine):
    """Stops, as Ctrl-C does, when so many tasks of a step are done; counts what it ran."""

    workers = 1

    def __init__(self, function: str, after: int) -> None:
        self.function, self.after = function, after
        self.ran: list[str] = []

    def map(self, function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Any]:
        for number, task in enumerate(tasks):
            if function.__name__ == self.function and number == self.after:
                raise KeyboardInterrupt
            self.ran.append(function.__name__)
            yield function(task)

    def open_pool(self, function: Callable[..., Any], size: int = 0) -> Pool:  # noqa: ARG002
        return LocalPool(function)


def write_lines(path: Path, records: Sequence[Any]) -> Path:
    """Write JSON lines."""
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def score_in_memory(candidates: Any, references: Any, metrics: Any, **settings: Any) -> ScoreTable:
    """Return what `score` says."""
    return cidery.score(candidates, references, metrics, threads=1, **settings)
