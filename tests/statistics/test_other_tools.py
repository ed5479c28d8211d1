"""Intervals and p-values of scipy and sacreBLEU, where definitions agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cidery
from cidery.statistics import bootstrap_interval, draw_sums, paired_test, permutation_p
from support.example import Example

CAPTIONS = 24
RESAMPLES = 4000


def mean(sums: Any) -> Any:
    return sums[..., 0] / sums[..., 1]


def test_bootstrap_agrees_with_scipy() -> None:
    from scipy.stats import bootstrap

    rng = np.random.default_rng(0)
    first = rng.exponential(size=80)
    second = 0.5 * first + rng.exponential(size=80)
    rows = [np.stack([v, np.ones(80)], axis=1) for v in (first, second)]
    test = paired_test(*rows, mean, (first, second), resamples=RESAMPLES, confidence=0.9)
    found = bootstrap(
        (first, second),
        lambda a, b, axis: a.mean(axis=axis) - b.mean(axis=axis),
        method="percentile",
        paired=True,
        n_resamples=RESAMPLES,
        confidence_level=0.9,
        vectorized=True,
        rng=np.random.default_rng(1),
    )
    # standard error of a 5 % quantile of 4,000 samples: 0.034 standard deviations
    close = 5 * np.sqrt(2) * 0.034 * test.error
    assert test.low == pytest.approx(found.confidence_interval.low, abs=close)
    assert test.high == pytest.approx(found.confidence_interval.high, abs=close)
    assert test.error == pytest.approx(found.standard_error, rel=0.06)
    interval = bootstrap_interval(rows[0], mean, resamples=RESAMPLES, confidence=0.9)
    alone = bootstrap(
        (first,),
        np.mean,
        method="percentile",
        n_resamples=RESAMPLES,
        confidence_level=0.9,
        rng=np.random.default_rng(2),
    )
    close = 5 * np.sqrt(2) * 0.034 * float(alone.standard_error)
    assert interval.low == pytest.approx(alone.confidence_interval.low, abs=close)
    assert interval.high == pytest.approx(alone.confidence_interval.high, abs=close)


class SacreBleu:
    """Captions of two systems, scored by sacreBLEU, and its statistics as rows."""

    def __init__(self, example: Example, mixed: int) -> None:
        from sacrebleu.metrics import BLEU

        images = [i for i in example.system_a if i in example.system_b][:CAPTIONS] * 3
        self.first = [example.system_a[i] for i in images]
        self.second = list(self.first)
        for place in range(mixed):  # some captions of the other system, some worse, some better
            self.second[place] = example.system_b[images[place]]
        for place in range(mixed, 2 * mixed - 3):
            self.second[place] = example.references[images[place]][0]
        count = min(len(example.references[i]) for i in images)
        self.references = [[example.references[i][k] for i in images] for k in range(count)]
        self.bleu = BLEU(tokenize="13a", smooth_method="exp")
        self.rows = tuple(
            np.array(self.bleu._extract_corpus_statistics(captions, self.references), np.float64)
            for captions in (self.first, self.second)
        )

    def test(self, kind: str) -> Any:
        from sacrebleu.significance import PairedTest

        systems = [("first", self.first), ("second", self.second)]
        _, scores = PairedTest(
            systems, {"BLEU": self.bleu}, self.references, kind, n_samples=RESAMPLES
        )()
        return scores["BLEU"]


METRIC = cidery.Bleu(4, faithful="paper", smoothing="exponential")


def pool(sums: Any) -> Any:
    return METRIC.pool(sums, np.ones(1))


@pytest.mark.parametrize("mixed", [6, 8, 12])
def test_randomization_agrees_with_sacrebleu(example: Example, mixed: int) -> None:
    """Its p counts permutations with a larger difference, and 1; ours those as large, too."""
    sacre = SacreBleu(example, mixed)
    baseline, system = sacre.test("ar")
    first, second = sacre.rows
    scores = [100 * float(pool(rows.sum(axis=0))) for rows in (first, second)]
    assert scores == pytest.approx([baseline.score, system.score], rel=1e-9)
    found = permutation_p(first, second, pool, RESAMPLES, 0)
    error = np.sqrt(system.p_value * (1 - system.p_value) / RESAMPLES)
    close = 5 * np.hypot(error, found.error) + 2 / RESAMPLES
    assert found.p == pytest.approx(system.p_value, abs=close)


def test_bootstrap_agrees_with_sacrebleu(example: Example) -> None:
    """Its p is of the share of samples whose |difference| exceeds the mean one by the observed one:
    a single tail, about half of `p_bootstrap`, which is two-sided.
    """
    for mixed in (6, 12):
        sacre = SacreBleu(example, mixed)
        baseline, system = sacre.test("bs")
        first, second = sacre.rows
        samples = [100 * pool(draw_sums(rows, RESAMPLES, 0)) for rows in (first, second)]
        # its interval: mean of the samples, and half of the distance of their 2.5 % quantiles
        for result, rows in ((baseline, first), (system, second)):
            interval = bootstrap_interval(rows, pool, resamples=RESAMPLES)
            half, middle = 50 * (interval.high - interval.low), 50 * (interval.high + interval.low)
            error = half / 1.96
            assert result.ci == pytest.approx(half, rel=0.12)
            assert result.mean == pytest.approx(middle, abs=0.2 * error)
        sizes = np.abs(samples[0] - samples[1])
        observed = abs(baseline.score - system.score)
        expected = (np.sum(sizes - sizes.mean() > observed) + 1) / (RESAMPLES + 1)
        close = 5 * np.sqrt(2 * expected / RESAMPLES) + 2 / RESAMPLES
        assert system.p_value == pytest.approx(expected, abs=close)


def test_two_sided_bootstrap_p_is_about_twice_that_of_sacrebleu() -> None:
    """Where the sign of the difference hardly ever changes; else |difference| is skewed."""
    rng = np.random.default_rng(3)
    deltas = rng.normal(0.23, 1.0, 100)
    rows = [np.stack([v, np.ones(100)], axis=1) for v in (deltas, np.zeros(100))]
    test = paired_test(*rows, mean, (deltas, np.zeros(100)), resamples=20_000)
    sizes = np.abs(mean(draw_sums(rows[0], 20_000, 0)))
    sacre = (np.sum(sizes - sizes.mean() > abs(test.difference)) + 1) / 20_001
    assert test.p_bootstrap == pytest.approx(2 * sacre, rel=0.35)
