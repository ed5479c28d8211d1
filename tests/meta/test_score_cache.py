"""Scores are kept, so that another question, test or protocol scores no caption again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cidery import meta
from support import judged as made
from support.example import Example


@pytest.fixture
def dataset(tmp_path: Path, example: Example) -> meta.Ratings:
    path = made.write_questions(tmp_path / "q.jsonl", example.references)
    found = meta.read_dataset("judgments", path)
    assert isinstance(found, meta.Ratings)
    return found


def count_words(candidate: str, references: list[str]) -> float:
    """A metric of the user's, whose code may change."""
    return float(len(candidate.split()) - len(references))


class Watch:
    """A progress callback that remembers which metrics scored."""

    def __init__(self) -> None:
        self.scored: list[str] = []

    def __call__(self, what: str, share: float) -> None:  # noqa: ARG002
        if what.startswith("scoring by "):
            self.scored += what.removeprefix("scoring by ").split(", ")


def test_another_question_scores_nothing(dataset: meta.Ratings, tmp_path: Path) -> None:
    watch = Watch()
    options = {"cache": tmp_path / "kept", "progress": watch, "resamples": 0}
    first = meta.evaluate(dataset, "rouge-l", **options)  # type: ignore[arg-type]
    assert watch.scored == ["rouge-l"]
    second = meta.evaluate(dataset, ["rouge-l", "bleu-1"], question="recall", **options)  # type: ignore[arg-type]
    assert watch.scored == ["rouge-l", "bleu-1"]
    tested = meta.evaluate(dataset, ["bleu-1", "rouge-l"], tests=True, **options)  # type: ignore[arg-type]
    assert watch.scored == ["rouge-l", "bleu-1"]
    found = meta.estimate(dataset, ["bleu-1"], cache=tmp_path / "kept", progress=watch)
    assert watch.scored == ["rouge-l", "bleu-1"]
    # The same as without anything kept, to the bit.
    assert (
        second.results
        == meta.evaluate(dataset, ["rouge-l", "bleu-1"], question="recall", resamples=0).results
    )
    assert second.signatures["rouge-l"] == first.signatures["rouge-l"]
    assert list(tested.results) == ["bleu-1", "rouge-l"]
    assert found.to_dict() == meta.estimate(dataset, ["bleu-1"]).to_dict()


def test_what_scores_depend_on(dataset: meta.Ratings, tmp_path: Path) -> None:
    """Fewer captions, other references, another tokenizer and other settings score again."""
    watch = Watch()
    options = {"cache": tmp_path / "kept", "progress": watch, "resamples": 0}
    changes = [
        {},
        {"without_system": "wrong"},
        {"references": 2},
        {"references": 2, "seed": 1},
        {"concatenate": True},
        {"tokenizer": "words"},
    ]
    for number, change in enumerate(changes, start=1):
        meta.evaluate(dataset, "bleu-1", **options, **change)  # type: ignore[arg-type]
        assert len(watch.scored) == number
    meta.evaluate(dataset, "bleu-1:faithful=paper", **options)  # type: ignore[arg-type]
    assert len(watch.scored) == len(changes) + 1
    meta.evaluate(dataset, {"mine": count_words}, **options)  # type: ignore[arg-type]
    assert len([*(tmp_path / "kept-scores").iterdir()]) == len(changes) + 1


@pytest.mark.parametrize("damage", ["cut", "empty", "other", "locked"])
def test_a_damaged_cache_counts_as_missing(
    damage: str, dataset: meta.Ratings, tmp_path: Path
) -> None:
    folder = tmp_path / "kept"
    first = meta.evaluate(dataset, "rouge-l", cache=folder, resamples=0)
    (file,) = (tmp_path / "kept-scores").iterdir()
    content = file.read_bytes()
    if damage == "other":
        np.savez(file, scores=np.zeros(3), signature=np.asarray("x"))
    elif damage == "locked":
        file.unlink()
        (tmp_path / "kept-scores").rmdir()
        (tmp_path / "kept-scores").write_text("a file where the folder should be")
    else:
        file.write_bytes(content[:50] if damage == "cut" else b"")
    again = meta.evaluate(dataset, "rouge-l", cache=folder, resamples=0, tests=True)
    assert again.results == first.results
