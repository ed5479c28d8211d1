"""Bootstrap intervals.

Statistics are *rows*, one per image, whose sum gives a corpus score: pooled scores such as BLEU
are resampled exactly, not approximated by a mean.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from cidery._native import resample_sums
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


def check_sampling(confidence: float, resamples: int) -> None:
    """Raise a SettingError for an invalid confidence or number of samples."""
    if not 0 < confidence < 1:
        raise SettingError(f"confidence must be between 0 and 1, not {confidence}")
    _check_resamples(resamples)


def _check_resamples(resamples: int) -> None:
    if resamples < 2:
        raise SettingError(f"resamples must be at least 2, not {resamples}")


def check_seed(seed: int) -> None:
    """Raise a SettingError for an invalid seed."""
    if not 0 <= seed < 1 << 64:
        raise SettingError(f"seed must be between 0 and 2^64, not {seed}")


def draw_sums(rows: Floats, resamples: int, seed: int) -> Floats:
    """Return the sums of bootstrap samples of rows: float64[resamples, k]."""
    _check_resamples(resamples)
    check_seed(seed)
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


def sum_by_group(rows: Floats, groups: NDArray[np.integer], count: int) -> Floats:
    """Sum rows of the same group: float64[rows, k] -> float64[count, k]."""
    if len(groups) == count and np.array_equal(groups, np.arange(count)):
        return rows
    summed = np.zeros((count, rows.shape[1]))
    np.add.at(summed, groups, rows)
    return summed
