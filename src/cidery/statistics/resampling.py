"""Statistics on arrays: bootstrap intervals and paired tests. Arrays in, numbers out.

Everything works on *rows*, one per image, that are summed before a corpus score is taken from them:
so pooled scores such as BLEU are resampled exactly, not approximated by a mean.
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
"""How many samples are drawn where nothing else is asked for."""


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
    """How one system differs from another on the same images."""

    difference: float
    """Score of the first minus score of the second."""
    low: float
    high: float
    """Bootstrap interval of the difference."""
    p_bootstrap: float
    """Two-sided: twice the share of samples in which the sign turns (Koehn 2004)."""
    p_permutation: float
    """Two-sided: the share of random exchanges of outputs with at least this difference."""
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
    """Refuse a confidence or a number of samples that makes no sense."""
    if not 0 < confidence < 1:
        raise SettingError(f"the confidence must lie between 0 and 1, not {confidence}")
    _check_resamples(resamples)


def _check_resamples(resamples: int) -> None:
    if resamples < 2:
        raise SettingError(f"at least 2 resamples are needed, not {resamples}")


def _check_seed(seed: int) -> None:
    if not 0 <= seed < 1 << 64:
        raise SettingError(f"the seed must lie between 0 and 2^64, not {seed}")


def draw_sums(rows: Floats, resamples: int, seed: int) -> Floats:
    """Draw as many rows as there are, with replacement, and sum: float64[resamples, k]."""
    _check_resamples(resamples)
    _check_seed(seed)
    return resample_sums(rows, resamples, seed)


def draw_part(
    rows: Floats, places: NDArray[np.integer], height: int, resamples: int, seed: int
) -> Floats:
    """Draw from all of `height` rows, and sum those of a part: float64[resamples or fewer, k].

    `rows` are those of the part, `places` where they stand among all; the last column counts. The
    samples are those that `draw_sums` draws from all rows, without those that miss the part.
    """
    among_all = np.zeros((height, rows.shape[1]))
    among_all[places] = rows
    sums = draw_sums(among_all, resamples, seed)
    return sums[sums[:, -1] > 0]


def find_bounds(samples: Floats, confidence: float) -> tuple[float, float]:
    """Return the bounds that hold a share of the samples, as many being below as above.

    nan where there are no samples, as none may have an image of a small slice. Otherwise those of
    `np.quantile`, to the bit; that one imports `numpy.ma`, which a short command waits for.
    """
    if not len(samples):
        return np.nan, np.nan
    ordered = np.sort(samples)  # nan comes last
    if np.isnan(ordered[-1]):
        return np.nan, np.nan
    return _interpolate(ordered, (1 - confidence) / 2), _interpolate(ordered, (1 + confidence) / 2)


def _interpolate(ordered: Floats, share: float) -> float:
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    low, high, part = float(ordered[below]), float(ordered[above]), place - below
    # From the nearer end, so that the result never leaves the two.
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
    """Percentile bootstrap over rows (Efron 1979): images are drawn again, scores pooled again.

    Args:
        rows: float64[images, k], whatever `pool` wants summed.
        pool: from summed rows to a score.
        confidence: the share of samples inside.
        resamples: how many samples; the same seed and height give the same ones.
        seed: of the generator.
        sums: what `draw_sums` returned for the same rows, where several scores are pooled from it.
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
        second: the same images' rows for the other system.
        pool: from summed rows to a score.
        values: each image's own score for both systems, for the effect size.
        confidence: of the interval.
        resamples: how many samples, and how many permutations.
        seed: of the generator.
        sums: what `draw_part` returned for both, where the images are part of more.
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
    # the slack keeps equal sums that were added in another order equal.
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
