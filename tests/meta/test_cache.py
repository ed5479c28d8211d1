"""Cached results and scores: new metrics and questions compute only what is new."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cidery
from cidery import meta
from cidery.cli import main
from cidery.diversity import EncoderKernel, SelfCider
from cidery.errors import DataWarning
from cidery.meta.cache import open_cache
from support import judged as made
from support.example import Example


@pytest.fixture
def dataset(tmp_path: Path, example: Example) -> meta.Ratings:
    path = made.write_questions(tmp_path / "q.jsonl", example.references)
    found = meta.read_dataset("judgments", path)
    assert isinstance(found, meta.Ratings)
    return found


@pytest.fixture
def pairs(tmp_path: Path, example: Example) -> meta.Pairs:
    path = made.write_pairs(tmp_path / "p.jsonl", example.references)
    found = meta.read_dataset("judgments", path)
    assert isinstance(found, meta.Pairs)
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def count_words(candidate: str, references: list[str]) -> float:
    """A user's metric, whose code may change."""
    return float(len(candidate.split()) - len(references))


class Watch:
    """A progress callback that records which metrics were computed."""

    def __init__(self) -> None:
        self.scored: list[str] = []
        self.share = 1.0

    def __call__(self, step: str, share: float) -> None:
        metrics = step.removeprefix("scoring by ")
        if metrics != step and share < self.share:  # another scoring begins
            self.scored += metrics.split(", ")
        self.share = share if metrics != step else 1.0


def change_contents(folder: Path, change: Callable[[bytes], bytes]) -> None:
    """Change all cached contents."""
    with closing(sqlite3.connect(folder / "agreement-v1.sqlite")) as connection, connection:
        rows = connection.execute("SELECT key, content FROM contents").fetchall()
        connection.executemany(
            "UPDATE contents SET content = ? WHERE key = ?",
            [(change(content), key) for key, content in rows],
        )


def count_contents(folder: Path) -> int:
    with closing(sqlite3.connect(folder / "agreement-v1.sqlite")) as connection:
        (count,) = connection.execute("SELECT count(*) FROM contents").fetchone()
    return int(count)


def test_another_question_scores_nothing(dataset: meta.Ratings, folder: Path) -> None:
    watch = Watch()
    options: Any = {"cache": folder, "progress": watch, "resamples": 0}
    first = meta.evaluate(dataset, "rouge-l", **options)
    assert watch.scored == ["rouge-l"]
    second = meta.evaluate(dataset, ["rouge-l", "bleu-1"], question="recall", **options)
    assert watch.scored == ["rouge-l", "bleu-1"]
    tested = meta.evaluate(dataset, ["bleu-1", "rouge-l"], tests=True, **options)
    assert watch.scored == ["rouge-l", "bleu-1"]
    found = meta.estimate(dataset, ["bleu-1"], cache=folder, progress=watch)
    assert watch.scored == ["rouge-l", "bleu-1"]
    # The same as without a cache, to the bit.
    assert (
        second.results
        == meta.evaluate(dataset, ["rouge-l", "bleu-1"], question="recall", resamples=0).results
    )
    assert second.signatures["rouge-l"] == first.signatures["rouge-l"]
    assert list(tested.results) == ["bleu-1", "rouge-l"]
    assert found.to_dict() == meta.estimate(dataset, ["bleu-1"]).to_dict()


def test_scores_depend_on_captions_references_and_tokenizer(
    dataset: meta.Ratings, folder: Path
) -> None:
    watch = Watch()
    options: Any = {"cache": folder, "progress": watch, "resamples": 0}
    changes: list[dict[str, Any]] = [
        {},
        {"without_system": "wrong"},
        {"references": 2},
        {"references": 2, "seed": 1},
        {"concatenate": True},
        {"tokenizer": "words"},
    ]
    for number, change in enumerate(changes, start=1):
        meta.evaluate(dataset, "bleu-1", **options, **change)
        assert len(watch.scored) == number
    meta.evaluate(dataset, "bleu-1:faithful=paper", **options)
    assert len(watch.scored) == len(changes) + 1
    named = replace(dataset, judged=replace(dataset.judged, names=["x"] * 100))
    meta.evaluate(named, "bleu-1", **options)  # metrics may read the names of images
    assert len(watch.scored) == len(changes) + 2


def test_results_are_read_from_the_cache(pairs: meta.Pairs, folder: Path) -> None:
    first = meta.evaluate(pairs, "rouge-l", cache=folder)
    accuracy = f'"accuracy": {first.results["rouge-l"]["accuracy"]}'.encode()
    change_contents(folder, lambda content: content.replace(accuracy, b'"accuracy": 0.125'))
    cached = meta.evaluate(pairs, ["rouge-l", "bleu-1"], cache=folder)
    assert cached.results["rouge-l"]["accuracy"] == 0.125
    assert cached.signatures["rouge-l"] == first.signatures["rouge-l"]
    changes: list[dict[str, Any]] = [{"seed": 1}, {"references": 2}, {"tests": True}]
    for change in changes:
        again = meta.evaluate(pairs, ["rouge-l", "bleu-1"], cache=folder, **change)
        assert again.results["rouge-l"]["accuracy"] != 0.125
    fewer = meta.evaluate(pairs.take(np.arange(50)), "rouge-l", cache=folder)
    assert fewer.results["rouge-l"]["accuracy"] != 0.125
    assert meta.evaluate(pairs, "rouge-l").results == first.results


@pytest.mark.parametrize("field", ["votes", "vote_counts", "answers"])
def test_one_changed_vote_among_thousands_changes_the_key(field: str) -> None:
    """NumPy abbreviates arrays of more than 1,000 numbers where they are printed."""
    count = 3000
    captions = meta.JudgedCaptions(
        ["a dog", "a cat"], np.zeros(2, np.int64), [["a dog"]], np.zeros(1, np.int64)
    )
    arrays: dict[str, Any] = {
        "votes": {"preference": np.ones(count, np.int64)},
        "vote_counts": {"preference": np.ones((count, 2), np.int64)},
        "answers": np.ones(count, np.int64),
    }
    first, second = np.zeros(count, np.int64), np.ones(count, np.int64)
    before = meta.Pairs("made", captions, first, second, **arrays)
    same = meta.Pairs("made", captions, first.copy(), second.copy(), **arrays)
    assert before.fingerprint == same.fingerprint
    found = arrays[field]
    changed = (found["preference"] if isinstance(found, dict) else found).copy()
    changed[count // 2] += 1
    new = {"preference": changed} if isinstance(found, dict) else changed
    after = meta.Pairs("made", captions, first, second, **arrays | {field: new})
    assert before.fingerprint != after.fingerprint


def test_changed_scores_of_systems_change_the_key() -> None:
    systems = [str(number) for number in range(2000)]
    human, scores = np.arange(2000.0), np.arange(2000.0)
    before = meta.Systems("made", systems, {"M1": human}, {5: {"cider-d": scores}})
    changed = scores.copy()
    changed[1000] += 1
    after = meta.Systems("made", systems, {"M1": human}, {5: {"cider-d": changed}})
    assert before.fingerprint != after.fingerprint


@pytest.mark.parametrize(
    "change",
    [lambda content: content[:20], lambda _: b"\xff\xfe", lambda _: b"[]"],
    ids=["cut", "other", "type"],
)
def test_damaged_contents_are_computed_again(
    change: Callable[[bytes], bytes], pairs: meta.Pairs, folder: Path
) -> None:
    first = meta.evaluate(pairs, "rouge-l", cache=folder)
    change_contents(folder, change)
    assert meta.evaluate(pairs, "rouge-l", cache=folder).results == first.results


def test_a_damaged_file_is_replaced(pairs: meta.Pairs, folder: Path) -> None:
    first = meta.evaluate(pairs, "rouge-l", cache=folder)
    file = folder / "agreement-v1.sqlite"
    file.write_bytes(b"x" * 4096)
    with pytest.warns(DataWarning, match="was damaged"):
        assert meta.evaluate(pairs, "rouge-l", cache=folder).results == first.results
    assert count_contents(folder) > 0


def test_functions_are_not_cached(
    pairs: meta.Pairs, tmp_path: Path, folder: Path, example: Example
) -> None:
    """Neither metrics nor encoders nor kernels: they may change under their names."""

    def count_letters(captions: list[str]) -> Any:
        """Return the words of each caption, and a vector of each word."""
        return [
            (
                text.split(),
                np.asarray([[w.count(letter) + 1.0 for letter in "aeiou"] for w in text.split()]),
            )
            for text in captions
        ]

    sets = meta.read_dataset("judgments", made.write_sets(tmp_path / "s.jsonl", example.references))
    meta.evaluate(pairs, {"mine": count_words}, cache=folder)
    meta.evaluate(pairs, cidery.BertScore(encoder=count_letters), resamples=0, cache=folder)
    meta.evaluate(sets, SelfCider(EncoderKernel(count_letters)), cache=folder)
    assert not folder.exists()
    meta.evaluate(sets, "self-cider", cache=folder)
    assert count_contents(folder) == 1


def test_a_folder_that_cannot_be_written(pairs: meta.Pairs, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a file instead of a folder")
    with pytest.warns(DataWarning, match="nothing is cached"):
        found = meta.evaluate(pairs, "rouge-l", cache=tmp_path / "file" / "cache")
    assert found.results == meta.evaluate(pairs, "rouge-l").results


def test_data_command_lists_and_removes_the_cache(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    pairs: meta.Pairs,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("CIDERY_CACHE", str(tmp_path))
    file = tmp_path / "agreement-v1.sqlite"
    meta.evaluate(pairs, "rouge-l", cache=True)
    assert main(["data"]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "agreement" in line]
    assert line.split()[1] == "ready"
    assert main(["data", "remove", "agreement"]) == 0
    assert capsys.readouterr().out == f"removed {file}\n"
    assert not file.exists()
    assert main(["data", "build", "agreement"]) == 2
    assert "agreement is a cache" in capsys.readouterr().err


def test_open_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CIDERY_CACHE", str(tmp_path))
    users, other = (open_cache(c, meta.Settings()) for c in (True, tmp_path / "other"))
    assert users and users.disk.path == tmp_path / "agreement-v1.sqlite"
    assert other and other.disk.path == tmp_path / "other" / "agreement-v1.sqlite"
    assert open_cache(True, meta.Settings(frequencies="mine.bin")) is None
    assert open_cache(False, meta.Settings()) is None
