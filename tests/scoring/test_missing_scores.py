"""Metrics that have no score (NaN) for some captions."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

import numpy as np
import pytest

import cidery
from cidery.metrics import Metric
from cidery.metrics.base import Prepared, TokenizedCandidates, TokenizedReferences
from cidery.runtime import Workspace
from cidery.statistics import Floats

pytestmark = pytest.mark.filterwarnings("ignore::cidery.errors.UnreliableWarning")

REFERENCES = {image: ["a red dog", "a dog"] for image in range(6)}
ONE = {0: "red red", 1: "red dog", 2: "a cat", 3: "red", 4: "a dog", 5: "red cat"}
OTHER = {0: "a red", 1: "a cat", 2: "red", 3: "red", 4: "a cat", 5: "a red cat"}
"""Both have a score on the images 0, 3 and 5: ONE wins on 0 and 5, 3 is a tie."""


class _RedWords(Prepared):
    def measure(self, candidates: TokenizedCandidates, work: Workspace) -> Floats:  # noqa: ARG002
        words = candidates.captions.captions.tokens()
        shares = [tokens.count("red") / len(tokens) for tokens in words]
        return np.asarray([[share, share > 0] for share in shares], np.float64)


@dataclass(frozen=True)
class RedWords(Metric):
    """Share of the word red; captions without it have no score."""

    @property
    def name(self) -> str:
        """`red-words`."""
        return "red-words"

    def prepare(self, references: TokenizedReferences, work: Workspace) -> Prepared:  # noqa: ARG002
        """Return what measures captions."""
        return _RedWords()

    def each(self, rows: Floats) -> Floats:
        """Return NaN for captions without a score."""
        return np.where(rows[:, 1] > 0, rows[:, 0], np.nan)

    def pool(self, sums: Floats, count: Floats) -> Floats:  # noqa: ARG002
        """Return the mean of those that have one."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(sums[..., 0] / sums[..., 1], np.float64)


def compare(first: dict[int, str], second: dict[int, str]) -> cidery.Comparison:
    systems = {"one": first, "other": second}
    return cidery.compare(systems, REFERENCES, [RedWords()], resamples=50)


def test_images_without_a_score_are_left_out_of_paired_statistics() -> None:
    comparison = compare(ONE, OTHER)
    test = comparison.tests["red-words"]["one", "other"]
    assert test.paired_images == 3
    assert test.wins == pytest.approx(2.5 / 3)
    deltas = np.asarray([1 - 1 / 2, 0, 1 / 2 - 1 / 3])
    assert test.effect == pytest.approx(deltas.mean() / deltas.std(ddof=1))
    assert "of the 3 images, out of 6, that both have a score for" in comparison.note


def test_wins_of_both_directions_sum_to_1() -> None:
    forth = compare(ONE, OTHER).tests["red-words"]["one", "other"]
    back = compare(OTHER, ONE).tests["red-words"]["one", "other"]
    assert forth.wins + back.wins == pytest.approx(1)
    assert forth.effect == pytest.approx(-back.effect)


def test_systems_without_a_common_image_have_no_wins() -> None:
    first = {image: "red" if image < 3 else "a cat" for image in range(6)}
    second = {image: "a red" if image >= 3 else "a cat" for image in range(6)}
    comparison = compare(first, second)
    test = comparison.tests["red-words"]["one", "other"]
    assert (test.paired_images, test.effect) == (0, 0.0)
    assert math.isnan(test.wins)
    assert comparison.to_dict()["tests"]["red-words"][0]["wins"] is None


def test_all_images_have_a_score_by_default() -> None:
    found = cidery.compare({"one": ONE, "other": OTHER}, REFERENCES, "rouge-l", resamples=50)
    assert found.tests["rouge-l"]["one", "other"].paired_images == 6
    assert "both have a score" not in found.note


@pytest.mark.filterwarnings("ignore:.*:cidery.errors.SliceWarning")
def test_systems_without_any_score_are_not_judged() -> None:
    none = dict.fromkeys(REFERENCES, "a cat")
    systems = {"one": ONE, "none": none, "nothing": dict.fromkeys(none, "a dog")}
    found = cidery.compare(systems, REFERENCES, [RedWords()], resamples=50, margin=0.1)
    ranked = found.rankings["red-words"]
    assert [(one.system, one.rank, one.cluster) for one in ranked] == [
        ("one", 1, "a"),
        ("none", None, ""),
        ("nothing", None, ""),
    ]
    assert [one.against for one in ranked] == ["·??", "?·?", "??·"]
    for test in found.tests["red-words"].values():
        assert math.isnan(test.p) and math.isnan(test.adjusted_p)
        assert (test.method, test.verdict) == ("none", "undecided")
    assert json.dumps(found.to_dict(), allow_nan=False)
    runs = {"one": ONE, "none": [none, systems["nothing"]]}
    found = cidery.compare(runs, REFERENCES, [RedWords()], resamples=50)
    assert found.tests["red-words"]["one", "none"].verdict == "undecided"
    assert r"none & -- \\" in found.to_latex() and "& -- &" in found.table().to_latex()
