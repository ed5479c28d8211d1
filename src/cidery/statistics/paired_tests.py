"""Paired tests of two systems on the same images."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
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
from cidery.statistics.runs import RunScores, RunVariance, StandardError, find_error

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
    parts: StandardError
    """Variances over images and over runs, of which `error` is made."""
    p_equivalence: float | None = None
    """Two one-sided tests of a difference within the margin (Schuirmann 1987), where one is given,
    after Holm's correction."""

    @property
    def run_error(self) -> float:
        """Part of `error` that is due to the variance over runs."""
        return math.sqrt(self.parts.runs)

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
    scores = pool(sum_exactly(first)), pool(sum_exactly(second))
    difference = float(scores[0] - scores[1])
    if samples is None:
        samples = pool(draw_sums(first, resamples, seed)), pool(draw_sums(second, resamples, seed))
    differences = samples[0] - samples[1]
    low, high = find_bounds(differences, confidence)
    turned = np.count_nonzero(differences <= 0 if difference > 0 else differences >= 0)
    p_bootstrap = min(1.0, 2.0 * float(turned + 1) / (len(differences) + 1))
    both = [
        RunScores(np.atleast_1d(score), drawn[:, None])
        for score, drawn in zip(scores, samples, strict=True)
    ]
    parts = find_error(both, len(first))
    found = permutation_p(first, second, pool, resamples, seed)
    effect, wins, paired_images = describe_images(values)
    return PairedTest(
        difference=difference,
        low=low,
        high=high,
        error=parts.error,
        detectable=find_detectable(parts, confidence),
        p=found.p,
        method=found.method,
        p_error=found.error,
        adjusted_p=found.p,
        p_bootstrap=np.nan if np.isnan(difference + low) else p_bootstrap,
        effect=effect,
        wins=wins,
        paired_images=paired_images,
        confidence=confidence,
        parts=parts,
        p_equivalence=None
        if margin is None
        else equivalence_p(difference, parts, margin, len(first)),
    )


def paired_test_of_runs(
    first: RunScores,
    second: RunScores,
    values: tuple[Floats, Floats],
    *,
    confidence: float = 0.95,
    margin: float | None = None,
    assumed: RunVariance | None = None,
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
    images = len(values[0])
    difference = float(first.scores.mean() - second.scores.mean())
    parts = find_error([first, second], images, assumed)
    p = _keep_possible(parts.find_p(difference), images)
    reach = parts.reach(confidence)
    effect, wins, paired_images = describe_images(values)
    return PairedTest(
        difference=difference,
        low=difference - reach,
        high=difference + reach,
        error=parts.error,
        detectable=find_detectable(parts, confidence),
        p=math.nan if math.isnan(difference) else p,
        method="images and runs",
        p_error=0.0,
        adjusted_p=math.nan if math.isnan(difference) else p,
        p_bootstrap=np.nan,
        effect=effect,
        wins=wins,
        paired_images=paired_images,
        confidence=confidence,
        parts=parts,
        p_equivalence=None if margin is None else equivalence_p(difference, parts, margin, images),
    )


def _keep_possible(p: float, images: int) -> float:
    """Return a p-value that a test of exchanged images can have; 1 for a single image."""
    smallest = math.ldexp(1.0, 1 - images)
    return 1.0 if images < 2 else max(p, smallest, SMALLEST_P)


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


def find_detectable(parts: StandardError, confidence: float = 0.95, power: float = POWER) -> float:
    r"""Return the smallest difference that a two-sided test finds with this power.

    $$(t_{(1 + confidence) / 2} + t_{power}) \cdot error$$

    NaN for one image, and for systems without any difference.

    ```python
    parts = cidery.statistics.StandardError(0.01**2, 4999)
    round(find_detectable(parts), 4)   # 0.028
    ```

    Args:
        parts: standard error of the difference.
        confidence: 1 minus the level of the test.
        power: probability of finding the difference.
    """
    found = parts.reach(confidence) + parts.reach(2 * power - 1)
    return found if found > 0 else math.nan


MAX_IMAGES = 1_000_000_000
"""Most images that `plan_comparison` considers."""
MAX_RUNS = 1000
"""Most runs that `plan_comparison` considers."""


def plan_comparison(
    test: PairedTest, difference: float, *, images: int, runs: float = 1, confidence: float = 0.95
) -> tuple[float, float]:
    """Return the numbers of images and of runs that show a difference with a power of 80 %.

    Either number is for the other one as it is. Infinite, if no number is enough; NaN without a
    standard error, and for runs if there is one run.

    Args:
        test: a test on these images and runs, for its variances.
        difference: difference to be found.
        images: number of images of the test.
        runs: number of runs of each system; of different numbers, their harmonic mean.
        confidence: 1 minus the level of the planned test.
    """
    if not 0 < difference < math.inf:
        raise SettingError(f"difference must be positive, not {difference:g}")
    parts = test.parts
    if math.isnan(test.detectable):
        return math.nan, math.nan

    def is_enough(planned: StandardError) -> bool:
        return not find_detectable(planned, confidence) > difference

    def with_images(count: int) -> StandardError:
        return replace(parts, images=parts.images * images / count, images_freedom=count - 1)

    def with_runs(count: int) -> StandardError:
        freedom = parts.runs_freedom * (count - 1) / (runs - 1)
        return replace(parts, runs=parts.runs * runs / count, runs_freedom=freedom)

    more_images = _find_smallest(lambda count: is_enough(with_images(count)), MAX_IMAGES)
    if runs <= 1 or not parts.runs:
        return more_images, math.nan
    return more_images, _find_smallest(lambda count: is_enough(with_runs(count)), MAX_RUNS)


def _find_smallest(is_enough: Callable[[int], bool], most: int) -> float:
    """Return the smallest number from 2 on that is enough, as larger ones are; or infinity."""
    if not is_enough(most):
        return math.inf
    low, high = 1, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return float(high)


def equivalence_p(difference: float, parts: StandardError, margin: float, images: int) -> float:
    """Return the p-value of two one-sided tests (Schuirmann 1987) that |difference| < margin.

    $$p = P(t > (margin - |difference|) / error)$$

    ```python
    parts = cidery.statistics.StandardError(0.01**2, 4999)
    round(equivalence_p(0.0, parts, 0.02, 5000), 4)   # 0.0228
    ```

    Args:
        difference: observed difference.
        parts: its standard error.
        margin: largest difference that counts as equivalent.
        images: number of images.
    """
    distance = margin - abs(difference)
    p = parts.find_p(distance)
    if math.isnan(p):
        return math.nan
    return _keep_possible(p / 2, images) if distance > 0 else 1 - p / 2


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
