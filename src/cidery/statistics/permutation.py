"""Paired permutation test: p-values of any size, for scores that are means or pooled.

With the images' differences d_i and signs s_i = ±1, exchanging the outputs of two systems on some
images gives S = Σ s_i d_i. The difference of the two scores is a function D(S) with D(-S) = -D(S),
so that p = P(|D(S)| >= |D(Σ d_i)|) = 2 P(D(S) >= |D(Σ d_i)|) for fair and independent signs.

- `exact`: all signs, for few images.
- `permutation`: random signs.
- `importance sampling`: random signs that favor large differences, weighted by the ratio of
  probabilities, where random permutations would hardly reach the difference.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from cidery._native import signed_sums

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from cidery.statistics.resampling import Floats, Pool

PermutationMethod: TypeAlias = Literal["exact", "permutation", "importance sampling", "none"]
"""Source of a p-value; `none` without scores to compare."""
EXACT_IMAGES = 14
"""Largest number of differing images for which all permutations are computed."""
PILOT = 100
"""Random permutations that choose between the methods."""
MIN_EXTREMES = 5
"""Fewest extremes among these for a p-value from random permutations."""
SMALLEST_P = sys.float_info.min
"""Smallest p-value: about 2e-308."""
_FAIR = 1 << 15
_SCALE = 1 << 16
_TOLERANCE = 1e-9
"""Relative; for equal sums that were added in another order."""
_DIRECTIONS = 4
"""Steps towards the most likely sums with the observed difference."""


@dataclass(frozen=True)
class PermutationP:
    """A p-value, its source and its standard error."""

    p: float
    method: PermutationMethod
    error: float
    """Standard error of `p`: 0 if exact."""


def permutation_p(
    first: Floats, second: Floats, pool: Pool, resamples: int, seed: int
) -> PermutationP:
    r"""Return the two-sided p-value of a difference under random exchanges of two systems' outputs.

    $$p = P(|D(\sum_i s_i d_i)| \ge |D(\sum_i d_i)|), \quad s_i = \pm 1$$

    In (0, 1]; NaN if either score is. Up to 14 differing images it is exact. Otherwise the observed
    assignment counts as one of the permutations, so that p is never 0 (Phipson and Smyth 2010;
    Harrison 2012 for importance sampling).

    ```python
    rows = np.stack([np.arange(10.0), np.ones(10)], axis=1)
    permutation_p(rows + [1, 0], rows, lambda s: s[..., 0] / s[..., 1], 1000, 0).p   # 2 / 2**10
    ```

    Args:
        first: float64[images, k], the statistics that `pool` takes summed.
        second: rows of the other system.
        pool: from summed rows to a score.
        resamples: number of permutations, and of draws of importance sampling.
        seed: seed of both.
    """
    total, deltas = (first + second).sum(axis=0), first - second
    deltas = deltas[np.any(deltas != 0, axis=1)]
    differ = _Difference(total, pool)
    observed = float(abs(differ(deltas.sum(axis=0))))
    if np.isnan(observed):
        return PermutationP(np.nan, "none", 0.0)
    bound = observed * (1 - _TOLERANCE)
    if bound == 0:
        return PermutationP(1.0, "exact", 0.0)
    if len(deltas) <= EXACT_IMAGES:
        extreme = np.abs(differ(_all_sums(deltas))) >= bound
        return PermutationP(float(extreme.mean()), "exact", 0.0)
    columns = np.flatnonzero(np.any(deltas != 0, axis=0))
    differ = _Difference(total, pool, columns)
    deltas = np.ascontiguousarray(deltas[:, columns])
    fair = np.full(len(deltas), _FAIR, np.uint32)

    def count_extremes(permutations: int) -> int:
        drawn = differ(signed_sums(deltas, fair, permutations, seed))
        return int(np.count_nonzero(np.abs(drawn) >= bound))

    pilot = min(PILOT, resamples)
    count = count_extremes(pilot)
    if count < MIN_EXTREMES:
        tilted = _sample_tail(differ, deltas, bound, resamples, seed)
        # Both estimate the same p: where random permutations contradict, they are right.
        if tilted is not None and not _contradicts(count, pilot, tilted.p):
            return tilted
    p = (count_extremes(resamples) + 1) / (resamples + 1)
    return PermutationP(p, "permutation", float(np.sqrt(p * (1 - p) / resamples)))


class _Difference:
    """D(S): difference of two scores as a function of the signed sum of differences."""

    def __init__(self, total: Floats, pool: Pool, columns: NDArray[np.int64] | None = None) -> None:
        self.total, self.pool, self.columns = total, pool, columns

    def __call__(self, sums: Floats) -> Floats:
        if self.columns is not None:
            wide = np.zeros((*sums.shape[:-1], len(self.total)))
            wide[..., self.columns] = sums
            sums = wide
        with np.errstate(divide="ignore", invalid="ignore"):
            difference = self.pool((self.total + sums) / 2) - self.pool((self.total - sums) / 2)
        return np.asarray(difference, np.float64)

    def gradient(self, sums: Floats, scale: Floats) -> Floats:
        """Return the central difference quotients at some sums, for steps of this size."""
        steps = np.diag(scale)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = (self(sums + steps) - self(sums - steps)) / (2 * scale)
        return np.where(np.isfinite(found), found, 0.0)


def _all_sums(deltas: Floats) -> Floats:
    """Return the signed sums of all assignments; the first sign is fixed, since D is odd."""
    sums = deltas[:1]
    for row in deltas[1:]:
        sums = np.concatenate([sums + row, sums - row])
    return sums


def _sample_tail(
    differ: _Difference, deltas: Floats, bound: float, resamples: int, seed: int
) -> PermutationP | None:
    """Estimate p by exponentially tilted signs; None if no tilt reaches the difference.

    P(s_i = 1) = 1 / (1 + exp(-2 θ·d_i)), where θ makes the expected difference the observed one:
    the most likely way to reach it (Siegmund 1976).
    """
    tilt = _find_tilt(differ, deltas, bound)
    if tilt is None:
        return None
    shares = 1 / (1 + np.exp(np.clip(-2 * tilt, -700, 700)))
    thresholds = np.clip(np.rint(shares * _SCALE), 1, _SCALE - 1).astype(np.uint32)
    chosen = thresholds / _SCALE
    # log(P / Q) of a draw: Σ log(1/2) - log q_i(s_i) = constant + Σ s_i w_i
    plus, minus = np.log(0.5 / chosen), np.log(0.5 / (1 - chosen))
    slopes, constant = (plus - minus) / 2, float(((plus + minus) / 2).sum())
    sums = signed_sums(np.column_stack([deltas, slopes]), thresholds, resamples, seed)
    extreme = differ(sums[:, :-1]) >= bound
    logs = np.append(constant + sums[:, -1], plus.sum())  # the last is the observed assignment
    if differ(deltas.sum(axis=0)) < 0:
        logs[-1] = minus.sum()
    top = float(logs[np.append(extreme, True)].max())
    weights = np.where(np.append(extreme, True), np.exp(np.minimum(logs - top, 0.0)), 0.0)
    mean = float(weights.sum()) / (resamples + 1)
    spread = float(weights[:-1].std(ddof=1)) / np.sqrt(resamples)
    p = np.exp(max(top + np.log(2 * mean), np.log(SMALLEST_P)))
    return PermutationP(min(1.0, float(p)), "importance sampling", float(p * spread / mean))


def _find_tilt(differ: _Difference, deltas: Floats, bound: float) -> Floats | None:
    """Return θ·d_i of each image."""
    scale = 1e-4 * np.sqrt(np.square(deltas).sum(axis=0))
    sums = np.zeros(deltas.shape[1])
    tilt = None
    for _ in range(_DIRECTIONS):
        along = deltas @ differ.gradient(sums, scale)
        size = float(np.abs(along).max())
        if size == 0 or not np.isfinite(size):
            return None
        along = along / size

        def expect(strength: float, along: Floats = along) -> Floats:
            return np.asarray(np.tanh(strength * along) @ deltas, np.float64)

        strength = _solve(lambda x: float(differ(expect(x))) - bound)
        if strength is None:
            break
        tilt, before, sums = strength * along, sums, expect(strength)
        if np.all(np.abs(sums - before) <= scale):
            break
    return tilt


def _solve(excess: Callable[[float], float]) -> float | None:
    """Return a positive root by bisection of logarithms; the upper end if there is none."""
    low, high = 1e-6, 1e3
    if not excess(low) < 0:
        return None
    if not excess(high) > 0:
        return high  # nearly all differences have one sign
    for _ in range(25):  # to 1e-6 of the root
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if excess(middle) < 0 else (low, middle)
    return float(np.sqrt(low * high))


def _contradicts(count: int, resamples: int, p: float) -> bool:
    """Return True if so many extremes of random permutations have a probability below 1e-6."""
    expected = resamples * p
    if count <= expected:
        return False
    # Chernoff's bound of a binomial's upper tail
    share = count / resamples
    log_tail = count * np.log(share / p) - (resamples - count) * np.log((1 - p) / (1 - share))
    return bool(log_tail > -np.log(1e-6))
