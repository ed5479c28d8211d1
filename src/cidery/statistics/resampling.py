"""Bootstrap intervals and paired tests.

Statistics are *rows*, one per image, whose sum gives a corpus score: pooled scores such as BLEU
are resampled exactly, not approximated by a mean.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from cidery._native import permute_sums, resample_sums
from cidery.errors import SettingError
from cidery.statistics.exact_sums import sum_exactly

if TYPE_CHECKING:
    from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float64]"
"""An array of float64."""
Pool: TypeAlias = "Callable[[Floats], Floats]"
"""Summed rows, float64[..., k] -> scores, float64[...]."""

RESAMPLES = 1000
"""Default number of samples."""


@dataclass(frozen=True)
class Interval:
    """A score with a confidence interval."""

    score: float
    low: float
    high: float
    confidence: float

    def __str__(self) -> str:
        return f"{self.score:.4f} [{self.low:.4f}, {self.high:.4f}]"


@dataclass(frozen=True)
class PairedTest:
    """Paired test of two systems on the same images."""

    difference: float
    """Score of the first minus score of the second."""
    low: float
    high: float
    """Bootstrap interval of the difference."""
    p_bootstrap: float
    """Two-sided: twice the share of samples with the opposite sign (Koehn 2004)."""
    p_permutation: float
    """Two-sided: share of random permutations with at least this difference."""
    effect: float
    """Mean over standard deviation of the images' differences (Cohen's d_z); 0.2 is small."""
    wins: float
    """Share of images on which the first is better, ties counted half."""
    paired_images: int
    """Number of images on which both have a score (not NaN); `effect` and `wins` are of these."""
    confidence: float
    adjusted_p: float
    """p_permutation after Holm's correction for all comparisons made together."""


def check_sampling(confidence: float, resamples: int) -> None:
    """Raise a SettingError for an invalid confidence or number of samples."""
    if not 0 < confidence < 1:
        raise SettingError(f"confidence must be between 0 and 1, not {confidence}")
    _check_resamples(resamples)


def _check_resamples(resamples: int) -> None:
    if resamples < 2:
        raise SettingError(f"resamples must be at least 2, not {resamples}")


def _check_seed(seed: int) -> None:
    if not 0 <= seed < 1 << 64:
        raise SettingError(f"seed must be between 0 and 2^64, not {seed}")


def draw_sums(rows: Floats, resamples: int, seed: int) -> Floats:
    """Return the sums of bootstrap samples of rows: float64[resamples, k]."""
    _check_resamples(resamples)
    _check_seed(seed)
    return resample_sums(rows, resamples, seed)


def draw_part(
    rows: Floats, places: NDArray[np.integer], height: int, resamples: int, seed: int
) -> Floats:
    """Return the sums of a part of the rows in bootstrap samples: float64[at most resamples, k].

    `rows` are those of the part, `places` their indices among all `height` rows; the last column
    counts. Samples are those of `draw_sums` for all rows, except those without a row of the part.
    """
    among_all = np.zeros((height, rows.shape[1]))
    among_all[places] = rows
    sums = draw_sums(among_all, resamples, seed)
    return sums[sums[:, -1] > 0]


def find_bounds(samples: Floats, confidence: float) -> tuple[float, float]:
    """Return the bounds of the central share of the samples.

    NaN without samples, as for a small slice. Same bits as `np.quantile`, which imports `numpy.ma`
    and slows short commands down.
    """
    if not len(samples):
        return np.nan, np.nan
    ordered = np.sort(samples)  # NaN sorts last
    if np.isnan(ordered[-1]):
        return np.nan, np.nan
    return _interpolate(ordered, (1 - confidence) / 2), _interpolate(ordered, (1 + confidence) / 2)


def _interpolate(ordered: Floats, share: float) -> float:
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    low, high, part = float(ordered[below]), float(ordered[above]), place - below
    # From the nearer end, so that the result is between both.
    return low + (high - low) * part if part < 0.5 else high - (high - low) * (1 - part)


def bootstrap_interval(
    rows: Floats,
    pool: Pool,
    *,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
    sums: Floats | None = None,
) -> Interval:
    """Return the percentile bootstrap interval (Efron 1979): resample rows, pool each sample.

    Args:
        rows: float64[images, k], the statistics that `pool` takes summed.
        pool: from summed rows to a score.
        confidence: confidence level.
        resamples: number of samples; equal seeds and numbers of rows give equal samples.
        seed: seed of the samples.
        sums: result of `draw_sums` for the same rows, to share it between scores.
    """
    check_sampling(confidence, resamples)
    samples = pool(draw_sums(rows, resamples, seed) if sums is None else sums)
    low, high = find_bounds(samples, confidence)
    return Interval(float(pool(sum_exactly(rows))), low, high, confidence)


def paired_test(
    first: Floats,
    second: Floats,
    pool: Pool,
    values: tuple[Floats, Floats],
    *,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
    sums: tuple[Floats, Floats] | None = None,
) -> PairedTest:
    """Compare two systems on the same images by paired bootstrap and paired permutation.

    Args:
        first: float64[images, k].
        second: rows of the other system for the same images.
        pool: from summed rows to a score.
        values: score of each image for both systems, for the effect size.
        confidence: confidence level of the interval.
        resamples: number of samples and of permutations.
        seed: seed of both.
        sums: results of `draw_part` for both systems of a slice.
    """
    check_sampling(confidence, resamples)
    _check_seed(seed)
    difference = float(pool(sum_exactly(first)) - pool(sum_exactly(second)))
    drawn = sums or tuple(resample_sums(rows, resamples, seed) for rows in (first, second))
    samples = pool(drawn[0]) - pool(drawn[1])
    low, high = find_bounds(samples, confidence)
    turned = np.count_nonzero(samples <= 0 if difference > 0 else samples >= 0)
    exchanged = permute_sums(first, second, resamples, seed).reshape(resamples, 2, -1)
    permuted = np.abs(pool(exchanged[:, 0]) - pool(exchanged[:, 1]))
    # The observed assignment is one of the permutations, so p is never 0 (Phipson and Smyth 2010);
    # the tolerance is for equal sums in another order.
    extreme = np.count_nonzero(permuted >= abs(difference) * (1 - 1e-9))
    deltas = values[0] - values[1]
    deltas = deltas[~np.isnan(deltas)]
    spread = float(deltas.std(ddof=1)) if len(deltas) > 1 else 0.0
    p_permutation = float(extreme + 1) / (resamples + 1)
    return PairedTest(
        difference=difference,
        low=low,
        high=high,
        p_bootstrap=min(1.0, 2.0 * float(turned + 1) / (len(samples) + 1)),
        p_permutation=p_permutation,
        effect=float(deltas.mean()) / spread if spread > 0 else 0.0,
        wins=float(np.mean((deltas > 0) + 0.5 * (deltas == 0))) if len(deltas) else float("nan"),
        paired_images=len(deltas),
        confidence=confidence,
        adjusted_p=p_permutation,
    )


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values of several comparisons (Holm 1979), in the order given."""
    order = np.argsort(p_values, kind="stable")
    adjusted = [0.0] * len(p_values)
    running = 0.0
    for rank, index in enumerate(order):
        running = max(running, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[int(index)] = running
    return adjusted


def sum_by_group(rows: Floats, groups: NDArray[np.integer], count: int) -> Floats:
    """Sum rows of the same group: float64[rows, k] -> float64[count, k]."""
    if len(groups) == count and np.array_equal(groups, np.arange(count)):
        return rows
    summed = np.zeros((count, rows.shape[1]))
    np.add.at(summed, groups, rows)
    return summed
