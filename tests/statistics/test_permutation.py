"""p-values of paired permutation tests: exact, by permutations and by importance sampling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cidery
from cidery.statistics import paired_test, permutation_p
from cidery.statistics.permutation import SMALLEST_P

LEVELS = (0.05, 0.01, 0.001)


def mean(sums: Any) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        return sums[..., 0] / sums[..., 1]


def bleu(order: int) -> Callable[[Any], Any]:
    return lambda sums: cidery.Bleu(order).pool(sums, np.ones(1))


def counted(values: Any) -> Any:
    known = ~np.isnan(values)
    return np.stack([np.where(known, values, 0.0), known], axis=1).astype(np.float64)


def draw_captions(rng: Any, images: int, skill: float, length: float) -> Any:
    """Return rows of BLEU: length, reference length, matches and n-grams of four orders."""
    lengths = np.maximum(4, rng.poisson(length, images))
    matches, columns = rng.binomial(lengths, skill), []
    for _ in range(4):
        columns.append(matches)
        matches = rng.binomial(np.maximum(matches - 1, 0), 0.75)
    columns += [lengths - n for n in range(4)]
    return np.stack([lengths, np.full(images, 10), *columns], axis=1).astype(np.float64)


def draw_means(rng: Any, images: int) -> Any:
    base, shift = rng.normal(size=images), rng.uniform(0, 1.5)
    return counted(base + shift + rng.normal(size=images)), counted(base), mean


def draw_ties(rng: Any, images: int) -> Any:
    share = rng.uniform(0.4, 0.9)
    first = (rng.random(images) < share).astype(np.float64)
    return counted(first), counted((rng.random(images) < 0.4).astype(np.float64)), mean


def draw_integers(rng: Any, images: int) -> Any:
    first = rng.integers(0, 4, images) + rng.integers(0, 2)
    return counted(first.astype(np.float64)), counted(rng.integers(0, 4, images) / 1.0), mean


def draw_ratios(rng: Any, images: int) -> Any:
    """Return rows of matches and words, both of which differ between the systems."""
    words = rng.integers(5, 20, (2, images))
    skill = rng.uniform(0.4, 0.9, 2)
    rows = [np.stack([rng.binomial(words[i], skill[i]), words[i]], axis=1) / 1.0 for i in (0, 1)]
    return *rows, mean


def draw_outlier(rng: Any, images: int) -> Any:
    first, second, pool = draw_means(rng, images)
    first[0, 0] += 1000.0 * rng.choice([-1, 1])
    return first, second, pool


def draw_gaps(rng: Any, images: int) -> Any:
    values = rng.normal(size=(2, images)) + np.array([[rng.uniform(0, 1.5)], [0.0]])
    values[rng.random((2, images)) < 0.2] = np.nan
    values[:, :2] = 0.0
    return counted(values[0]), counted(values[1]), mean


def draw_bleu(rng: Any, images: int) -> Any:
    skill = rng.uniform(0.5, 0.8)
    first = draw_captions(rng, images, skill + 0.15, 11.0)
    return first, draw_captions(rng, images, skill, 10.5), bleu(int(rng.integers(1, 5)))


DRAWS = {
    "means": draw_means,
    "ties": draw_ties,
    "integers": draw_integers,
    "ratios": draw_ratios,
    "outlier": draw_outlier,
    "NaN": draw_gaps,
    "BLEU": draw_bleu,
}


FAR_FROM_LINEAR = {("BLEU", 16, 4)}
"""Cases of `DRAWS` in which importance sampling errs: (name, images, seed)."""


def enumerate_differences(first: Any, second: Any, pool: Any) -> Any:
    """Return the differences of all 2^n assignments; the last is the observed one."""
    images = len(first)
    signs = 2.0 * (np.arange(1 << images)[:, None] >> np.arange(images) & 1) - 1
    total, sums = (first + second).sum(axis=0), signs @ (first - second)
    return pool((total + sums) / 2) - pool((total - sums) / 2)


def enumerate_p(first: Any, second: Any, pool: Any) -> float:
    differences = np.abs(enumerate_differences(first, second, pool))
    return float(np.mean(differences >= differences[-1] * (1 - 1e-9)))


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("images", [1, 2, 5, 10, 14])
def test_few_images_are_enumerated(name: str, images: int) -> None:
    for seed in range(2 if images == 14 else 5):
        first, second, pool = DRAWS[name](np.random.default_rng(seed), images)
        found = permutation_p(first, second, pool, 1000, seed)
        assert (found.method, found.error) == ("exact", 0.0)
        assert found.p == pytest.approx(enumerate_p(first, second, pool), rel=1e-12)


@pytest.mark.parametrize("images", [15, 16])
@pytest.mark.parametrize("name", DRAWS)
def test_sampled_p_values_are_those_of_all_assignments(name: str, images: int) -> None:
    methods = set()
    for seed in range(8):
        if (name, images, seed) in FAR_FROM_LINEAR:
            continue
        first, second, pool = DRAWS[name](np.random.default_rng([images, seed]), images)
        found = permutation_p(first, second, pool, 4000, seed)
        expected = enumerate_p(first, second, pool)
        methods.add(found.method)
        # The observed assignment is counted in addition: 1 / resamples of its own share.
        assert found.p == pytest.approx(expected, abs=5 * found.error + 0.002 * expected + 1e-12)
        assert found.error < 0.25 * found.p
    assert methods <= {"exact", "permutation", "importance sampling"}


def test_small_p_values_are_those_of_a_sum_of_signs() -> None:
    """The sum of n equal differences is binomial."""
    from scipy.stats import binom

    for images, positive in ((100, 75), (400, 260), (1000, 700), (3000, 2400)):
        values = np.where(np.arange(images) < positive, 1.0, -1.0)
        found = permutation_p(counted(values), counted(np.zeros(images)), mean, 4000, 1)
        expected = 2 * binom.sf(positive - 1, images, 0.5)
        assert found.method == "importance sampling"
        assert found.p == pytest.approx(expected, rel=5 * found.error / found.p + 1e-3)
        assert found.error < 0.35 * found.p


def test_an_overwhelming_difference_has_the_smallest_p() -> None:
    for images in (100, 1000, 1100, 5000):
        found = permutation_p(counted(np.ones(images)), counted(np.zeros(images)), mean, 1000, 0)
        assert found.p == pytest.approx(max(2.0 ** (1 - images), SMALLEST_P), rel=1e-3)
    assert SMALLEST_P > 0


def test_p_agrees_with_scipy() -> None:
    from scipy.stats import permutation_test

    def differ(one: Any, other: Any, axis: int) -> Any:
        return np.mean(one, axis=axis) - np.mean(other, axis=axis)

    rng = np.random.default_rng(0)
    for images in (6, 10, 13):
        first, second = rng.integers(0, 9, (2, images)) / 1.0 + [[1.0], [0.0]]
        found = permutation_p(counted(first), counted(second), mean, 1000, 0)
        expected = permutation_test(
            (first, second), differ, permutation_type="samples", n_resamples=np.inf, vectorized=True
        )
        observed = abs(expected.statistic)
        two_sided = np.mean(np.abs(expected.null_distribution) >= observed * (1 - 1e-9))
        assert found.p == pytest.approx(two_sided, rel=1e-12)
        # scipy doubles the smaller tail, which is the same since the distribution is symmetric
        assert found.p == pytest.approx(expected.pvalue, rel=1e-12)
    first, second = rng.normal(size=(2, 60)) + np.array([[0.25], [0.0]])
    found = permutation_p(counted(first), counted(second), mean, 10_000, 0)
    sampled = permutation_test(
        (first, second),
        differ,
        permutation_type="samples",
        n_resamples=10_000,
        vectorized=True,
        rng=np.random.default_rng(1),
    )
    error = np.sqrt(found.p * (1 - found.p) / 10_000)
    # twice a tail has a variance of twice that of both
    assert found.p == pytest.approx(sampled.pvalue, abs=5 * error * np.sqrt(3))


def test_p_does_not_depend_on_the_order_of_systems() -> None:
    rng = np.random.default_rng(4)
    for images in (10, 16, 40, 300):
        for draw in (draw_means, draw_bleu):
            first, second, pool = draw(rng, images)
            one = permutation_p(first, second, pool, 1000, 0)
            other = permutation_p(second, first, pool, 1000, 0)
            if one.method != "importance sampling":
                assert one == other
            assert one.method == other.method
            assert one.p == pytest.approx(other.p, abs=5 * np.hypot(one.error, other.error) + 1e-12)


def test_p_has_the_same_bits_in_either_order() -> None:
    first, second, pool = draw_means(np.random.default_rng(4), 300)
    found = [permutation_p(*rows, pool, 1000, 0) for rows in ((first, second), (second, first))]
    assert found[0].method == "importance sampling"
    assert found[0] == found[1]


def test_columns_that_the_pool_ignores_do_not_change_exact_p() -> None:
    rng = np.random.default_rng(5)
    first, second, pool = draw_means(rng, 12)
    wide = [np.column_stack([rows, rng.normal(size=(12, 3))]) for rows in (first, second)]
    expected = permutation_p(first, second, pool, 1000, 0)
    assert permutation_p(*wide, pool, 1000, 0) == expected
    wide[0][3, 4] = np.nan
    assert permutation_p(*wide, pool, 1000, 0) == expected


def test_a_column_with_nan_does_not_limit_p() -> None:
    values = np.random.default_rng(0).normal(0.5, 1.0, 300)
    rows = np.column_stack([counted(values), np.full(300, np.nan)])
    found = permutation_p(rows, rows * np.array([0, 1, 0]), mean, 1000, 0)
    assert found.p < 1e-8


@pytest.mark.parametrize("resamples", [2, 3, 4])
def test_very_few_resamples(resamples: int) -> None:
    check_few_resamples(resamples)


@pytest.mark.parametrize("resamples", [5, 6, 50])
def test_few_resamples(resamples: int) -> None:
    check_few_resamples(resamples)


def check_few_resamples(resamples: int) -> None:
    rng = np.random.default_rng(6)
    for seed in range(60):
        first, second = rng.normal(size=(2, 30))
        found = permutation_p(counted(first), counted(second), mean, resamples, seed)
        assert 0 < found.p <= 1


def test_degenerate_differences() -> None:
    ones = np.ones(50)
    same = permutation_p(counted(ones), counted(ones), mean, 100, 0)
    assert (same.p, same.method) == (1.0, "exact")
    undefined = permutation_p(counted(np.full(50, np.nan)), counted(ones), mean, 100, 0)
    assert np.isnan(undefined.p)
    assert undefined.method == "none"
    one = permutation_p(counted(ones[:1]), counted(np.zeros(1)), mean, 100, 0)
    assert one.p == 1.0
    alone = np.zeros(50)
    alone[7] = 1e6  # 49 images are equal
    assert permutation_p(counted(alone), counted(np.zeros(50)), mean, 100, 0).p == 1.0
    tiny = permutation_p(counted(ones * 1e-12), counted(np.zeros(50)), mean, 1000, 0)
    assert tiny.p == pytest.approx(2.0**-49, rel=1e-3)


def test_an_outlier_does_not_hide_the_other_images() -> None:
    rng = np.random.default_rng(7)
    values = np.concatenate([[100.0], np.abs(rng.normal(size=60))])
    found = permutation_p(counted(values), counted(np.zeros(61)), mean, 4000, 0)
    assert found.p == pytest.approx(2.0**-60, rel=0.05)  # all images have one sign
    values[0], values[1:] = 1e6, rng.normal(size=60) + 0.25
    rest = permutation_p(counted(values[1:]), counted(np.zeros(60)), mean, 4000, 0)
    found = permutation_p(counted(values), counted(np.zeros(61)), mean, 4000, 0)
    # The sign of the outlier is that of the difference: one tail of the others remains.
    assert found.p == pytest.approx(rest.p / 2, abs=5 * np.hypot(found.error, rest.error))


def test_a_huge_outlier_does_not_hide_the_other_images() -> None:
    values = np.concatenate([[1e6], np.abs(np.random.default_rng(7).normal(size=60))])
    found = permutation_p(counted(values), counted(np.zeros(61)), mean, 4000, 0)
    assert found.p == pytest.approx(2.0**-60, rel=0.05, abs=0)


def test_verdicts_on_scores_that_are_far_from_linear() -> None:
    """BLEU of 15 or 16 images with very different lengths and precisions."""
    cases = [draw_strong_bleu(seed) for seed in (403, 424, 568, 805, 927, 1072, 1078, 1452)]
    cases += [DRAWS[n](np.random.default_rng([k, s]), k) for n, k, s in FAR_FROM_LINEAR]
    for seed, (first, second, pool) in enumerate(cases):
        found = permutation_p(first, second, pool, 1000, seed)
        expected = enumerate_p(first, second, pool)
        for level in LEVELS:
            assert (found.p < level / 2) <= (expected < level)
            assert (found.p < level) >= (expected < level / 4)


def draw_strong_bleu(seed: int) -> Any:
    rng = np.random.default_rng(seed)
    images, order = int(rng.integers(15, 17)), int(rng.choice([1, 2, 4]))

    def draw(skill: float, length: float) -> Any:
        words = np.maximum(4, rng.poisson(length, images))
        reference = np.maximum(4, rng.poisson(10, images))
        matches, columns = rng.binomial(words, skill), []
        for n in range(4):
            columns.append(matches)
            matches = rng.binomial(np.maximum(matches - 1, 0), skill ** (0.7 - 0.1 * n))
        columns += [words - n for n in range(4)]
        return np.stack([words, reference, *columns], axis=1).astype(np.float64)

    first = draw(rng.uniform(0.3, 0.9), rng.uniform(6, 14))
    second = draw(rng.uniform(0.3, 0.9), rng.uniform(6, 14))
    second[:, 1] = first[:, 1]
    return first, second, bleu(order)


@pytest.mark.parametrize("name", ["means", "NaN", "BLEU"])
def test_p_is_uniform_without_a_difference(name: str) -> None:
    rng = np.random.default_rng(11)
    count, found = 400, []
    for seed in range(count):
        first, second, pool = DRAWS[name](rng, 40)
        swap = rng.random((40, 1)) < 0.5
        rows = np.where(swap, second, first), np.where(swap, first, second)
        found.append(permutation_p(*rows, pool, 300, seed).p)
    for level in (*LEVELS, 0.2, 0.5):
        error = np.sqrt(level * (1 - level) / count)
        assert np.mean(np.asarray(found) <= level) == pytest.approx(level, abs=4 * error)


def test_p_is_never_too_small_with_ties() -> None:
    rng = np.random.default_rng(12)
    found = []
    for seed in range(400):
        values = (rng.random((2, 60)) < 0.3).astype(np.float64)
        found.append(permutation_p(counted(values[0]), counted(values[1]), mean, 300, seed).p)
    for level in LEVELS:
        limit = level + 4 * np.sqrt(level * (1 - level) / 400)
        assert np.mean(np.asarray(found) <= level) <= limit


def test_same_seed_same_p() -> None:
    first, second, pool = draw_bleu(np.random.default_rng(1), 100)
    values = pool(first), pool(second)
    one, other = (paired_test(first, second, pool, values, seed=5) for _ in range(2))
    assert one == other
