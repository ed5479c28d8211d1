"""Correlation with ratings: against SciPy, and against simulated truth."""

from __future__ import annotations

import numpy as np
import pytest
import scipy  # which imports its `stats` when they are used

from cidery.errors import SettingError
from cidery.statistics import (
    COEFFICIENTS,
    Correlation,
    correlation_p,
    paired_test,
    pearson_rows,
    pool_pearson,
    pool_share,
    williams_test,
)


def expected(x: np.ndarray, y: np.ndarray) -> list[float]:
    return [
        scipy.stats.kendalltau(x, y, variant="b").statistic,
        scipy.stats.kendalltau(x, y, variant="c").statistic,
        scipy.stats.spearmanr(x, y).statistic,
        scipy.stats.pearsonr(x, y).statistic,
    ]


@pytest.mark.parametrize("levels", [2, 5, 200])
@pytest.mark.parametrize("seed", [0, 1])
def test_as_scipy(levels: int, seed: int) -> None:
    """With few ratings (a table of counts) and with many (SciPy itself), plain and weighed."""
    rng = np.random.default_rng(seed)
    human = rng.integers(0, levels, 300).astype(float)
    scores = np.round(human / levels + rng.normal(0, 0.7, 300), 1)
    correlation = Correlation.build(scores, human)
    found = correlation()
    assert list(found) == list(COEFFICIENTS)
    np.testing.assert_allclose(list(found.values()), expected(scores, human), rtol=1e-12)
    weights = rng.integers(0, 3, 300)
    repeated = expected(np.repeat(scores, weights), np.repeat(human, weights))
    np.testing.assert_allclose(list(correlation(weights).values()), repeated, rtol=1e-12)


def test_intervals_hold_the_truth_and_draw_whole_groups() -> None:
    rng = np.random.default_rng(3)
    truth, held, rounds = 0.6, 0, 20
    for _ in range(rounds):
        human = rng.normal(size=150)
        scores = truth * human + np.sqrt(1 - truth**2) * rng.normal(size=150)
        levels = np.round(human, 1)
        interval = Correlation.build(scores, levels).intervals(np.arange(150), resamples=100)[
            "pearson"
        ]
        held += interval.low <= truth <= interval.high
    assert 0.85 <= held / rounds <= 1
    # Three copies of each row, drawn together, tell no more than one.
    human, scores = rng.integers(0, 5, 60).astype(float), rng.normal(size=60)
    single = Correlation.build(scores, human).intervals(np.arange(60))["tau_b"]
    tripled = Correlation.build(np.repeat(scores, 3), np.repeat(human, 3))
    together = tripled.intervals(np.repeat(np.arange(60), 3))["tau_b"]
    apart = tripled.intervals(np.arange(180))["tau_b"]
    width = single.high - single.low
    assert together.high - together.low == pytest.approx(width, rel=0.15)
    assert apart.high - apart.low < 0.75 * width


def test_a_side_that_does_not_vary() -> None:
    same, rising = np.ones(5), np.arange(5.0)
    assert np.isnan(list(Correlation.build(same, rising)().values())).all()
    assert np.isnan(list(correlation_p(same, rising).values())).all()
    assert np.isnan(williams_test(same, rising, rising))


@pytest.mark.parametrize(
    ("scores", "ratings", "message"),
    [([1.0], [1.0, 2.0], "1 scores, but 2 ratings"), ([1.0, np.nan], [1.0, 2.0], "must be finite")],
)
def test_refusals(scores: list[float], ratings: list[float], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        Correlation.build(np.asarray(scores), np.asarray(ratings))


def test_p_values_as_scipy() -> None:
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(2, 20))
    found = correlation_p(x, y)
    assert found["pearson"] == pytest.approx(scipy.stats.pearsonr(x, y).pvalue)
    assert found["spearman"] == pytest.approx(scipy.stats.spearmanr(x, y).pvalue)
    assert found["tau_b"] == pytest.approx(scipy.stats.kendalltau(x, y).pvalue)


def test_p_of_few_ranks_is_exact() -> None:
    """Of 4! orders two correlate perfectly, rising and falling."""
    rising = np.asarray([1.0, 2.0, 4.0, 8.0])
    assert correlation_p(rising, rising)["spearman"] == pytest.approx(2 / 24)
    assert correlation_p(rising, -rising)["spearman"] == pytest.approx(2 / 24)
    tied = np.asarray([1.0, 1.0, 4.0, 8.0])
    exact = scipy.stats.permutation_test(
        (tied,),
        lambda x: scipy.stats.spearmanr(x, rising).statistic,
        permutation_type="pairings",
    )
    assert correlation_p(tied, rising)["spearman"] == pytest.approx(exact.pvalue)


def test_williams() -> None:
    """A worked value of the formula, and its size under the null."""
    # r(human, first) = 0.5, r(human, second) = 0.3, r(first, second) = 0.4 with 103 rows.
    rng = np.random.default_rng(0)
    wanted = np.asarray([[1, 0.5, 0.3], [0.5, 1, 0.4], [0.3, 0.4, 1]])
    raw = rng.normal(size=(103, 3))
    raw -= raw.mean(axis=0)
    raw = raw @ np.linalg.inv(np.linalg.cholesky(np.cov(raw.T)).T) @ np.linalg.cholesky(wanted).T
    # t = 0.2 sqrt(102 · 1.4 / (2 · 0.62 · 102 / 100 + 0.16 · 0.216)) = 2.0967
    p = 2 * scipy.stats.t.sf(2.0967, 100)
    assert williams_test(raw[:, 1], raw[:, 2], raw[:, 0]) == pytest.approx(p, rel=1e-3)
    rejected = 0
    for _ in range(300):
        human = rng.normal(size=40)
        first, second = human + rng.normal(size=(2, 40))
        rejected += williams_test(first, second, human) < 0.05
    assert 0.02 <= rejected / 300 <= 0.09
    assert williams_test(raw[:, 1], raw[:, 1], raw[:, 0]) == 1.0


def test_pooled_rows() -> None:
    rng = np.random.default_rng(1)
    scores, human = rng.normal(size=(2, 90))
    groups = np.repeat(np.arange(30), 3)
    rows = pearson_rows(scores, human, groups)
    assert rows.shape == (30, 6)
    assert rows.sum(axis=0)[[1, 2, 5]] == pytest.approx([0, 90, 90])  # standardized scores
    pooled = float(pool_pearson(rows.sum(axis=0)))
    assert pooled == pytest.approx(scipy.stats.pearsonr(scores, human).statistic)
    assert float(pool_share(np.asarray([3.0, 4.0]))) == 0.75


def test_pooled_rows_of_drawn_groups() -> None:
    """Sums of a bootstrap sample have means other than 0, which the pooled r takes into account."""
    rng = np.random.default_rng(1)
    scores, human = rng.normal(size=(2, 90)) + 3
    rows = pearson_rows(scores, human, np.repeat(np.arange(30), 3))
    drawn = rng.integers(0, 6, 30)
    captions = (drawn[:, None] * 3 + np.arange(3)).ravel()
    expected = scipy.stats.pearsonr(scores[captions], human[captions]).statistic
    assert float(pool_pearson(rows[drawn].sum(axis=0))) == pytest.approx(expected)
    same = pearson_rows(np.ones(6), np.arange(6.0), np.arange(6))
    assert np.isnan(pool_pearson(same.sum(axis=0)))


def test_permutation_between_metrics_tells_good_from_bad() -> None:
    rng = np.random.default_rng(2)
    human = rng.normal(size=300)
    good, bad = human + 0.5 * rng.normal(size=300), rng.normal(size=300)
    groups = np.arange(300)
    rows = [pearson_rows(scores, human, groups) for scores in (good, bad)]
    values = (np.zeros(300), np.zeros(300))
    assert paired_test(*rows, pool_pearson, values).p < 0.01
    again = [rows[0], pearson_rows(human + 0.5 * rng.normal(size=300), human, groups)]
    assert paired_test(*again, pool_pearson, values).p > 0.05
