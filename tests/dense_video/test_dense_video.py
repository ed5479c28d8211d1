"""Captioned events: thresholds, SODA-c and paragraphs, worked out by hand; readers."""

from __future__ import annotations

import json
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cidery
from cidery.dense_video import match_in_order, measure_tiou, score_dense_video
from cidery.errors import (
    DataWarning,
    FormatError,
    InputError,
    MissingExtraError,
    SettingError,
    UnreliableWarning,
)
from cidery.files import Event, read_events

CANDIDATES = {"v": [Event(0, 10, "a dog runs"), Event(20, 30, "a cat sits")]}
REFERENCES = {
    "v": [Event(0, 10, "a dog runs"), Event(20, 38, "two birds fly")],
    "w": [Event(0, 5, "it rains")],
}


def test_overlap_in_time() -> None:
    assert measure_tiou(Event(0, 10, ""), Event(5, 15, "")) == pytest.approx(1 / 3)
    assert measure_tiou(Event(0, 10, ""), Event(10, 15, "")) == 0
    assert measure_tiou(Event(3, 3, ""), Event(3, 3, "")) == 0
    # As in ActivityNet's evaluator, an overlap of exactly a half is a little less.
    assert measure_tiou(Event(20, 30, ""), Event(20, 40, "")) < 0.5


def test_scores_by_hand() -> None:
    table = score_dense_video(CANDIDATES, REFERENCES, ["bleu-1", "cider-d"], soda=False)
    # Video v: 3 of 6 words match, whatever the second caption is paired with; video w: nothing.
    assert table.scores["bleu-1"] == pytest.approx((0.25,) * 4)
    # Two pairs with their own frequencies: 10 for each of n = 1, 2, 3, as three words have no
    # 4-grams, so 7.5 for the same words, and 0 for others; video w: nothing.
    assert table.scores["cider-d"] == pytest.approx((7.5 / 2 / 2,) * 4)
    assert table.videos == 2


def test_a_caption_meets_every_event_that_it_overlaps() -> None:
    candidates = {"v": [Event(0, 10, "a dog runs")]}
    references = {"v": [Event(0, 10, "a dog runs"), Event(0, 12, "two birds fly")]}
    table = score_dense_video(candidates, references, ["bleu-1"], soda=False, tious=[0.8, 0.9])
    assert table.scores["bleu-1"] == pytest.approx((0.5, 1.0))  # 10/12 is between the two
    sets = [references, references]
    both = score_dense_video(candidates, sets, ["bleu-1"], soda=False, tious=[0.8, 0.9])
    assert both.scores["bleu-1"] == pytest.approx(table.scores["bleu-1"])
    assert table.means == pytest.approx({"bleu-1": 0.75})


def test_too_short_captions_of_unmatched_events() -> None:
    # Unmatched, its reference is one word: no brevity penalty, and no match.
    candidates = {"v": [Event(50, 60, "a dog")]}
    table = score_dense_video(candidates, REFERENCES, ["bleu-1"], soda=False, tious=[0.3])
    assert table.scores["bleu-1"] == pytest.approx((0.0,), abs=1e-12)  # BLEU adds a trace


def test_soda(meteor_data: Path) -> None:
    table = score_dense_video(CANDIDATES, REFERENCES, ["bleu-1"])
    meteor = cidery.score({"a": "a dog runs"}, {"a": ["a dog runs"]}, "meteor").corpus["meteor"]
    # One of two captions, one of two events; video w has no captions.
    assert table.soda == pytest.approx(
        {"precision": meteor / 4, "recall": meteor / 4, "f": meteor / 4}
    )
    more = {"v": [*CANDIDATES["v"], Event(0, 10, "a dog runs"), Event(40, 41, "x")]}
    found = score_dense_video(more, {"v": REFERENCES["v"]}, ["bleu-1"]).soda
    assert found == pytest.approx(
        {"precision": meteor / 4, "recall": meteor / 2, "f": meteor / 3}
    )  # saying it twice earns nothing


def match_by_trying(values: Any) -> float:
    rows, columns = values.shape
    return max(
        (
            sum(values[i, j] for i, j in zip(one, other, strict=True))
            for count in range(min(rows, columns) + 1)
            for one in combinations(range(rows), count)
            for other in combinations(range(columns), count)
        ),
        default=0.0,
    )


def test_best_match_in_order() -> None:
    rng = np.random.default_rng(0)
    for _ in range(60):
        values = rng.random((rng.integers(1, 5), rng.integers(1, 5)))
        assert match_in_order(values) == pytest.approx(match_by_trying(values))


def test_paragraphs_are_in_the_order_of_time() -> None:
    candidates = {"v": [Event(20, 30, "a cat sits ."), Event(0, 10, "a dog runs .")]}
    references = {"v": [Event(0, 9, "a dog runs ."), Event(20, 30, "a cat sits .")]}
    table = score_dense_video(candidates, references, ["bleu-4"], soda=False)
    assert table.paragraphs["bleu-4"] == pytest.approx(1.0)


@pytest.mark.parametrize(
    "content",
    [
        {"v": {"duration": 40, "timestamps": [[10, 0], [20, 38]], "sentences": ["a", "b"]}},
        {"version": "1", "results": {"v": [{"timestamp": [0, 10], "sentence": "a"},
                                           {"timestamp": [20, 38], "sentence": "b"}]}},
        {"database": {"v": {"annotations": [{"segment": [0, 10], "sentence": "a"},
                                            {"segment": [20, 38], "sentence": "b"}]}}},
    ],
)  # fmt: skip
def test_files(content: Any, tmp_path: Path) -> None:
    path = tmp_path / "events.json"
    path.write_text(json.dumps(content))
    assert read_events(path) == {"v": [Event(0, 10, "a"), Event(20, 38, "b")]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON"),
        ("[]", "expected an object of videos"),
        ('{"v": {"timestamps": [[0, 1]], "sentences": []}}', "1 timestamps for 0 sentences"),
        ('{"v": [{"timestamp": [0], "sentence": "a"}]}', "video 'v', event 1: a timestamp is two"),
        ('{"v": [{"timestamp": [0, 1]}]}', "expected text as sentence, found None"),
        ('{"v": 3}', "expected a list of events"),
    ],
)
def test_bad_files(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_text(content)
    with pytest.raises(FormatError, match=message):
        read_events(path)


def test_bad_input() -> None:
    with pytest.raises(InputError, match="no video in common"):
        score_dense_video({"x": CANDIDATES["v"]}, REFERENCES, ["bleu-1"], soda=False)
    with pytest.raises(SettingError, match="tious must be in"):
        score_dense_video(CANDIDATES, REFERENCES, ["bleu-1"], tious=[0.0])
    with pytest.warns(UnreliableWarning, match="ignored 1 videos"):
        score_dense_video(CANDIDATES | {"x": CANDIDATES["v"]}, REFERENCES, ["bleu-1"], soda=False)


def test_soda_without_meteor_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation without pycocoevalcap: other scores are computed all the same."""
    monkeypatch.setenv("CIDERY_CACHE", str(tmp_path))
    monkeypatch.setattr(sys, "path", [p for p in sys.path if "site-packages" not in p])
    with pytest.warns(DataWarning, match=r"SODA-c is not computed: pycocoevalcap is needed"):
        table = score_dense_video(CANDIDATES, REFERENCES, ["bleu-1"])
    assert table.soda == {} and table.scores["bleu-1"] == pytest.approx((0.25,) * 4)
    assert "soda" not in str(table)
    with pytest.raises(MissingExtraError, match="pycocoevalcap is needed"):
        score_dense_video(CANDIDATES, REFERENCES, ["bleu-1"], soda=True)
