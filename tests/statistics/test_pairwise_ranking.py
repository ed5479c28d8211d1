"""Ranking within groups, ties, and places of metrics."""

from __future__ import annotations

import numpy as np
import pytest

from cidery.errors import SettingError
from cidery.statistics import Floats, PairsWithin, compare_samples, pool_share, rank_metrics


def test_pairs_of_the_same_group() -> None:
    found = PairsWithin.build(np.array([1, 0, 1, 3, 1]))
    pairs = {tuple(sorted(pair)) for pair in zip(found.first, found.second, strict=True)}
    assert pairs == {(0, 2), (0, 4), (2, 4)}
    assert found.groups.tolist() == [1, 1, 1]
    assert found.group_count == 4
    assert len(PairsWithin.build(np.arange(3)).first) == 0


def test_ties_by_hand() -> None:
    """Deutsch et al.: with a threshold, ties of people can be met."""
    within = PairsWithin.build(np.zeros(4, np.int64))
    human = np.array([1.0, 1.0, 2.0, 3.0])
    scores = np.array([0.10, 0.12, 0.5, 0.4])
    # Pairs by distance: (0,1) .02 tied; (2,3) .10 wrong; (1,3) .28, (0,3) .30, (1,2) .38, (0,2)
    # .40 right. With the threshold at .02 or .10 five of six are right.
    found = within.calibrate(scores, human)
    assert found.rows.tolist() == [[5.0, 6.0]]
    assert found.threshold == pytest.approx(0.02)
    without = within.calibrate(scores, np.array([1.0, 0.5, 2.0, 3.0]))
    assert without.threshold == 0.0  # people tie nothing, and a threshold would lose


def test_ties_against_trying_all() -> None:
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 9, 60)
    scores, human = rng.integers(0, 7, 60) / 7, rng.integers(0, 3, 60).astype(np.float64)
    within = PairsWithin.build(groups)
    ours = scores[within.first] - scores[within.second]
    theirs = np.sign(human[within.first] - human[within.second])

    def hits(threshold: float) -> int:
        predicted = np.where(np.abs(ours) <= threshold, 0, np.sign(ours))
        return int((predicted == theirs).sum())

    best = max(hits(t) for t in (0.0, *np.abs(ours)))
    assert within.calibrate(scores, human).rows.sum(axis=0).tolist() == [best, len(ours)]


def test_tau_of_each_group_is_scipys() -> None:
    stats = pytest.importorskip("scipy.stats", reason="compared with SciPy's")
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(12), 5)
    scores, human = rng.integers(0, 4, 60).astype(float), rng.integers(0, 3, 60).astype(float)
    human[:5] = 2.0  # nothing to rank
    rows = PairsWithin.build(groups).correlate(scores, human)
    assert rows[0].tolist() == [0.0, 0.0]
    expected = [
        stats.kendalltau(scores[groups == g], human[groups == g]).statistic for g in range(1, 12)
    ]
    np.testing.assert_allclose(rows[1:, 0], expected)
    assert pool_share(rows.sum(axis=0)) == pytest.approx(np.mean(expected))


def test_ranking_within_groups() -> None:
    human = np.asarray([1.0, 2.0, 3.0, 1.0, 1.0])
    pairs = PairsWithin.build(np.asarray([0, 0, 0, 1, 1]))
    np.testing.assert_array_equal(pairs.rank(human, human), [[3, 3], [0, 0]])
    np.testing.assert_array_equal(pairs.rank(-human, human), [[0, 3], [0, 0]])
    np.testing.assert_array_equal(pairs.rank(np.zeros(5), human), [[1.5, 3], [0, 0]])
    assert np.isnan(pool_share(PairsWithin.build(np.arange(5)).rank(human, human).sum(axis=0)))


def test_places() -> None:
    rng = np.random.default_rng(2)
    shared: Floats = rng.normal(size=400)

    def draw(mean: float, spread: float) -> Floats:
        return np.asarray(mean + 0.1 * shared + spread * rng.normal(size=400))

    values = {"low": 0.2, "first": 0.5, "also": 0.49, "middle": 0.4}
    samples = {name: draw(mean, 0.01) for name, mean in values.items()}
    assert rank_metrics(values, samples) == {"low": 4, "first": 1, "also": 1, "middle": 3}
    # Not paired, the same spread would tell nothing apart.
    apart = {name: rng.permutation(found) for name, found in samples.items()}
    assert set(rank_metrics(values, apart).values()) == {1}
    assert rank_metrics({"one": 0.3}, {"one": shared}) == {"one": 1}


def test_the_same_statistic_is_not_different() -> None:
    drawn = np.random.default_rng(3).normal(size=200)
    assert compare_samples(drawn, drawn) == 1.0
    assert compare_samples(np.ones(200), np.zeros(200)) == pytest.approx(2 / 201)
    with pytest.raises(SettingError, match="the same number of bootstrap samples, at least 1"):
        compare_samples(drawn, drawn[:5])


def test_few_samples_tell_many_metrics_apart() -> None:
    """p is not bounded by the number of samples, which Holm would multiply by 45 pairs."""
    rng = np.random.default_rng(4)
    values = {f"metric {place}": -0.1 * place for place in range(10)}
    samples = {
        name: np.asarray(value + 0.01 * rng.normal(size=100)) for name, value in values.items()
    }
    assert list(rank_metrics(values, samples).values()) == list(range(1, 11))


def test_p_of_a_known_difference() -> None:
    """Two standard errors apart."""
    drawn = np.random.default_rng(5).normal(size=4000)
    apart = (drawn - drawn.mean()) / drawn.std(ddof=1) + 2
    assert compare_samples(apart, np.zeros(4000)) == pytest.approx(0.04550026)
