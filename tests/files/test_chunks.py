"""Files read chunk by chunk: what is in the chunks, how much is held, and what damage is called."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cidery import read_candidates
from cidery.engines.partitions import SplitTask, read_partition, split_chunk
from cidery.errors import FormatError
from cidery.files import CaptionColumns, Side, chunks, read_chunk, split_file
from support.example import Example
from support.streams import check_same, damage_row_group, score_here, score_in_memory, write_lines

pytestmark = pytest.mark.filterwarnings("ignore::cidery.errors.UnreliableWarning")
ROWS = [{"image_id": i // 2, "caption": f"a dog of {i} years"} for i in range(100)]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS).encode()


def read(file: Path, side: Side = "candidates") -> list[CaptionColumns]:
    """Return the blocks of all chunks."""
    return [block for chunk in split_file(str(file)) for block in read_chunk(chunk, side)]


def flatten(blocks: list[CaptionColumns]) -> list[tuple[int, str, list[str]]]:
    return [
        row
        for block in blocks
        for row in zip(
            block.rows.to_pylist(), block.ids.to_pylist(), block.captions.to_pylist(), strict=True
        )
    ]


EXPECTED = [(n, str(row["image_id"]), [row["caption"]]) for n, row in enumerate(ROWS, start=1)]


def write_stream(file: Path, rows: int | None = None, **options: Any) -> Path:
    table = pa.Table.from_pylist(ROWS)
    with pa.ipc.new_stream(
        str(file), table.schema, options=pa.ipc.IpcWriteOptions(**options)
    ) as writer:
        writer.write_table(table, rows)
    return file


def failure(file: Path, side: Side = "candidates") -> str:
    with pytest.raises(FormatError) as caught:
        read(file, side)
    return str(caught.value)


@pytest.mark.parametrize("rows", [None, 7, 30, 100])
@pytest.mark.parametrize("compression", [None, "zstd"])
def test_arrow_streams_are_cut_between_rows(
    rows: int | None, compression: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "CHUNK_ROWS", 30)
    file = write_stream(tmp_path / "a.arrow", rows, compression=compression)
    blocks = read(file)
    assert [len(block.ids) for block in blocks] == [30, 30, 30, 10]
    assert flatten(blocks) == EXPECTED
    last = split_file(str(file))[-1]
    assert flatten(list(read_chunk(last, "candidates"))) == EXPECTED[90:], "a chunk by itself"


def test_arrow_streams_with_dictionaries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "CHUNK_ROWS", 30)
    table = pa.Table.from_pylist(ROWS)
    encoded = table.set_column(1, "caption", table.column("caption").dictionary_encode())
    with pa.ipc.new_stream(str(tmp_path / "a.arrow"), encoded.schema) as writer:
        writer.write_table(encoded, 7)
    assert flatten(read(tmp_path / "a.arrow")) == EXPECTED


@pytest.mark.parametrize("rows", [None, 1000])
def test_arrow_streams_are_not_held(
    rows: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arrow allocates less than the file's 13 MB, of one batch or many."""
    monkeypatch.setattr(chunks, "CHUNK_ROWS", 2000)
    table = pa.table({"image_id": range(100_000), "caption": ["a dog " * 20] * 100_000})
    with pa.ipc.new_stream(str(tmp_path / "a.arrow"), table.schema) as writer:
        writer.write_table(table, rows)
    pool, before = pa.proxy_memory_pool(pa.default_memory_pool()), pa.default_memory_pool()
    pa.set_memory_pool(pool)
    try:
        found = split_file(str(tmp_path / "a.arrow"))
        read_rows = [len(block.ids) for chunk in found for block in read_chunk(chunk, "references")]
    finally:
        pa.set_memory_pool(before)
    assert read_rows == [2000] * 50
    assert pool.max_memory() < 2_000_000


def test_an_arrow_stream_that_is_cut_short(tmp_path: Path) -> None:
    file = write_stream(tmp_path / "a.arrow", 7)
    file.write_bytes(file.read_bytes()[:-300])
    assert failure(file).startswith(f"{file}: not a complete Arrow file: ")


def test_an_arrow_stream_that_is_changed_meanwhile(tmp_path: Path) -> None:
    file = write_stream(tmp_path / "a.arrow", 7)
    [chunk] = split_file(str(file))
    with pa.ipc.new_stream(str(file), pa.Table.from_pylist(ROWS).schema) as writer:
        writer.write_table(pa.Table.from_pylist(ROWS[:30]))
    with pytest.raises(FormatError, match=r"a\.arrow: .* 30 rows instead of 100"):
        list(read_chunk(chunk, "candidates"))


def test_arrow_streams_by_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fsspec = pytest.importorskip("fsspec")
    monkeypatch.setattr(chunks, "CHUNK_ROWS", 30)
    content = write_stream(tmp_path / "a.arrow", 7).read_bytes()
    fsspec.filesystem("memory").pipe({"/chunks/a.arrow": content, "/chunks/a.jsonl": LINES})
    for name in ("a.arrow", "a.jsonl"):
        found = split_file(f"memory://chunks/{name}")
        blocks = [block for chunk in found for block in read_chunk(chunk, "candidates")]
        assert flatten(blocks) == EXPECTED


@pytest.mark.parametrize("name", ["a.jsonl.gz", "A.JSONL.GZ", "a.jsonl"])
def test_zipped_lines_are_read_block_by_block(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 1000)
    file = tmp_path / name
    file.write_bytes(gzip.compress(LINES[:2000]) + gzip.compress(LINES[2000:]))  # two members
    assert len(split_file(str(file))) == 1
    blocks = read(file)
    assert len(blocks) == -(-len(LINES) // 1000)
    assert flatten(blocks) == EXPECTED
    assert read_candidates(file) == [(row["image_id"], row["caption"]) for row in ROWS]


@pytest.mark.parametrize("size", [1, 10, 1000])
def test_zipped_lines_longer_than_a_block(
    size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "CHUNK_BYTES", size)
    file = tmp_path / "a.jsonl.gz"
    file.write_bytes(gzip.compress(LINES.replace(b"\n", b"\n\n").removesuffix(b"\n\n")))
    found = flatten(read(file))
    assert [row[1:] for row in found] == [row[1:] for row in EXPECTED]
    assert [row[0] for row in found] == list(range(1, 200, 2)), "blank lines are counted"


def test_zipped_blocks_come_before_the_rest_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 1000)
    file = tmp_path / "a.jsonl.gz"
    file.write_bytes(gzip.compress(LINES)[:-20])
    blocks = read_chunk(split_file(str(file))[0], "candidates")
    first = flatten([next(blocks)])
    assert first == EXPECTED[: len(first)]
    with pytest.raises(FormatError, match="damaged or cut short"):
        list(blocks)


def test_a_file_that_is_only_called_zipped(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(LINES)
    assert flatten(read(tmp_path / "a.jsonl.gz")) == EXPECTED


def test_zipped_blocks_have_the_scores_of_memory(
    example: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 500)
    monkeypatch.setattr(chunks, "CHUNK_ROWS", 7)
    candidates, references = example.many(40)
    said = pa.table({"image_id": list(candidates), "caption": list(candidates.values())})
    with pa.ipc.new_stream(str(tmp_path / "said.arrow"), said.schema) as writer:
        writer.write_table(said, 5)
    told = [{"image_id": i, "caption": c} for i, group in references.items() for c in group]
    plain = write_lines(tmp_path / "told.jsonl", told)
    (tmp_path / "told.jsonl.gz").write_bytes(gzip.compress(plain.read_bytes()))
    sides = (str(tmp_path / "said.arrow"), str(tmp_path / "told.jsonl.gz"))
    result = score_here(tmp_path, sides, ["cider-d", "bleu-4"], partitions=4)
    check_same(result, score_in_memory(candidates, references, ["cider-d", "bleu-4"]))


def test_splitting_blocks_again_gives_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 1000)
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(LINES))
    [chunk] = split_file(str(tmp_path / "a.jsonl.gz"))
    split = SplitTask(chunk, "references", None, None, 4, tmp_path / "a.arrow")
    told = split_chunk(split)
    assert told == {"rows": 100, "captions": 100, "kind": "int", "spelled": True}
    assert split.is_done
    written = split.file.read_bytes()
    split.file.with_suffix(".json").unlink()
    assert split_chunk(split) == told
    assert split.file.read_bytes() == written
    parts = [read_partition([split], number, references_only=True) for number in range(4)]
    assert sorted(int(image) for part in parts for image in part.images) == list(range(50))
    assert sum(len(part.references) for part in parts) == 100


def cut_short(content: bytes) -> bytes:
    return content[:-20]


def spoil_sum(content: bytes) -> bytes:
    return content[:-8] + bytes(4) + content[-4:]


def spoil_middle(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + b"\xff" * 20 + content[middle + 20 :]


@pytest.mark.parametrize("damage", [cut_short, spoil_sum, spoil_middle])
def test_damaged_gzip_is_named(damage: Callable[[bytes], bytes], tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl.gz"
    file.write_bytes(damage(gzip.compress(LINES)))
    assert failure(file).startswith(f"{file}: the gzip data is damaged or cut short (")


def test_ids_of_another_kind_in_a_later_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "CHUNK_BYTES", len(LINES))
    file = tmp_path / "a.jsonl.gz"
    file.write_bytes(gzip.compress(LINES + b'{"image_id": "x", "caption": "a cat"}\n'))
    assert f"{file}, line 101: the id 'x' is not an integer, unlike those before" in failure(file)


@pytest.mark.parametrize("zipped", [False, True])
def test_bytes_that_are_not_utf_8_in_a_later_piece(
    zipped: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 1000)
    content = LINES + '{"image_id": 7, "caption": "café"}\n'.encode("latin-1")
    file = tmp_path / "a.jsonl"
    file.write_bytes(gzip.compress(content) if zipped else content)
    assert f"{file}: byte 0xe9 in line 101 is not UTF-8; convert the file" in failure(file)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_lines_in_utf_16(encoding: str, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(("\ufeff" + LINES.decode()).encode(encoding))
    assert "JSON lines in UTF-16 are not streamed; convert" in failure(tmp_path / "a.jsonl")


@pytest.mark.parametrize("image", [1 << 63, 10**30, -(1 << 63) - 1])
def test_ids_of_candidates_that_do_not_fit(image: int, tmp_path: Path) -> None:
    rows = [{"image_id": i, "caption": "a dog"} for i in (5, (1 << 63) - 1, image)]
    file = write_lines(tmp_path / "a.jsonl", rows)
    message = f"line 3: the id {image} exceeds 64 bits (signed)"
    assert f"{file}, {message}" in failure(file)
    assert [row[1] for row in flatten(read(file, "references"))][2] == str(image), "not written"
    assert len(flatten(read(write_lines(file, rows[:2])))) == 2


@pytest.mark.parametrize("column", ["caption", "caption_1"])
def test_unsigned_ids_of_candidates_that_do_not_fit(column: str, tmp_path: Path) -> None:
    ids = pa.array([5, (1 << 63) - 1, 1 << 63], pa.uint64())
    table = pa.table({"image_id": ids, column: ["a dog"] * 3})
    file = tmp_path / "a.parquet"
    pq.write_table(table, file)
    assert f"{file}, row 3: the id 9223372036854775808 exceeds 64 bits" in failure(file)
    assert len(flatten(read(file, "references"))) == 3
    pq.write_table(table.slice(0, 2), file)
    assert len(flatten(read(file))) == 2


@pytest.mark.parametrize(
    ("what", "row"),
    [
        ("caption", {"image_id": "7", "caption": "a \ud83d dog"}),
        ("caption", {"image_id": "7", "caption": ["a dog", "a \ud83d dog"]}),
        ("id", {"image_id": "\ud83d", "caption": "a dog"}),
    ],
)
def test_half_a_surrogate_pair_is_named(what: str, row: dict[str, Any], tmp_path: Path) -> None:
    file = write_lines(tmp_path / "a.jsonl", [{"image_id": "6", "caption": "a dog"}, row])
    assert f"{file}, line 2: the {what} has half of a surrogate pair" in failure(file)


@pytest.mark.parametrize("kind", ["parquet", "arrow", "stream"])
@pytest.mark.parametrize("twice", ["caption", "image_id"])
def test_two_columns_of_one_name(kind: str, twice: str, tmp_path: Path) -> None:
    arrays = [pa.array(["1"]), pa.array(["a dog"]), pa.array(["a cat"])]
    table = pa.Table.from_arrays(arrays, ["image_id", "caption", twice])
    file = tmp_path / f"a.{'parquet' if kind == 'parquet' else 'arrow'}"
    if kind == "parquet":
        pq.write_table(table, file)
    else:
        new = pa.ipc.new_file if kind == "arrow" else pa.ipc.new_stream
        with new(str(file), table.schema) as writer:
            writer.write_table(table)
    assert f"{file}: 2 columns have the name {twice!r}; rename all but one" in failure(file)


def test_the_row_group_that_is_damaged_is_named(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    pq.write_table(pa.Table.from_pylist(ROWS), file, row_group_size=9)
    assert flatten(read(file)) == EXPECTED
    damage_row_group(file, 9)
    assert f"{file}: row group 10 (rows 82 to 90) cannot be read: " in failure(file)
    damage_row_group(file, 11)
    assert f"{file}: row group 10 (rows 82 to 90) cannot be read: " in failure(file)


def test_the_record_batch_that_is_damaged_is_named(tmp_path: Path) -> None:
    table = pa.Table.from_pylist(ROWS)
    file = tmp_path / "a.arrow"
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_file(str(file), table.schema, options=options) as writer:
        writer.write_table(table, 40)
    found = split_file(str(file))
    content = file.read_bytes()
    frames = [at for at in range(len(content)) if content.startswith(b"\x28\xb5\x2f\xfd", at)]
    file.write_bytes(content[: frames[-1]] + bytes(4) + content[frames[-1] + 4 :])
    with pytest.raises(FormatError, match=r"record batch 3, which begins with row 81, cannot be"):
        list(read_chunk(found[0], "candidates"))
