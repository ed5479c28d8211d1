"""Annotator agreement: Krippendorff's α and Fleiss' κ, with bootstrap intervals.

Ratings are float64[items, judges], NaN where a rating is missing. Both coefficients are pooled from
a row per item; the bootstrap resamples items.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import numpy as np

from cidery.errors import InputError, SettingError
from cidery.statistics.resampling import RESAMPLES, Floats, Interval, Pool, draw_sums

Level: TypeAlias = Literal["nominal", "ordinal", "interval"]
"""Level of measurement of the ratings."""


def krippendorff_alpha(
    ratings: Floats,
    level: Level = "nominal",
    *,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval:
    """Return Krippendorff's α (Krippendorff 2011), at most 1; 0 is chance.

    Ratings may be missing; items with fewer than two are ignored. NaN if all ratings are equal.

    ```python
    krippendorff_alpha(np.array([[1, 1, 2], [2, 2, np.nan]]), "nominal")
    ```

    Args:
        ratings: float64[items, judges].
        level: of measurement.
        confidence: of the interval.
        resamples: bootstrap samples of items; 0: no interval.
        seed: of the samples.
    """
    if level not in get_args(Level):
        raise SettingError(f"the level is {', '.join(get_args(Level))}, not {level!r}")
    counts, values = _count(ratings)
    if level == "interval":
        return _bootstrap(
            _distance_rows(counts, values), pool_distances, confidence, resamples, seed
        )
    size = len(values)

    def pool(sums: Floats) -> Floats:
        return pool_coincidences(sums.reshape(*sums.shape[:-1], size, size), level)

    return _bootstrap(_coincidence_rows(counts), pool, confidence, resamples, seed)


def fleiss_kappa(
    ratings: Floats, *, confidence: float = 0.95, resamples: int = RESAMPLES, seed: int = 0
) -> Interval:
    """Return Fleiss' κ of categories (Fleiss 1971), at most 1; 0 is chance.

    The numbers of ratings may differ: agreement is that of the pairs of each item. Items with fewer
    than two ratings are ignored. NaN if all ratings are equal.

    ```python
    fleiss_kappa(np.array([[1, 1, 2], [2, 2, 2]]))
    ```

    The arguments are those of `krippendorff_alpha`.
    """
    counts, _ = _count(ratings)
    answers = counts.sum(axis=1, keepdims=True)
    agreement = ((counts**2).sum(axis=1, keepdims=True) - answers) / (answers * (answers - 1))
    rows = np.hstack([agreement, np.ones_like(agreement), counts])
    return _bootstrap(rows, pool_agreement, confidence, resamples, seed)


def _count(ratings: Floats) -> tuple[Floats, Floats]:
    """Return the count of each value by item, float64[items, values], and the values."""
    given = np.asarray(ratings, np.float64)
    if given.ndim != 2:
        raise InputError(f"ratings must have 2 dimensions (items, judges), not {given.ndim}")
    paired = given[np.count_nonzero(~np.isnan(given), axis=1) >= 2]
    if not len(paired):
        raise InputError("at least one item needs ratings of two judges")
    present = ~np.isnan(paired)
    values, place = np.unique(paired[present], return_inverse=True)
    counts = np.zeros((len(paired), len(values)))
    np.add.at(counts, (np.nonzero(present)[0], place), 1.0)
    return counts, values


def _coincidence_rows(counts: Floats) -> Floats:
    """Return the weighted pairs of values of each item, float64[items, values²]."""
    pairs = counts[:, :, None] * counts[:, None, :]
    places = np.arange(counts.shape[1])
    pairs[:, places, places] -= counts
    answers = counts.sum(axis=1)
    return np.asarray(pairs / (answers - 1)[:, None, None]).reshape(len(counts), -1)


def pool_coincidences(coincidences: Floats, level: Level) -> Floats:
    """Return α from summed coincidences, float64[..., values, values] -> float64[...]."""
    by_value = coincidences.sum(axis=-1)
    total = by_value.sum(axis=-1)
    distances = _ordinal(by_value) if level == "ordinal" else 1.0 - np.eye(by_value.shape[-1])
    observed = (coincidences * distances).sum(axis=(-2, -1))
    expected = (by_value[..., :, None] * by_value[..., None, :] * distances).sum(axis=(-2, -1))
    return _beyond_chance(observed * (total - 1), expected)


def _ordinal(by_value: Floats) -> Floats:
    """Return squared ordinal distances: ratings between two values, both ends counted half."""
    middle = np.cumsum(by_value, axis=-1) - by_value / 2
    return np.asarray((middle[..., :, None] - middle[..., None, :]) ** 2, np.float64)


def _distance_rows(counts: Floats, values: Floats) -> Floats:
    """Return rows of (observed disagreement, ratings, sum, sum of squares)."""
    centered = values - values.mean()
    answers = counts.sum(axis=1)
    sums, squares = counts @ centered, counts @ centered**2
    observed = 2 * (answers * squares - sums**2) / (answers - 1)
    return np.stack([observed, answers, sums, squares], axis=1)


def pool_distances(sums: Floats) -> Floats:
    """Return α of interval data from summed rows, float64[..., 4] -> float64[...]."""
    observed, answers, total, squares = np.moveaxis(sums, -1, 0)
    return _beyond_chance(observed * (answers - 1), 2 * (answers * squares - total**2))


def pool_agreement(sums: Floats) -> Floats:
    """Return κ from summed rows of (agreement, items, counts…), float64[..., k] -> float64[...]."""
    counts = sums[..., 2:]
    shares = counts / counts.sum(axis=-1, keepdims=True)
    by_chance = (shares**2).sum(axis=-1)
    return _beyond_chance(1 - sums[..., 0] / sums[..., 1], 1 - by_chance)


def _beyond_chance(observed: Floats, expected: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        # Tolerance: disagreement that is only rounding of equal ratings.
        return np.asarray(np.where(expected > 1e-12, 1 - observed / expected, np.nan), np.float64)


def _bootstrap(rows: Floats, pool: Pool, confidence: float, resamples: int, seed: int) -> Interval:
    if not 0 < confidence < 1:
        raise SettingError(f"confidence must be between 0 and 1, not {confidence}")
    score = float(pool(rows.sum(axis=0)))
    low = high = float("nan")
    if resamples:
        samples = pool(draw_sums(rows, resamples, seed))
        kept = samples[np.isfinite(samples)]  # a sample may have a single value
        if len(kept):
            low, high = map(float, np.quantile(kept, [(1 - confidence) / 2, (1 + confidence) / 2]))
    return Interval(score, low, high, confidence)
