"""Agreement among judges, against examples worked out by hand in the literature."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from cidery.errors import InputError, SettingError
from cidery.statistics.reliability import fleiss_kappa, krippendorff_alpha

_ = math.nan
# K. Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), section C: four observers,
# twelve units, missing data.
KRIPPENDORFF = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, _, _, _],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, _, 3],
        [_, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, _],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, _],
    ]
).T
# The table of "Fleiss' kappa" in Wikipedia: ten subjects, fourteen raters, five categories.
FOURTEEN_RATERS = [
    *([0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1]),
    *([7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7]),
]


def spread_out(counts: Any) -> Any:
    return np.array([np.repeat(np.arange(len(row)), row) for row in counts], float)


@pytest.mark.parametrize(
    ("level", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)]
)
def test_alpha_as_published(level: Any, published: Any) -> None:
    assert krippendorff_alpha(KRIPPENDORFF, level).score == pytest.approx(published, abs=5e-4)


def test_alpha_of_two_judges_by_hand() -> None:
    """Krippendorff 2011, section A: two observers, binary data, ten units; α = 0.095."""
    one = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0]
    two = [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    ratings = np.array([one, two], float).T
    assert krippendorff_alpha(ratings).score == pytest.approx(0.095, abs=5e-4)


def test_kappa_as_published() -> None:
    assert fleiss_kappa(spread_out(FOURTEEN_RATERS)).score == pytest.approx(0.210, abs=5e-4)


def by_definition(ratings: Any, level: Any) -> Any:
    """α as 1 - observed / expected disagreement, pair by pair (Krippendorff 2011, section E)."""
    units = [[v for v in row if not math.isnan(v)] for row in ratings]
    units = [unit for unit in units if len(unit) > 1]
    pooled = sorted(itertools.chain(*units))

    def distance(a: Any, b: Any) -> Any:
        if level == "nominal":
            return float(a != b)
        if level == "interval":
            return (a - b) ** 2
        low, high = min(a, b), max(a, b)
        between = sum(low <= v <= high for v in pooled)
        return (between - (pooled.count(a) + pooled.count(b)) / 2) ** 2

    observed = sum(
        distance(a, b) / (len(unit) - 1)
        for unit in units
        for a, b in itertools.permutations(unit, 2)
    ) / len(pooled)
    expected = sum(distance(a, b) for a, b in itertools.permutations(pooled, 2))
    return 1 - observed / (expected / (len(pooled) * (len(pooled) - 1)))


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_alpha_by_its_definition(level: Any) -> None:
    rng = np.random.default_rng(3)
    for _trial in range(20):
        ratings = rng.integers(0, 5, (12, 4)).astype(float)
        ratings[rng.random(ratings.shape) < 0.3] = math.nan
        found = krippendorff_alpha(ratings, level, resamples=0)
        assert found.score == pytest.approx(by_definition(ratings, level), abs=1e-12)
        assert math.isnan(found.low)


def test_intervals_cover_as_often_as_they_say() -> None:
    """Judges agree by construction: each tells the truth with probability 0.8, else guesses."""
    rng = np.random.default_rng(0)

    def draw(items: Any) -> Any:
        truth = rng.integers(0, 2, (items, 1))
        guesses = rng.integers(0, 2, (items, 3))
        return np.where(rng.random((items, 3)) < 0.8, truth, guesses).astype(float)

    for measure in (krippendorff_alpha, fleiss_kappa):
        true = measure(draw(200_000), resamples=0).score
        assert true == pytest.approx(0.64, abs=0.01)
        found = [measure(draw(120), resamples=300, seed=trial) for trial in range(200)]
        covered = np.mean([interval.low <= true <= interval.high for interval in found])
        assert 0.89 <= covered <= 0.99


def test_perfect_and_chance_agreement() -> None:
    same = np.repeat([[1.0], [2.0], [1.0]], 3, axis=1)
    assert krippendorff_alpha(same).score == fleiss_kappa(same).score == 1
    rng = np.random.default_rng(1)
    random = rng.integers(0, 2, (20_000, 3)).astype(float)
    assert krippendorff_alpha(random, resamples=0).score == pytest.approx(0, abs=0.01)
    assert fleiss_kappa(random, resamples=0).score == pytest.approx(0, abs=0.01)


def test_a_single_value_tells_nothing() -> None:
    ones = np.ones((4, 3))
    for interval in (
        krippendorff_alpha(ones),
        fleiss_kappa(ones),
        krippendorff_alpha(ones, "interval"),
    ):
        assert math.isnan(interval.score) and math.isnan(interval.low)


def test_bad_input_is_explained() -> None:
    with pytest.raises(InputError, match="ratings of two judges"):
        krippendorff_alpha(np.array([[1.0, math.nan], [math.nan, 2.0]]))
    with pytest.raises(
        InputError, match=r"ratings must have 2 dimensions \(items, judges\), not 1"
    ):
        fleiss_kappa(np.ones(3))
    with pytest.raises(SettingError, match="nominal, ordinal, interval, not 'ratio'"):
        krippendorff_alpha(np.ones((2, 2)), "ratio")
    with pytest.raises(SettingError, match="between 0 and 1, not 95"):
        fleiss_kappa(np.ones((2, 2)), confidence=95)
