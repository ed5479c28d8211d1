r"""Errors of scores over images and runs.

Runs are trainings of one system with different seeds, each evaluated on the same images. With n
images and R runs, the mean of the runs' scores varies by the choice of images, by the runs, and by
their interaction, since different images are hard for different runs:

$$V = \sigma_{images}^2 / n + \sigma_{both}^2 / (n R) + \sigma_{runs}^2 / R$$

The last two are the variance of the runs' scores, divided by R. The first is the variance over
bootstrap samples of the images, less the interaction. Each has degrees of freedom of its own, and
intervals add the squares of their reaches, so that they cover at least what they say with few runs,
too (Banerjee 1960).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from cidery.statistics.resampling import Floats, Interval, Pool, find_bounds

_ROUNDING = 1e-12
"""Relative; standard errors below are rounding errors of equal scores."""
_SMALLEST = 1e-290
"""Smallest p-value that is computed from two variances."""


@dataclass(frozen=True)
class RunVariance:
    """Variance over the runs of a system, or pooled over several systems."""

    variance: float
    """Of the runs' scores."""
    interaction: float
    """Part of `variance` that is explained by the choice of images."""
    freedom: int
    """Degrees of freedom."""


@dataclass(frozen=True, eq=False)
class RunScores:
    """Scores of one system's runs, on all images and on bootstrap samples of the images."""

    scores: Floats
    """float64[runs]"""
    samples: Floats
    """float64[resamples, runs]; a sample has the same images in all runs."""

    @property
    def runs(self) -> int:
        """Number of runs."""
        return len(self.scores)

    @property
    def run_variance(self) -> RunVariance | None:
        """Variance over runs; None for a single run."""
        if self.runs == 1:
            return None
        # Runs that differ by chance on each image differ in their sums, too.
        deviations = self.samples - self.samples.mean(axis=1, keepdims=True)
        interaction = float(deviations.var(axis=0, ddof=1).sum()) / (self.runs - 1)
        return RunVariance(float(self.scores.var(ddof=1)), interaction, self.runs - 1)


@dataclass(frozen=True)
class MeanOfRuns:
    """Pool of the rows of several runs side by side: the mean of the runs' scores."""

    pool: Pool
    """That of one run."""
    runs: int

    def score_runs(self, sums: Floats) -> Floats:
        """Return the score of each run: float64[..., runs * k] -> float64[..., runs]."""
        return self.pool(sums.reshape(*sums.shape[:-1], self.runs, -1))

    def __call__(self, sums: Floats) -> Floats:
        """Return the mean of the runs' scores."""
        return np.asarray(self.score_runs(sums).mean(axis=-1), np.float64)


def pool_run_variance(systems: Sequence[RunScores]) -> RunVariance | None:
    """Return the mean variance over runs of several systems; None without several runs."""
    known = [found for system in systems if (found := system.run_variance) is not None]
    freedom = sum(found.freedom for found in known)
    if not freedom:
        return None
    return RunVariance(
        math.fsum(found.freedom * found.variance for found in known) / freedom,
        math.fsum(found.freedom * found.interaction for found in known) / freedom,
        freedom,
    )


@dataclass(frozen=True)
class StandardError:
    """Variance of a score, or of a difference, over images and runs."""

    images: float
    """Variance over the choice of images; NaN for one image."""
    images_freedom: float
    """Degrees of freedom."""
    runs: float = 0.0
    """Variance over runs, with their interaction with images."""
    runs_freedom: float = math.inf
    """Degrees of freedom."""

    @property
    def error(self) -> float:
        """Standard error."""
        return math.sqrt(self.images + self.runs)

    def reach(self, confidence: float) -> float:
        r"""Return half the width of an interval.

        $$\sqrt{t_{images}^2 V_{images} + t_{runs}^2 V_{runs}}$$
        """
        return self._reach(1 - confidence)

    def _reach(self, p: float) -> float:
        if math.isnan(self.images):
            return math.nan
        parts = ((self.images, self.images_freedom), (self.runs, self.runs_freedom))
        found = [variance * _quantile(p, freedom) ** 2 for variance, freedom in parts if variance]
        return math.sqrt(math.fsum(found))

    def find_p(self, distance: float) -> float:
        """Return the two-sided p-value: 1 less the confidence whose interval reaches a distance."""
        if math.isnan(distance) or math.isnan(self.images):
            return math.nan
        if self.error == 0:
            return 0.0 if distance else 1.0
        if not (self.runs and self.images):
            freedom = self.images_freedom if self.images else self.runs_freedom
            return student_p(distance / self.error, freedom)
        # Between the p-values with the fewest and the most degrees of freedom.
        freedoms = (self.images_freedom, self.runs_freedom)
        low, high = sorted(student_p(distance / self.error, freedom) for freedom in freedoms)
        if high - low <= _ROUNDING * high or high < _SMALLEST:
            return high
        sought = math.log(abs(distance))
        return math.exp(
            _find_root(
                lambda x: math.log(self._reach(math.exp(x))) - sought,
                math.log(max(low, _SMALLEST)),
                math.log(high),
            )
        )


def find_error(
    systems: Sequence[RunScores], images: int, assumed: RunVariance | None = None
) -> StandardError:
    """Return the standard error over images and runs.

    Args:
        systems: one, for its mean, or two, for the difference of their means.
        images: number of images.
        assumed: variance over runs of systems with a single run, from `pool_run_variance`.
            Default: 0.
    """
    means = [system.samples.mean(axis=1) for system in systems]
    deltas = means[0] - means[1] if len(means) > 1 else means[0]
    size = max(float(np.abs(system.scores).max()) for system in systems)
    total = math.nan
    if images > 1 and len(deltas) > 1:
        total = float(deltas.var(ddof=1)) * images / (images - 1)
        total = 0.0 if total <= (_ROUNDING * size) ** 2 else total
    found = [system.run_variance for system in systems]
    if assumed is not None and None in found:
        # One estimate for both, which are not independent.
        share = math.fsum(1 / system.runs for system in systems)
        runs, interaction = assumed.variance * share, assumed.interaction * share
        freedom = float(assumed.freedom)
    else:
        parts = [
            (known.variance / system.runs, known.interaction / system.runs, known.freedom)
            for system, known in zip(systems, found, strict=True)
            if known is not None
        ]
        runs = math.fsum(variance for variance, _, _ in parts)
        interaction = math.fsum(part for _, part, _ in parts)
        spread = math.fsum(variance**2 / freedom for variance, _, freedom in parts)
        freedom = runs**2 / spread if spread else math.inf
    if runs <= (_ROUNDING * size) ** 2:
        return StandardError(total, images - 1)
    return StandardError(max(0.0, total - interaction), images - 1, runs, freedom)


def find_interval(
    runs: RunScores, images: int, confidence: float, assumed: RunVariance | None = None
) -> Interval:
    """Return the percentile bootstrap interval of one run, or that over images and runs."""
    score = float(runs.scores.mean())
    if runs.runs == 1 and assumed is None:
        low, high = find_bounds(runs.samples[:, 0], confidence)
        return Interval(score, low, high, confidence)
    reach = find_error([runs], images, assumed).reach(confidence)
    return Interval(score, score - reach, score + reach, confidence)


def student_p(distance: float, freedom: float) -> float:
    r"""Return the two-sided p-value of Student's t; freedom may be fractional or infinite.

    $$p = I_{\nu / (\nu + t^2)}(\nu / 2, 1 / 2)$$

    ```python
    round(student_p(2.0, 10), 4)   # 0.0734
    ```
    """
    if math.isnan(distance) or math.isnan(freedom):
        return math.nan
    distance = abs(distance)
    if distance > 1e150:
        return 0.0
    if freedom > 1e7:
        return math.erfc(distance / math.sqrt(2))
    square = distance**2
    return _incomplete_beta(freedom / 2, 0.5, freedom / (freedom + square), square)


def student_quantile(confidence: float, freedom: float) -> float:
    """Return t such that a share `confidence` of Student's distribution is between -t and t.

    ```python
    round(student_quantile(0.95, 4), 4)   # 2.7764
    ```
    """
    return _quantile(1 - confidence, freedom)


@lru_cache(maxsize=4096)
def _quantile(p: float, freedom: float) -> float:
    if p >= 1:
        return 0.0
    low, high = 1.0, 1.0
    while student_p(low, freedom) < p:
        low /= 4
    while student_p(high, freedom) > p:
        high *= 4
    sought = math.log(p)
    root = _find_root(
        lambda x: math.log(student_p(math.exp(x), freedom)) - sought, math.log(low), math.log(high)
    )
    return math.exp(root)


def _find_root(function: Callable[[float], float], low: float, high: float) -> float:
    """Return the root of a decreasing function between two points (Illinois method)."""
    at_low, at_high = function(low), function(high)
    if at_low <= 0 or at_high >= 0:
        return low if at_low <= 0 else high
    side, before = 0, math.nan
    for _ in range(200):
        middle = (low * at_high - high * at_low) / (at_high - at_low)
        if not low < middle < high:
            middle = (low + high) / 2
        value = function(middle)
        if value == 0 or abs(middle - before) <= 1e-15 * max(1.0, abs(middle)):
            break
        before = middle
        if value > 0:
            low, at_low = middle, value
            at_high /= 2 if side == 1 else 1
            side = 1
        else:
            high, at_high = middle, value
            at_low /= 2 if side == -1 else 1
            side = -1
    return middle


def _incomplete_beta(a: float, b: float, x: float, square: float) -> float:
    """Return I_x(a, b) for x = 2a / (2a + square), by Lentz's method for its continued fraction."""
    if square == 0:
        return 1.0
    rest = square / (2 * a + square)  # 1 - x, with all digits
    if x > (a + 1) / (a + b + 2):
        return 1 - _fraction(b, a, rest, x)
    return _fraction(a, b, x, rest)


def _fraction(a: float, b: float, x: float, rest: float) -> float:
    front = math.exp(
        math.lgamma(a + b)
        - math.lgamma(a)
        - math.lgamma(b)
        + a * math.log(x)
        + b * math.log(rest)
        - math.log(a)
    )
    tiny = 1e-300
    c, d = 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > tiny else tiny)
    value = d
    for m in range(1, 10_000):
        for part in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 + part * d
            c = 1 + part / c
            d = 1 / (d if abs(d) > tiny else tiny)
            c = c if abs(c) > tiny else tiny
            value *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return front * value
