r"""Errors of scores over images and runs.

Runs are trainings of one system with different seeds, each evaluated on the same images. With n
images and R runs, the mean of the runs' scores varies by the choice of images, by the runs, and by
their interaction, since different images are hard for different runs:

$$V = \sigma_{images}^2 / n + \sigma_{both}^2 / (n R) + \sigma_{runs}^2 / R$$

The first two are the variance over bootstrap samples of the images; the third is the variance of
the runs' scores in excess of their interaction. Degrees of freedom follow Satterthwaite (1946).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from cidery.statistics.resampling import Floats, Interval, Pool, find_bounds


@dataclass(frozen=True, eq=False)
class RunScores:
    """Scores of one system's runs, on all images and on bootstrap samples of the images."""

    scores: Floats
    """float64[runs]"""
    samples: Floats
    """float64[resamples, runs]; a sample has the same images in all runs."""

    @property
    def freedom(self) -> int:
        """Degrees of freedom of the variance over runs."""
        return len(self.scores) - 1

    @property
    def variance(self) -> float:
        """Variance of the runs' scores."""
        return float(self.scores.var(ddof=1))

    @property
    def excess(self) -> float:
        """Variance of the runs' scores beyond what the choice of images explains; at least 0."""
        # Runs that differ by chance on each image differ in their sums, too.
        deviations = self.samples - self.samples.mean(axis=1, keepdims=True)
        interaction = float(deviations.var(axis=0, ddof=1).sum()) / self.freedom
        return max(0.0, self.variance - interaction)


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


def pool_excess(systems: Sequence[RunScores]) -> tuple[float, int] | None:
    """Return the mean variance over runs and its degrees of freedom; None without several runs."""
    repeated = [system for system in systems if system.freedom]
    freedom = sum(system.freedom for system in repeated)
    if not freedom:
        return None
    return sum(system.freedom * system.excess for system in repeated) / freedom, freedom


def find_error(
    systems: Sequence[RunScores], images: int, assumed: tuple[float, int] | None = None
) -> tuple[float, float]:
    """Return the standard error over images and runs, and its degrees of freedom.

    Args:
        systems: one, for its mean, or two, for the difference of their means.
        images: number of images.
        assumed: variance over runs of a system with a single run, with its degrees of freedom, from
            `pool_excess`. Default: none.
    """
    means = [system.samples.mean(axis=1) for system in systems]
    total = float((means[0] - means[1] if len(means) > 1 else means[0]).var(ddof=1))
    spread = total**2 / max(images - 1, 1)
    for system in systems:
        runs = len(system.scores)
        if system.freedom:
            excess, variance, freedom = system.excess, system.variance, system.freedom
        elif assumed is not None:
            excess, freedom = assumed
            variance = excess
        else:
            continue
        total += excess / runs
        spread += (variance / runs) ** 2 / freedom
    return math.sqrt(total), total**2 / spread if spread else math.inf


def find_interval(runs: RunScores, images: int, confidence: float) -> Interval:
    """Return the percentile bootstrap interval of one run, or Student's interval of several."""
    score = float(runs.scores.mean())
    if not runs.freedom:
        low, high = find_bounds(runs.samples[:, 0], confidence)
        return Interval(score, low, high, confidence)
    error, freedom = find_error([runs], images)
    reach = student_quantile(confidence, freedom) * error
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
    if math.isinf(distance):
        return 0.0
    if freedom > 1e7:
        return math.erfc(abs(distance) / math.sqrt(2))
    square = distance**2
    return _incomplete_beta(freedom / 2, 0.5, freedom / (freedom + square), square)


@lru_cache(maxsize=1024)
def student_quantile(confidence: float, freedom: float) -> float:
    """Return t such that a share `confidence` of Student's distribution is between -t and t.

    ```python
    round(student_quantile(0.95, 4), 4)   # 2.7764
    ```
    """
    low, high = 0.0, 1.0
    while student_p(high, freedom) > 1 - confidence:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if student_p(middle, freedom) > 1 - confidence else (low, middle)
    return high


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
