"""Paired tests of two systems on the same images."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from cidery.errors import SettingError
from cidery.statistics.exact_sums import sum_exactly
from cidery.statistics.permutation import SMALLEST_P, PermutationMethod, permutation_p
from cidery.statistics.resampling import (
    RESAMPLES,
    Floats,
    Pool,
    check_sampling,
    check_seed,
    draw_sums,
    find_bounds,
)
from cidery.statistics.runs import RunScores, find_error, student_p, student_quantile

POWER = 0.8
"""Power of the detectable difference."""
Method: TypeAlias = PermutationMethod | Literal["images and runs"]
"""Source of a p-value: a permutation test, or Student's test over images and runs."""
Verdict: TypeAlias = Literal["different", "different, within the margin", "equivalent", "undecided"]


@dataclass(frozen=True)
class PairedTest:
    """Paired test of two systems on the same images."""

    difference: float
    """Score of the first minus score of the second."""
    low: float
    high: float
    """Interval of the difference: of the bootstrap or, with several runs, Student's."""
    error: float
    """Standard error of the difference."""
    detectable: float
    """Smallest difference found with a power of 80 %, at this error and after correction."""
    p: float
    """Two-sided: probability of at least this difference under random exchanges of the outputs."""
    method: Method
    """Source of `p`."""
    p_error: float
    """Standard error of `p` by random permutations; 0 if exact."""
    adjusted_p: float
    """`p` after Holm's correction for the comparisons made together."""
    p_bootstrap: float
    """Two-sided: twice the share of samples with the opposite sign (Koehn 2004); NaN with runs."""
    effect: float
    """Mean over standard deviation of the images' differences (Cohen's d_z); 0.2 is small."""
    wins: float
    """Share of images on which the first is better, ties counted half."""
    paired_images: int
    """Number of images on which both have a score (not NaN); `effect` and `wins` are of these."""
    confidence: float
    freedom: float = math.inf
    """Degrees of freedom of `error`, with several runs."""
    run_error: float = 0.0
    """Part of `error` that is due to the variance over runs, with several runs."""
    p_equivalence: float | None = None
    """Two one-sided tests of a difference within the margin (Schuirmann 1987), where one is given,
    after Holm's correction."""

    @property
    def is_different(self) -> bool:
        """True if the adjusted p-value is below 1 - confidence."""
        return self.adjusted_p < 1 - self.confidence

    @property
    def verdict(self) -> Verdict:
        """Result at the level 1 - confidence: a difference, equivalence, both, or neither."""
        equivalent = self.p_equivalence is not None and self.p_equivalence < 1 - self.confidence
        if self.is_different:
            return "different, within the margin" if equivalent else "different"
        return "equivalent" if equivalent else "undecided"


def paired_test(
    first: Floats,
    second: Floats,
    pool: Pool,
    values: tuple[Floats, Floats],
    *,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
    margin: float | None = None,
    samples: tuple[Floats, Floats] | None = None,
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
        margin: largest difference that counts as equivalent.
        samples: scores of bootstrap samples of both systems, to share them between tests.
    """
    check_sampling(confidence, resamples)
    check_seed(seed)
    check_margin(margin)
    difference = float(pool(sum_exactly(first)) - pool(sum_exactly(second)))
    if samples is None:
        samples = pool(draw_sums(first, resamples, seed)), pool(draw_sums(second, resamples, seed))
    differences = samples[0] - samples[1]
    low, high = find_bounds(differences, confidence)
    turned = np.count_nonzero(differences <= 0 if difference > 0 else differences >= 0)
    p_bootstrap = min(1.0, 2.0 * float(turned + 1) / (len(differences) + 1))
    error = float(differences.std(ddof=1)) if len(differences) > 1 else np.nan
    found = permutation_p(first, second, pool, resamples, seed)
    effect, wins, paired_images = describe_images(values)
    return PairedTest(
        difference=difference,
        low=low,
        high=high,
        error=error,
        detectable=find_detectable(error, confidence),
        p=found.p,
        method=found.method,
        p_error=found.error,
        adjusted_p=found.p,
        p_bootstrap=np.nan if np.isnan(difference) else p_bootstrap,
        effect=effect,
        wins=wins,
        paired_images=paired_images,
        confidence=confidence,
        p_equivalence=None if margin is None else equivalence_p(difference, error, margin),
    )


def paired_test_of_runs(
    first: RunScores,
    second: RunScores,
    values: tuple[Floats, Floats],
    *,
    confidence: float = 0.95,
    margin: float | None = None,
    assumed: tuple[float, int] | None = None,
) -> PairedTest:
    """Compare two systems with several runs, over images and runs, by Student's test.

    Args:
        first: scores of the runs.
        second: those of the other system, with the same samples of the images.
        values: mean score of each image over the runs, for the effect size.
        confidence: confidence level of the interval.
        margin: largest difference that counts as equivalent.
        assumed: variance over runs of a system with a single run: see `find_error`.
    """
    check_margin(margin)
    difference = float(first.scores.mean() - second.scores.mean())
    error, freedom = find_error([first, second], len(values[0]), assumed)
    over_images = float((first.samples.mean(axis=1) - second.samples.mean(axis=1)).std(ddof=1))
    effect, wins, paired_images = describe_images(values)
    p = _student_of_difference(difference, error, freedom, len(values[0]))
    reach = student_quantile(confidence, freedom) * error
    return PairedTest(
        difference=difference,
        low=difference - reach,
        high=difference + reach,
        error=error,
        detectable=find_detectable(error, confidence, freedom=freedom),
        p=p,
        method="images and runs",
        p_error=0.0,
        adjusted_p=p,
        p_bootstrap=np.nan,
        effect=effect,
        wins=wins,
        paired_images=paired_images,
        confidence=confidence,
        freedom=freedom,
        run_error=math.sqrt(max(0.0, error**2 - over_images**2)),
        p_equivalence=None if margin is None else equivalence_p(difference, error, margin, freedom),
    )


def _student_of_difference(difference: float, error: float, freedom: float, images: int) -> float:
    """Return the p-value of a difference; no test of exchanged images has a smaller one."""
    if math.isnan(difference) or math.isnan(error):
        return math.nan
    distance = math.inf if difference else 0.0
    p = student_p(difference / error if error > 0 else distance, freedom)
    return max(p, math.ldexp(1.0, 1 - images), SMALLEST_P)


def describe_images(values: tuple[Floats, Floats]) -> tuple[float, float, int]:
    """Return the effect size, the share of wins and the number of images with both scores."""
    deltas = values[0] - values[1]
    deltas = deltas[~np.isnan(deltas)]
    if not len(deltas):
        return 0.0, np.nan, 0
    spread = float(deltas.std(ddof=1)) if len(deltas) > 1 else 0.0
    effect = float(deltas.mean()) / spread if spread > 0 else 0.0
    return effect, float(np.mean((deltas > 0) + 0.5 * (deltas == 0))), len(deltas)


def check_margin(margin: float | None) -> None:
    """Raise a SettingError for a margin of equivalence that is not positive."""
    if margin is not None and not 0 < margin < math.inf:
        raise SettingError(f"margin must be positive, not {margin}")


def find_detectable(
    error: float, confidence: float = 0.95, power: float = POWER, freedom: float = math.inf
) -> float:
    r"""Return the smallest difference that a two-sided test finds with this power.

    $$(t_{(1 + confidence) / 2} + t_{power}) \cdot error$$

    ```python
    round(find_detectable(0.01), 4)   # 0.028
    ```

    Args:
        error: standard error of the difference.
        confidence: 1 minus the level of the test.
        power: probability of finding the difference.
        freedom: degrees of freedom of the error.
    """
    if math.isnan(error):
        return math.nan
    both = student_quantile(confidence, freedom) + student_quantile(2 * power - 1, freedom)
    return both * error


MAX_RUNS = 1000
"""Most runs that `plan_comparison` considers."""


def plan_comparison(
    test: PairedTest, difference: float, *, images: int, runs: int = 1, confidence: float = 0.95
) -> tuple[float, float]:
    """Return the numbers of images and of runs that show a difference with a power of 80 %.

    Either number is for the other one as it is. Infinite, if no number is enough; NaN for runs, if
    there is one run.

    Args:
        test: a test on these images and runs, for its standard errors.
        difference: difference to be found.
        images: number of images of the test.
        runs: number of runs of each system.
        confidence: 1 minus the level of the planned test.
    """
    if not 0 < difference < math.inf:
        raise SettingError(f"difference must be positive, not {difference:g}")
    if math.isnan(test.error):
        return math.nan, math.nan
    by_runs = test.run_error**2
    by_images = max(0.0, test.error**2 - by_runs)
    bearable = (difference / find_detectable(1.0, confidence, freedom=test.freedom)) ** 2 - by_runs
    more_images = math.ceil(images * by_images / bearable) if bearable > 0 else math.inf
    if runs == 1:
        return more_images, math.nan
    for count in range(2, MAX_RUNS + 1):
        part = by_runs * runs / count
        total = by_images + part
        freedom = 2 * (count - 1) * (total / part) ** 2 if part else math.inf
        if find_detectable(math.sqrt(total), confidence, freedom=freedom) <= difference:
            return more_images, float(count)
    return more_images, math.inf


def equivalence_p(
    difference: float, error: float, margin: float, freedom: float = math.inf
) -> float:
    """Return the p-value of two one-sided tests (Schuirmann 1987) that |difference| < margin.

    $$p = P(t > (margin - |difference|) / error)$$

    ```python
    round(equivalence_p(0.0, 0.01, 0.02), 4)   # 0.0228
    ```
    """
    if math.isnan(difference) or math.isnan(error):
        return math.nan
    distance = margin - abs(difference)
    if error == 0:
        return 0.0 if distance > 0 else 1.0
    half = student_p(distance / error, freedom) / 2
    return half if distance > 0 else 1 - half


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values of several comparisons (Holm 1979), in the order given.

    NaN, of comparisons without scores, stays and is not counted.
    """
    known = [place for place, p in enumerate(p_values) if not np.isnan(p)]
    adjusted = list(map(float, p_values))
    running = 0.0
    for rank, place in enumerate(sorted(known, key=lambda place: p_values[place])):
        running = max(running, min(1.0, (len(known) - rank) * p_values[place]))
        adjusted[place] = running
    return adjusted
