"""Streams: formats, what cannot be scored, and going on after a stop."""

from __future__ import annotations

import gzip
import json
import shutil
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cidery
from cidery.cli import main
from cidery.engines import count_frequencies, get_engine, streaming
from cidery.errors import (
    FormatError,
    InputError,
    MismatchError,
    MissingExtraError,
    SettingError,
)
from support.example import Example
from support.streams import (
    HERE,
    Stopping,
    check_same,
    damage_row_group,
    read_scores,
    score_here,
    score_in_memory,
    small_disk,
    write_lines,
    write_parquet,
    write_streams,
)

pytestmark = pytest.mark.filterwarnings("ignore::cidery.errors.UnreliableWarning")
METRICS = ["cider-d", "bleu-4"]


@pytest.fixture
def sides(example: Example, tmp_path: Path) -> tuple[str, str]:
    return write_streams(tmp_path, *example.many(60))


def test_two_processes(example: Example, tmp_path: Path, sides: tuple[str, str]) -> None:
    engine = get_engine("local", processes=2)
    result = score_here(tmp_path, sides, METRICS, engine=engine, partitions=8)
    check_same(result, score_in_memory(*example.many(60), METRICS))
    assert not (tmp_path / "work").exists()


@pytest.mark.parametrize("kind", ["jsonl", "gz", "arrow", "stream", "repeated"])
def test_formats(kind: str, example: Example, tmp_path: Path) -> None:
    candidates, references = example.many(30)
    rows = [{"image_id": str(i), "caption": c} for i, c in candidates.items()]
    told: list[dict[str, Any]] = [
        {"image_id": i, "caption": c} for i, group in references.items() for c in group
    ]
    said = write_lines(tmp_path / "said.jsonl", rows)
    if kind == "repeated":  # the references of an image come with each of its captions
        told = [{"image_id": i, "references": g} for i, g in references.items() for _ in range(2)]
    known = write_lines(tmp_path / "told.jsonl", told)
    if kind == "gz":
        known = tmp_path / "told.jsonl.gz"
        known.write_bytes(gzip.compress((tmp_path / "told.jsonl").read_bytes()))
    if kind in ("arrow", "stream"):
        known = tmp_path / "told.arrow"
        table = pa.Table.from_pylist(told)
        new = pa.ipc.new_file if kind == "arrow" else pa.ipc.new_stream
        with new(str(known), table.schema) as writer:
            writer.write_table(table, 11)
    result = score_here(tmp_path, (str(said), str(known)), METRICS, partitions=4)
    table = score_in_memory([(r["image_id"], r["caption"]) for r in rows], references, METRICS)
    check_same(result, table)


def test_several_candidates_and_origins(example: Example, tmp_path: Path) -> None:
    _, references = example.many(20)
    said = {i: group[:2] for i, group in references.items()}
    sides = (
        str(write_parquet(tmp_path, "candidates", "candidates", said)),
        str(write_parquet(tmp_path, "references", "references", references)),
    )
    result = score_here(tmp_path, sides, METRICS, partitions=2)
    check_same(result, score_in_memory(said, references, METRICS))
    found = read_scores(result.files)
    assert {Path(file).name for file in found["file"]} == {"0.parquet"}
    assert dict(zip(found["image_id"], found["row"], strict=True)) == {
        image: place for place, image in enumerate(said, start=1)
    }


def test_intervals_agree_and_do_not_depend_on_partitions(example: Example, tmp_path: Path) -> None:
    candidates, references = example.many(400)
    sides = write_streams(tmp_path, candidates, references)
    table = score_in_memory(candidates, references, METRICS)
    drawn = [
        score_here(tmp_path, sides, METRICS, partitions=p, captions=None).table.intervals()
        for p in (1, 8)
    ]
    assert drawn[0] == drawn[1]
    for label, exact in table.intervals().items():
        width = exact.high - exact.low
        assert abs(drawn[0][label].low - exact.low) < 0.15 * width
        assert abs(drawn[0][label].high - exact.high) < 0.15 * width


def test_grouped_bootstrap_has_the_width_of_the_exact_one() -> None:
    """100,000 images in 16,384 groups by hash, against images drawn one by one."""
    from cidery._native import hash_words
    from cidery.statistics import bootstrap_interval, sum_by_group

    rng = np.random.default_rng(0)
    values = rng.gamma(0.7, size=100_000)
    rows = np.stack([values, np.ones(len(values))], axis=1)
    groups = (hash_words([str(i) for i in range(len(rows))]) >> np.uint64(50)).astype(np.int64)
    summed = sum_by_group(rows, groups, 1 << 14)

    def pool(sums: Any) -> Any:
        return sums[..., 0] / sums[..., 1]

    exact = 2 * 1.96 * values.std() / np.sqrt(len(values))
    found = bootstrap_interval(summed[summed[:, 1] > 0], pool, resamples=4000)
    assert (found.high - found.low) / exact == pytest.approx(1, abs=0.04)


@pytest.mark.parametrize(
    ("n", "stemmer", "min_count"), [(4, None, 1), (8, None, 1), (3, "english", 2), (1, None, 1)]
)
def test_frequencies_are_the_same_file(
    n: int, stemmer: str | None, min_count: int, example: Example, tmp_path: Path
) -> None:
    _, references = example.many(150)
    given = str(write_parquet(tmp_path, "references", "references", references, files=3))
    settings: dict[str, Any] = {"n": n, "stemmer": stemmer, "min_count": min_count, "name": "x"}
    whole = cidery.DocumentFrequencies.from_references(references, **settings)
    whole.save(tmp_path / "whole.df")
    for partitions in (1, 8):
        counted = count_frequencies(
            given, **settings, engine=HERE, work=tmp_path / "work", partitions=partitions
        )
        counted.save(tmp_path / "parts.df")
        assert (tmp_path / "parts.df").read_bytes() == (tmp_path / "whole.df").read_bytes()


def test_many_shards(example: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cidery.engines.counting.SHARD_CAPTIONS", 20)
    _, references = example.many(60)
    given = str(write_parquet(tmp_path, "references", "references", references))
    counted = count_frequencies(given, engine=HERE, work=tmp_path / "work", partitions=4)
    assert counted.fingerprint == cidery.DocumentFrequencies.from_references(references).fingerprint


@pytest.mark.parametrize("step", ["_split", "count_partition", "merge_shards", "score_partition"])
def test_an_interrupted_run_goes_on(
    step: str, example: Example, tmp_path: Path, sides: tuple[str, str]
) -> None:
    with pytest.raises(KeyboardInterrupt):
        score_here(
            tmp_path,
            sides,
            METRICS,
            engine=Stopping(step, 0 if step == "merge_shards" else 1),
            partitions=4,
        )
    written = {file: file.stat().st_mtime_ns for file in (tmp_path / "scores").glob("*.parquet")}
    assert len(written) == (step == "score_partition")
    result = score_here(tmp_path, sides, METRICS, partitions=4)
    check_same(result, score_in_memory(*example.many(60), METRICS))
    assert all(file.stat().st_mtime_ns == when for file, when in written.items())


def test_a_killed_run_goes_on(example: Example, tmp_path: Path, sides: tuple[str, str]) -> None:
    script = (
        "import os, signal, sys\n"
        "from cidery.engines import streaming\n"
        "from cidery.engines import get_engine, score_stream\n"
        "write = streaming._write_sums\n"
        "def die(task, *others):\n"
        "    write(task, *others)\n"
        "    if task.number == 2: os.kill(os.getpid(), signal.SIGKILL)\n"
        "streaming._write_sums = die\n"
        "score_stream(*sys.argv[1:3], ['cider-d', 'bleu-4'], captions=sys.argv[3], "
        "work=sys.argv[4], engine=get_engine('local', processes=1), partitions=4)\n"
    )
    folders = [str(tmp_path / name) for name in ("scores", "work")]
    done = subprocess.run([sys.executable, "-c", script, *sides, *folders], check=False)
    assert done.returncode == -signal.SIGKILL
    before = {file: file.stat().st_mtime_ns for file in (tmp_path / "scores").glob("*.parquet")}
    assert len(before) == 3
    result = score_here(tmp_path, sides, METRICS, partitions=4)
    check_same(result, score_in_memory(*example.many(60), METRICS))
    assert all(file.stat().st_mtime_ns == when for file, when in before.items())


def test_changed_inputs_and_settings(tmp_path: Path, sides: tuple[str, str]) -> None:
    with pytest.raises(KeyboardInterrupt):
        score_here(tmp_path, sides, METRICS, engine=Stopping("score_partition", 0))
    with pytest.raises(InputError, match="other inputs, other settings"):
        score_here(tmp_path, sides, ["rouge-l"])
    file = Path(sides[0], "1.parquet")
    pq.write_table(pq.read_table(file).slice(1), file)
    with pytest.raises(InputError, match=r"1\.parquet changed after it started; remove"):
        score_here(tmp_path, sides, METRICS)


def test_a_folder_of_something_else(tmp_path: Path, sides: tuple[str, str]) -> None:
    with pytest.raises(SettingError, match=r"is not empty and has no manifest\.json"):
        score_here(tmp_path, sides, METRICS, work=tmp_path)


def test_metrics_in_another_order_are_another_run(tmp_path: Path, sides: tuple[str, str]) -> None:
    """BLEU-1 and BLEU-4 share their sums, which stand under the first of them."""
    with pytest.raises(KeyboardInterrupt):
        score_here(
            tmp_path,
            sides,
            ["bleu-4", "bleu-1"],
            engine=Stopping("score_partition", 2),
            partitions=4,
        )
    with pytest.raises(InputError, match="other settings"):
        score_here(tmp_path, sides, ["bleu-1", "bleu-4"], partitions=4)


def test_a_function_goes_on_in_another_process(
    example: Example, tmp_path: Path, sides: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it lies in memory does not tell whether it is the same."""
    with pytest.raises(KeyboardInterrupt):
        score_here(
            tmp_path, sides, count_words, engine=Stopping("score_partition", 1), partitions=4
        )
    elsewhere = type(count_words)(
        count_words.__code__, count_words.__globals__, count_words.__name__
    )
    monkeypatch.setattr(sys.modules[__name__], "count_words", elsewhere)
    result = score_here(tmp_path, sides, elsewhere, partitions=4)
    check_same(result, score_in_memory(*example.many(60), elsewhere))


def count_words(caption: str, references: list[str]) -> float:
    return len(caption.split()) / len(references)


def test_scores_of_another_run_do_not_stay(tmp_path: Path, sides: tuple[str, str]) -> None:
    score_here(tmp_path, sides, METRICS, partitions=4)
    with pytest.raises(InputError, match="contains scores of an earlier run; remove them, or pass"):
        score_here(tmp_path, sides, METRICS, partitions=2)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file is a file; pass a folder for the scores"):
        score_here(tmp_path, sides, METRICS, captions=tmp_path / "file")


def test_half_written_scores_are_removed(tmp_path: Path, sides: tuple[str, str]) -> None:
    with pytest.raises(KeyboardInterrupt):
        score_here(tmp_path, sides, METRICS, engine=Stopping("score_partition", 1), partitions=2)
    (tmp_path / "scores" / ".part-000001.parquet.00ff.part").write_text("half")  # by kill -9
    result = score_here(tmp_path, sides, METRICS, partitions=2)
    assert sorted((tmp_path / "scores").iterdir()) == result.files


def test_folders_in_the_inputs_folder_are_not_inputs(
    example: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    candidates, references = example.many(20)
    given = write_streams(tmp_path, candidates, references)
    monkeypatch.chdir(given[0])
    inside = {"captions": "scores", "engine": HERE}
    with pytest.raises(KeyboardInterrupt):
        cidery.score_stream(
            ".", given[1], METRICS, **inside | {"engine": Stopping("score_partition", 0)}
        )
    result = cidery.score_stream(".", given[1], METRICS, **inside)
    check_same(result, score_in_memory(candidates, references, METRICS))
    assert all(file.is_absolute() for file in result.files)
    with pytest.raises(InputError, match="earlier run"):
        cidery.score_stream(".", given[1], METRICS, **inside)


def test_paths_are_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes of a cluster work in folders of their own."""
    from cidery.engines.counting import choose_folder
    from cidery.engines.plan import Input

    write_parquet(tmp_path, "said", "caption", {1: "a dog"})
    monkeypatch.chdir(tmp_path)
    found = Input.find("said/*.parquet", "candidates")
    assert found.files == (str(tmp_path / "said" / "0.parquet"),)
    assert choose_folder("work", [found], {}) == tmp_path / "work"
    assert choose_folder(None, [found], {}).parent == tmp_path


def test_a_run_that_ends_leaves_the_next_one_alone(tmp_path: Path) -> None:
    """It begins in the same folder while the one before removes what was there."""
    from cidery.engines.plan import lock_folder

    work = tmp_path / "work"
    with lock_folder(work):
        work.rename(tmp_path / "leaving")
        work.mkdir()
        (work / "lock").write_text("")  # the next run's
    assert (work / "lock").exists()


def test_a_folder_that_is_being_removed_is_not_gone_on_with(
    example: Example, tmp_path: Path, sides: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    remove = shutil.rmtree

    def stop(path: Path, **settings: Any) -> None:
        if "removed" in str(path):
            raise KeyboardInterrupt
        remove(path, **settings)

    with monkeypatch.context() as stopped:
        stopped.setattr(shutil, "rmtree", stop)
        with pytest.raises(KeyboardInterrupt):
            score_here(tmp_path, sides, METRICS, captions=None)
    result = score_here(tmp_path, sides, METRICS)
    check_same(result, score_in_memory(*example.many(60), METRICS))


@pytest.mark.parametrize("wrong", ["4", 2.0, 3, 0, True])
def test_partitions_are_a_power_of_two(wrong: Any, tmp_path: Path, sides: tuple[str, str]) -> None:
    with pytest.raises(SettingError, match="partitions must be a power of two"):
        score_here(tmp_path, sides, METRICS, partitions=wrong)


def test_two_runs_in_one_folder(tmp_path: Path, sides: tuple[str, str]) -> None:
    from cidery.engines.plan import lock_folder

    with (
        lock_folder(tmp_path / "work"),
        pytest.raises(InputError, match="another process uses"),
    ):
        score_here(tmp_path, sides, METRICS)


def test_a_damaged_row_group_is_named(tmp_path: Path, sides: tuple[str, str]) -> None:
    damage_row_group(Path(sides[0], "0.parquet"), 2)
    with pytest.raises(FormatError, match=r"0\.parquet: row group 3 \(rows 15 to 21\) cannot"):
        score_here(tmp_path, sides, METRICS)


def test_bad_rows_are_named(tmp_path: Path, sides: tuple[str, str]) -> None:
    lines = [{"image_id": i, "caption": "a dog"} for i in range(5)]
    file = write_lines(tmp_path / "bad.jsonl", [*lines, {"image_id": 5, "caption": 7}])
    with pytest.raises(FormatError, match=r"bad\.jsonl, line 6: the caption is 7"):
        score_here(tmp_path, (str(file), sides[1]), METRICS)
    file.write_text(file.read_text() + "{\n")
    with pytest.raises(FormatError, match=r"line 7 is not JSON"):
        score_here(tmp_path, (str(file), sides[1]), METRICS, work=tmp_path / "second")
    write_lines(file, [*lines, {"image_id": "x", "caption": "a"}])
    with pytest.raises(FormatError, match=r"line 6: the id 'x' is not an integer"):
        score_here(tmp_path, (str(file), sides[1]), METRICS, work=tmp_path / "third")


@pytest.mark.parametrize("listed", [False, True])
def test_text_that_is_not_utf_8_is_named(tmp_path: Path, listed: bool) -> None:
    ids = list(range(200))
    texts = pa.array([b"a dog runs", *[b"a caf\xc3\xa9"] * 198, b"a caf\xe9"], pa.binary())
    broken = pa.StringArray.from_buffers(len(texts), *texts.buffers()[1:])
    if listed:
        broken = pa.ListArray.from_arrays(pa.array(range(201), pa.int32()), broken)
    files = [tmp_path / "broken.parquet", tmp_path / "whole.parquet"]
    pq.write_table(pa.table({"image_id": ids, "captions": broken}), files[0])
    pq.write_table(pa.table({"image_id": ids, "captions": [["a dog"]] * 200}), files[1])
    message = r"broken\.parquet, row 200: captions is not UTF-8 \(unexpected end of data: byte 6"
    with pytest.raises(FormatError, match=message):
        score_here(tmp_path, (str(files[0]), str(files[1])), METRICS)
    with pytest.raises(FormatError, match=message):
        cidery.read_references(files[0])


def refuse_dogs(candidate: str, references: list[str]) -> float:
    """Fail on one caption."""
    if candidate == "no score for this":
        raise ZeroDivisionError("a bug")
    return 1.0


def test_a_caption_that_makes_a_metric_fail_is_named(example: Example, tmp_path: Path) -> None:
    candidates, references = example.many(30)
    candidates[17] = "no score for this"
    sides = write_streams(tmp_path, candidates, references, files=1)
    with pytest.raises(InputError, match=r"0\.parquet, row 18 \(image '17'\).*a bug"):
        score_here(tmp_path, sides, [refuse_dogs], partitions=4)


def test_missing_images(example: Example, tmp_path: Path) -> None:
    candidates, references = example.many(30)
    fewer = {i: c for i, c in candidates.items() if i % 7}
    known = {i: g for i, g in references.items() if i != 3}
    sides = write_streams(tmp_path, fewer, known)
    with pytest.raises(
        MismatchError, match=r"image '3' has candidates but no references.*; 5 images have"
    ):
        score_here(tmp_path, sides, METRICS, partitions=4)
    result = score_here(
        tmp_path, sides, METRICS, partitions=4, missing="skip", work=tmp_path / "other"
    )
    check_same(result, score_in_memory(fewer, known, METRICS, missing="skip"))


def test_integers_against_names(example: Example, tmp_path: Path) -> None:
    candidates, references = example.many(5)
    named = {f"image {i}": group for i, group in references.items()}
    with pytest.raises(MismatchError, match=r"no ids match: those of .* integers"):
        score_here(tmp_path, write_streams(tmp_path, candidates, named), METRICS)


def test_what_streams_cannot_do(tmp_path: Path, sides: tuple[str, str]) -> None:
    with pytest.raises(SettingError, match="ptb-coco reads all captions as one document"):
        score_here(tmp_path, sides, METRICS, tokenizer="ptb-coco")
    with pytest.raises(SettingError, match="a power of two up to 16384, not 3"):
        score_here(tmp_path, sides, METRICS, partitions=3)
    with pytest.raises(SettingError, match="unknown engine 'spark'"):
        get_engine("spark")
    (tmp_path / "said.json").write_text("[]")
    with pytest.raises(FormatError, match="this format cannot be streamed"):
        score_here(tmp_path, (str(tmp_path / "said.json"), sides[1]), METRICS)


def test_shipped_frequencies(example: Example, tmp_path: Path, sides: tuple[str, str]) -> None:
    settings = {"frequencies": "coco-val2014"}
    result = score_here(tmp_path, sides, METRICS, partitions=2, **settings)
    check_same(result, score_in_memory(*example.many(60), METRICS, **settings))


def test_a_full_disk(example: Example, tmp_path: Path, sides: tuple[str, str]) -> None:
    """On a disk that is too small the run ends with an error; with room, it goes on."""
    work = tmp_path / "disk" / "work"
    with small_disk(work.parent) as make_room:
        with pytest.raises(OSError, match=r"[Nn]o space left"):
            score_here(tmp_path, sides, METRICS, work=work, partitions=4)
        make_room()
        result = score_here(tmp_path, sides, METRICS, work=work, partitions=4)
        check_same(result, score_in_memory(*example.many(60), METRICS))


def press_ctrl_c(task: object) -> int:
    raise KeyboardInterrupt


def test_command_line(
    tmp_path: Path,
    sides: tuple[str, str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    options = ["-m", "bleu-4", "--threads", "1", "--captions", "out", "--format", "json"]
    with monkeypatch.context() as stopped:
        stopped.setattr(streaming, "score_partition", press_ctrl_c)
        assert main(["score", *sides, *options]) == 130
    assert "rerun the same command" in capsys.readouterr().err
    assert main(["score", *sides, *options]) == 0  # folders are streams by themselves
    assert json.loads(capsys.readouterr().out)["images"] == 60
    assert list(Path("out").glob("part-*.parquet"))
    assert not list(Path().glob("cidery-work-*"))
    assert main(["score", *sides, "--by", "length"]) == 2
    assert "not supported with --stream" in capsys.readouterr().err
    assert main(["score", *sides, "--address", "auto"]) == 2
    Path("mine.toml").write_text('[mine]\nmetrics = ["bleu-2", "rouge-l"]')
    capsys.readouterr()
    preset = ["--preset", "mine.toml", "--threads", "1", "--format", "json"]
    assert main(["score", *sides, *preset]) == 0
    assert {*json.loads(capsys.readouterr().out)["scores"]} == {"bleu-2", "rouge-l"}
    for option in (["--no-stream", "--work", "w"], ["--stream", "--slices", "separate"]):
        assert main(["score", *sides, *option]) == 2
    assert main(["frequencies", "build", sides[1], "-o", "mine.df", "--threads", "1"]) == 0
    assert cidery.DocumentFrequencies.load("mine.df").image_count == 60


def test_progress_says_how_fast_and_how_long(tmp_path: Path, sides: tuple[str, str]) -> None:
    from cidery.runtime import use_progress

    told: list[str] = []
    with use_progress(lambda what, _: told.append(what)):
        score_here(tmp_path, sides, METRICS, partitions=2)
    assert any(
        what.startswith("scoring, 0:00:") and what.endswith("captions/s") for what in told
    ), told


def test_urls(tmp_path: Path, example: Example) -> None:
    fsspec = pytest.importorskip("fsspec")
    candidates, references = example.many(12)
    system = fsspec.filesystem("memory")
    for name, column, content in (
        ("c", "caption", candidates),
        ("r", "references", references),
    ):
        table = pa.table({"image_id": list(content), column: list(content.values())})
        with system.open(f"/stream/{name}/0.parquet", "wb") as file:
            pq.write_table(table, file)
    result = score_here(tmp_path, ("memory://stream/c", "memory://stream/r/*.parquet"), METRICS)
    check_same(result, score_in_memory(candidates, references, METRICS))


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("unheard-of://bucket/c.parquet", "Protocol not known: unheard-of"),
        ("memory://no-such-folder/c.parquet", "no-such-folder"),
        ("s3://bucket/c.parquet", "s3fs"),
    ],
)
def test_urls_that_cannot_be_read(tmp_path: Path, url: str, problem: str) -> None:
    pytest.importorskip("fsspec")
    if url.startswith("s3:") and find_spec("s3fs") is not None:
        pytest.skip("s3fs is installed")
    with pytest.raises((InputError, MissingExtraError), match=problem) as caught:
        score_here(tmp_path, (url, url), METRICS)
    assert str(caught.value).startswith(url.partition("://")[0])
    assert not list(tmp_path.rglob("lock")), "nothing was begun"


def test_systems_and_runs_are_compared(
    example: Example, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    candidates, references = example.many(600)  # some share a group
    flipped = dict(zip(candidates, reversed(list(candidates.values())), strict=True))
    longer = {image: f"{caption} today" for image, caption in candidates.items()}
    runs = {"one": longer, "two": candidates, "other": flipped}
    for name, captions in runs.items():
        lines = [{"image_id": i, "caption": caption} for i, caption in captions.items()]
        write_lines(tmp_path / f"{name}.jsonl", lines)
    lines = [{"image_id": i, "caption": c} for i, group in references.items() for c in group]
    write_lines(tmp_path / "references.jsonl", lines)
    command = ["compare", "references.jsonl", "ours=one.jsonl,two.jsonl", "other.jsonl"]
    command += ["-m", "cider-d", "-m", "bleu-4"]
    assert main([*command, "--stream", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    known = cidery.compare({"ours": [longer, candidates], "other": flipped}, references, METRICS)
    expected = known.to_dict()
    assert (found["scores"], found["runs"]) == (expected["scores"], expected["runs"])
    assert found["signatures"] == expected["signatures"]
    for metric in METRICS:
        [test], [other] = found["tests"][metric], expected["tests"][metric]
        assert test["difference"] == other["difference"]
        assert test["method"] == "images and runs" and test["effect"] is test["wins"] is None
        # Samples are of groups of images.
        assert test["error"] == pytest.approx(other["error"], rel=0.1)
    assert "Effect and wins are not computed for streams" in found["note"]
    assert not list(tmp_path.glob("cidery-work-*"))
    for options in (["--by", "length"], ["--why"], ["--missing", "skip"], ["--plot", "x.png"]):
        assert main([*command, "--stream", *options]) == 2
        assert "not supported with --stream" in capsys.readouterr().err
    assert main([*command, "--work", "folder"]) == 2
    assert "only valid with --stream" in capsys.readouterr().err
