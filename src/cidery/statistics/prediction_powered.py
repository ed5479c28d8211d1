"""Prediction-powered inference: mean human judgments from few judgments and scores of all items.

*Prediction-powered inference* (Angelopoulos et al., Science 2023) with a tuned weight (PPI++,
Angelopoulos, Duchi and Zrnic 2023): the mean of the answers there are, corrected by how far the
judged captions differ from all captions in the metric's eyes,

    mean(answers) + weight · (mean of all predictions - mean of predictions where there are answers)

The weight makes the estimated variance smallest. A metric that says nothing about people gets a
weight near 0 and costs nothing; predictions may be on any scale. The estimate is unbiased for
large samples however bad the metric is, as long as what was judged was chosen at random.

Answers of one image depend on each other, so variances are those of whole groups (images).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cidery.errors import InputError, MissingExtraError, SettingError
from cidery.statistics.paired_tests import holm
from cidery.statistics.resampling import Floats

if TYPE_CHECKING:
    from numpy.typing import NDArray

MIN_GROUPS = 5
"""Minimum number of judged groups for an interval."""
MIN_GROUPS_TO_DECIDE = 30
"""Groups with answers before a comparison counts as decided: intervals that hold at all times are
asymptotic, and with fewer groups skewed answers decide too often (docs/fewer-judgments.md)."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Judgments of some items of a system, and predictions of all of them.

    ```python
    Sample(np.array([4, np.nan, 2.5]), np.array([0.9, 0.4, 0.1]), np.array([0, 1, 2]))
    ```
    """

    answers: Floats
    """float64[items]: mean judgment; NaN where there is none."""
    predictions: Floats | None
    """float64[items]: a metric's scores, on any scale; None: judgments only."""
    groups: NDArray[np.integer]
    """int[items], from 0: the image of each; the same number is the same image in all samples."""

    def __post_init__(self) -> None:
        lengths = {len(self.answers), len(self.groups)}
        if np.isinf(self.answers).any():
            raise InputError("judgments must be finite")
        if self.predictions is not None:
            lengths.add(len(self.predictions))
            if not np.isfinite(self.predictions).all():
                raise InputError("predictions must be finite")
        if len(lengths) != 1:
            raise InputError("answers, predictions and groups must have equal length")
        if not len(self.answers) or np.isnan(self.answers).all():
            raise InputError("there are no judgments; judge at least some items")

    @property
    def judged(self) -> int:
        """Number of judged items."""
        return int(np.count_nonzero(~np.isnan(self.answers)))


@dataclass(frozen=True)
class Estimate:
    """Mean judgment, or difference of means, with an interval."""

    value: float
    low: float
    high: float
    confidence: float
    error: float
    """Standard error."""
    error_without: float
    """Standard error without predictions."""
    weight: float
    """Weight of the predictions; 0: judgments only."""
    judged: int
    """Number of judged items."""
    p: float
    """Two-sided p-value of the difference from `null`; anytime-valid if the interval is."""
    adjusted_p: float
    """`p`, Holm-corrected for the estimates made together."""
    images: int
    """Number of judged images; of several samples, the smallest."""

    @property
    def is_decided(self) -> bool:
        """True if the value differs from `null` and enough images were judged."""
        return self.images >= MIN_GROUPS_TO_DECIDE and self.adjusted_p <= 1 - self.confidence

    @property
    def saved(self) -> float:
        """Share of judgments saved: without predictions, 1 / (1 - saved) times as many are needed.

        The estimate can be negative by chance; then it is 0.
        """
        if not self.error_without:
            return 0.0
        return max(0.0, 1 - (self.error / self.error_without) ** 2)


@dataclass(frozen=True, eq=False)
class _Parts:
    """Contrast as value + weight · shift, with the errors of both by group."""

    value: float
    shift: float
    value_rows: Floats
    """float64[groups]"""
    shift_rows: Floats
    shares: Floats
    """float64[groups]: the share of the judged items that are in the group; of several samples,
    where it is largest."""
    groups: int
    """Number of judged groups in the sample that has the fewest."""
    judged: int

    def variance(self, weight: float, *, tuned: bool) -> float:
        """Return the leave-one-out variance at a weight.

        Errors are divided by 1 - leverage (MacKinnon and White 1985, HC3).
        """
        rows = self.value_rows + weight * self.shift_rows
        leverage = self.shares
        answered = self.shares > 0
        spread = float((self.shift_rows[answered] ** 2).sum())
        if tuned and spread > 0:
            leverage = leverage + answered * self.shift_rows**2 / spread
        kept = rows / np.maximum(1 - leverage, 0.5 / self.groups)
        return float((kept**2).sum()) * (self.groups - 1) / self.groups


@dataclass(frozen=True)
class _Limits:
    """Range of a contrast, known in advance.

    Where nearly all answers are equal, their variance is too small an estimate: the variance is at
    least that of answers at both ends, and the interval is shifted towards the middle.
    """

    low: float
    high: float
    floor: float
    """Minimum variance."""
    added: float
    """Weight of the answers at both ends in the center."""
    always: bool
    """Always shift the center; otherwise in proportion to the minimum variance."""

    @classmethod
    def of_share(cls, bounds: tuple[float, float], parts: _Parts) -> _Limits:
        """Add two answers of each kind (Agresti and Coull 1998)."""
        low, high = bounds
        floor = 2 * ((high - low) / (parts.groups + 4)) ** 2
        return cls(low, high, floor, 4 / (parts.groups + 4), always=True)

    @classmethod
    def of_scale(
        cls, scale: tuple[float, float], factors: Sequence[float], reach: float, groups: int
    ) -> _Limits:
        """Set the minimum variance to that of two answers at both ends of the scale.

        On a scale with several steps, the center is shifted by half an answer at each end
        (Jeffreys), in proportion to the minimum variance.
        """
        ends = [sorted((factor * scale[0], factor * scale[1])) for factor in factors]
        low, high = (sum(end[side] for end in ends) for side in (0, 1))
        whole = (scale[1] - scale[0]) * max(map(abs, factors))
        added = reach / whole / (groups + 1)
        return cls(low, high, (reach / (groups + 2)) ** 2, added, always=False)

    def center(self, value: float, variance: float) -> float:
        """Return the center of the interval; `variance` is that of the judgments."""
        share = self.added * (1 if self.always or not variance else self.floor / variance)
        return (1 - share) * value + share * (self.low + self.high) / 2

    def clip(self, value: float) -> float:
        """Return the nearest possible value."""
        return min(max(value, self.low), self.high)


def estimate_contrast(
    samples: Sequence[Sample],
    factors: Sequence[float] = (1.0,),
    *,
    confidence: float = 0.95,
    null: float = 0.0,
    bounds: tuple[float, float] | None = None,
    scale: tuple[float, float] | None = None,
    horizon: int | None = None,
    weight: float | None = None,
) -> Estimate:
    """Estimate a linear combination of means: `[1]` is a mean, `[1, -1]` a difference.

    The interval is for the population of images: it includes the sampling error of the images.

    ```python
    rng = np.random.default_rng(0)
    truth, images = rng.normal(3, 1, 400), np.arange(400)
    answers = np.where(images < 80, truth, np.nan)
    found = estimate_contrast([Sample(answers, truth + rng.normal(0, 0.5, 400), images)])
    found.saved > 0.5  # True
    ```

    Args:
        samples: of the systems in the contrast.
        factors: one for each sample.
        confidence: of the interval.
        null: the value that `p` compares with: 0 for a difference, 0.5 for a share of wins.
        bounds: the least and the greatest value that the contrast can have, such as `(0, 1)` for
            shares; the interval then stays inside, and is not empty where all answers are the same.
        scale: the least and the greatest answer that people can give, such as `(1, 5)` for
            ratings; does for means and differences what `bounds` does for shares. Without it,
            intervals are too short where nearly all answers are the same.
        horizon: None: the interval holds for a number of judgments that was fixed before. A number
            of images: it holds at all times at once, so that one may look after every answer and
            stop when it is decided (a confidence sequence, Waudby-Smith et al. 2024, Annals of
            Statistics 52); it is narrowest at about that many judged images.
        weight: of the predictions; None tunes it.
    """
    if not 0 < confidence < 1:
        raise SettingError(f"confidence must be between 0 and 1, not {confidence}")
    if horizon is not None and horizon < 1:
        raise SettingError(f"horizon must be at least 1 image, not {horizon}")
    parts = _add_up(samples, factors)
    if parts.groups < MIN_GROUPS:
        raise InputError(
            f"an interval needs judgments of at least {MIN_GROUPS} images, not {parts.groups}; "
            "judge more"
        )
    limits = _find_limits(parts, samples, factors, bounds, scale)
    floor = 0.0 if limits is None else limits.floor
    without = math.sqrt(max(parts.variance(0.0, tuned=False), floor))
    chosen = _tune(parts) if weight is None else weight
    tuned = weight is None and chosen != 0
    error = math.sqrt(max(parts.variance(chosen, tuned=tuned), floor))
    if tuned and error > without:
        # Tuning the weight costs more than it gains: judgments only.
        chosen, tuned, error = 0.0, False, without
    value = parts.value + chosen * parts.shift
    freedom = parts.groups - (2 if tuned else 1)
    width = error * _quantile(confidence, freedom, parts.groups, horizon)
    center = value
    if limits is not None:
        value = limits.clip(value)
        center = limits.center(value, without**2)
    low, high = center - width, center + width
    if limits is not None:
        low, high = limits.clip(low), limits.clip(high)
    p = p_of_distance(abs(center - null), error, freedom, parts.groups, horizon)
    return Estimate(
        *(value, low, high, confidence, error, without, chosen, parts.judged),
        p,
        adjusted_p=p,
        images=parts.groups,
    )


def _find_limits(
    parts: _Parts,
    samples: Sequence[Sample],
    factors: Sequence[float],
    bounds: tuple[float, float] | None,
    scale: tuple[float, float] | None,
) -> _Limits | None:
    if bounds is not None and scale is not None:
        raise SettingError("bounds (for shares) and scale (for ratings) cannot be combined")
    if bounds is not None:
        return _Limits.of_share(bounds, parts)
    if scale is None:
        return None
    return _Limits.of_scale(scale, factors, find_reach(samples, factors, scale), parts.groups)


def find_reach(
    samples: Sequence[Sample], factors: Sequence[float], scale: tuple[float, float]
) -> float:
    """Return the largest possible distance of groups in a contrast of ratings on a scale.

    It is reduced by the observed ratio of the spread of group means to that of items.
    """
    averaged = max(_average(sample) for sample in samples)
    return (scale[1] - scale[0]) * max(map(abs, factors)) * averaged


def adjust_together(estimates: Sequence[Estimate]) -> list[Estimate]:
    """Return estimates with p-values that are Holm-corrected for all of them."""
    adjusted = holm([estimate.p for estimate in estimates])
    return [
        replace(estimate, adjusted_p=p) for estimate, p in zip(estimates, adjusted, strict=True)
    ]


def _add_up(samples: Sequence[Sample], factors: Sequence[float]) -> _Parts:
    if len(samples) != len(factors) or not samples:
        raise SettingError(f"{len(samples)} samples need as many factors, not {len(factors)}")
    count = max(int(sample.groups.max()) for sample in samples) + 1
    value = shift = 0.0
    value_rows, shift_rows = np.zeros(count), np.zeros(count)
    shares = np.zeros(count)
    with_answers = []
    for sample, factor in zip(samples, factors, strict=True):
        judged = ~np.isnan(sample.answers)
        answers, groups = sample.answers[judged], sample.groups[judged]
        shares = np.maximum(shares, np.bincount(groups, minlength=count) / len(groups))
        with_answers.append(len(np.unique(groups)))
        value += factor * float(answers.mean())
        value_rows += factor * _spread(answers, groups, count)
        if sample.predictions is not None:
            known = sample.predictions[judged]
            shift += factor * float(sample.predictions.mean() - known.mean())
            shift_rows += factor * (
                _spread(sample.predictions, sample.groups, count) - _spread(known, groups, count)
            )
    judged_items = sum(sample.judged for sample in samples)
    return _Parts(value, shift, value_rows, shift_rows, shares, min(with_answers), judged_items)


def _spread(values: Floats, groups: NDArray[np.integer], count: int) -> Floats:
    """Return each group's contribution to the error of the mean, float64[count]."""
    return np.asarray(np.bincount(groups, values - values.mean(), count) / len(values), np.float64)


def _average(sample: Sample) -> float:
    """Return the ratio of the standard deviations of group means and of items; at most 1."""
    judged = ~np.isnan(sample.answers)
    answers, groups = sample.answers[judged], sample.groups[judged]
    if answers.min() == answers.max():
        return 1.0
    sizes = np.bincount(groups)
    means = np.bincount(groups, answers)[sizes > 0] / sizes[sizes > 0]
    return min(1.0, float(means.std() / answers.std()))


def _tune(parts: _Parts) -> float:
    """Return the weight that minimizes the variance."""
    spread = float((parts.shift_rows**2).sum())
    scale = float(np.abs(parts.shift_rows).max(initial=0.0))
    if spread <= 0 or scale < 1e-12:  # all items are judged, or predictions are constant
        return 0.0
    return -float((parts.value_rows * parts.shift_rows).sum()) / spread


def _student(name: str, *arguments: float) -> float:
    try:
        from scipy import special
    except ImportError:
        raise MissingExtraError.to("estimate means", package="SciPy", extra="meta") from None
    return float(getattr(special, name)(*arguments))


def _quantile(confidence: float, freedom: int, groups: int, horizon: int | None) -> float:
    """Return the half-width of an interval in standard errors."""
    student = _student("stdtrit", freedom, (1 + confidence) / 2)
    if horizon is None:
        return student
    alpha = 1 - confidence
    time = groups * _mixture(alpha, horizon)
    sequence = math.sqrt(2 * (time + 1) / time * math.log(math.sqrt(time + 1) / alpha))
    # Widen the sequence for small samples as a fixed interval is widened.
    return sequence * student / _student("ndtri", (1 + confidence) / 2)


def _mixture(alpha: float, horizon: int) -> float:
    """Return the squared mixture scale of the narrowest sequence at the horizon."""
    logarithm = -2 * math.log(alpha)
    return (logarithm + math.log(logarithm + 1)) / horizon


def p_of_distance(
    distance: float, error: float, freedom: int, groups: int, horizon: int | None
) -> float:
    """Return the two-sided p-value of a distance from the null; anytime-valid with a horizon."""
    if error == 0:
        return 1.0 if distance == 0 else 0.0
    if horizon is None:
        return min(1.0, 2 * _student("stdtr", freedom, -distance / error))
    # The largest α whose sequence still holds the null, with the scale for α = 0.05.
    time = groups * _mixture(0.05, horizon)
    small = _student("stdtrit", freedom, 0.975) / _student("ndtri", 0.975)
    score = distance / (error * small)
    exponent = 0.5 * math.log(time + 1) - score**2 * time / (2 * (time + 1))
    return min(1.0, math.exp(exponent))
