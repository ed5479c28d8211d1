"""Paired permutation test: p-values of any size, for scores that are means or pooled.

With the images' differences d_i and signs s_i = ±1, exchanging the outputs of two systems on some
images gives S = Σ s_i d_i. The difference of the two scores is a function D(S) with D(-S) = -D(S),
so that p = P(|D(S)| >= |D(Σ d_i)|) = 2 P(D(S) >= |D(Σ d_i)|) for fair and independent signs.

- `exact`: all signs, for few images.
- `permutation`: random signs.
- `importance sampling`: fair signs and signs that favor large differences, weighted by the ratio
  of probabilities, where random permutations would hardly reach the difference.
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
EXACT_IMAGES = 16
"""Largest number of differing images for which all permutations are computed."""
PILOT = 100
"""Random permutations that choose between the methods."""
MIN_EXTREMES = 5
"""Fewest extremes among these for a p-value from random permutations."""
CLEARLY_SMALL = 1e-6
"""p-values below are estimated by fewer draws: their error decides nothing."""
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

    In (0, 1]; NaN if either score is. Up to 16 differing images it is exact. Otherwise the observed
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
    # A column with NaN is NaN in every assignment.
    columns = np.flatnonzero(np.any(deltas != 0, axis=0) & np.isfinite(deltas).all(axis=0))
    deltas = deltas[:, columns]
    deltas = np.ascontiguousarray(deltas[np.any(deltas != 0, axis=1)])
    differ = _Difference(total, pool, columns)
    observed = float(differ(deltas.sum(axis=0)))
    if np.isnan(observed):
        return PermutationP(np.nan, "none", 0.0)
    bound = abs(observed) * (1 - _TOLERANCE)
    if bound == 0:
        return PermutationP(1.0, "exact", 0.0)
    if observed < 0:  # so that p does not depend on the order of the systems
        deltas = -deltas
    if len(deltas) <= EXACT_IMAGES:
        extreme = ~(np.abs(differ(_all_sums(deltas))) < bound)  # NaN counts as extreme
        return PermutationP(float(extreme.mean()), "exact", 0.0)
    fair = np.full(len(deltas), _FAIR, np.uint32)

    def count_extremes(permutations: int) -> int:
        drawn = differ(signed_sums(deltas, fair, permutations, seed))
        return int(np.count_nonzero(~(np.abs(drawn) < bound)))

    if count_extremes(min(PILOT, resamples)) < MIN_EXTREMES:
        # Draws other than the pilot's, whose result chose the method.
        tail = _Tail.find(differ, deltas, bound, (seed + 1) % (1 << 64))
        if tail is not None:
            found = tail.sample(max(resamples // 4, min(resamples, 200)))
            return found if found.p < CLEARLY_SMALL else tail.sample(resamples)
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


@dataclass(frozen=True)
class _Tail:
    """Importance sampling of D(S) >= bound, from a mixture of fair and exponentially tilted signs.

    P(s_i = 1) = 1 / (1 + exp(-2 θ·d_i)), where θ makes the expected difference the observed one:
    the most likely way to reach it (Siegmund 1976). A pooled score may have several such ways, so
    that one is searched from no difference and one from the observed sums, and fair signs, with
    their negatives, bound the weights (defensive mixture: Hesterberg 1995; Owen and Zhou 2000).
    """

    differ: _Difference
    deltas: Floats
    bound: float
    seed: int
    thresholds: list[NDArray[np.uint32]]
    """Of the tilts."""

    @classmethod
    def find(cls, differ: _Difference, deltas: Floats, bound: float, seed: int) -> _Tail | None:
        """Return the sampling; None if no tilt reaches the difference."""
        thresholds: list[NDArray[np.uint32]] = []
        none, observed = np.zeros(deltas.shape[1]), deltas.sum(axis=0)
        directions = [_find_direction(differ, deltas, start) for start in (none, observed)]
        first, last = directions
        is_linear = (
            first is not None and last is not None and bool(np.all(np.abs(first - last) < 1e-6))
        )
        for start in (none,) if is_linear else (none, observed):
            tilt = _find_tilt(differ, deltas, bound, start)
            if tilt is None:
                continue
            shares = 1 / (1 + np.exp(np.clip(-2 * tilt, -700, 700)))
            chosen = np.clip(np.rint(shares * _SCALE), 1, _SCALE - 1).astype(np.uint32)
            distances = [np.abs(chosen - one.astype(np.float64)).max() for one in thresholds]
            if all(distance > 0.01 * _SCALE for distance in distances):
                thresholds.append(chosen)
        return cls(differ, deltas, bound, seed, thresholds) if thresholds else None

    def sample(self, resamples: int) -> PermutationP:
        """Return p: half of the draws are fair."""
        width = self.deltas.shape[1]
        slopes, constants = [], []
        for threshold in self.thresholds:  # log(Q / P) = constant + Σ s_i slope_i
            plus, minus = np.log(2 * threshold / _SCALE), np.log(2 * (1 - threshold / _SCALE))
            slopes.append((plus - minus) / 2)
            constants.append(float(((plus + minus) / 2).sum()))
        columns = np.column_stack([self.deltas, *slopes])
        fair = np.full(len(columns), _FAIR, np.uint32)
        half = resamples // 2
        each = (resamples - half) // len(self.thresholds)
        drawn = [signed_sums(columns, fair, max(half, 1), self.seed)]
        drawn[0] = np.concatenate([drawn[0], -drawn[0]])
        for number, threshold in enumerate(self.thresholds, 1):
            stream = (self.seed + number) % (1 << 64)
            drawn.append(signed_sums(columns, threshold, max(each, 1), stream))
        counts = [len(sums) for sums in drawn]
        total = sum(counts)
        sums = np.concatenate([*drawn, columns.sum(axis=0)[None]])  # the last is the observed one
        extreme = ~(self.differ(sums[:, :width]) < self.bound)
        extreme[-1] = True
        mixture = np.full(len(sums), np.log(counts[0] / total))
        for number, constant in enumerate(constants):
            found = constant + sums[:, width + number] + np.log(counts[number + 1] / total)
            mixture = np.logaddexp(mixture, found)
        top = float(-mixture[extreme].min())
        weights = np.where(extreme, np.exp(np.minimum(-mixture - top, 0.0)), 0.0)
        mean = float(weights.sum()) / (total + 1)
        parts = np.split(weights[:-1], np.cumsum(counts)[:-1])
        variance = sum(len(part) * float(part.var()) for part in parts)
        spread = float(np.sqrt(variance)) / total
        smallest = max(np.log(SMALLEST_P), (1 - len(self.deltas)) * np.log(2))
        p = np.exp(max(top + np.log(2 * mean), smallest))
        return PermutationP(min(1.0, float(p)), "importance sampling", float(p * spread / mean))


def _step(deltas: Floats) -> Floats:
    """Return the steps of difference quotients."""
    return np.asarray(1e-4 * np.sqrt(np.square(deltas).sum(axis=0)))


def _find_direction(differ: _Difference, deltas: Floats, sums: Floats) -> Floats | None:
    """Return how D changes with each image's sign, the largest change 1; None if it does not."""
    along = deltas @ differ.gradient(sums, _step(deltas))
    size = float(np.abs(along).max())
    return along / size if 0 < size < np.inf else None


def _find_tilt(differ: _Difference, deltas: Floats, bound: float, start: Floats) -> Floats | None:
    """Return θ·d_i of each image."""
    sums, tilt = start, None
    for _ in range(_DIRECTIONS):
        along = _find_direction(differ, deltas, sums)
        if along is None:
            return tilt

        def expect(strength: float, along: Floats = along) -> Floats:
            return np.asarray(np.tanh(strength * along) @ deltas, np.float64)

        strength = _solve(lambda x: float(differ(expect(x))) - bound)
        if strength is None:
            break
        tilt, before, sums = strength * along, sums, expect(strength)
        if np.all(np.abs(sums - before) <= _step(deltas)):
            break
    return tilt


def _solve(excess: Callable[[float], float]) -> float | None:
    """Return a positive root by bisection of logarithms; the upper end if there is none."""
    low, high = 1e-6, 1e12
    if not excess(low) < 0:
        return None
    if not excess(high) > 0:
        return high  # nearly all differences have one sign
    for _ in range(16):  # to 1e-3 of the root
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if excess(middle) < 0 else (low, middle)
    return float(np.sqrt(low * high))
