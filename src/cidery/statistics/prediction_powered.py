"""Fewer judgments: means of people's answers from few answers and a metric's scores of everything.

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
from cidery.statistics.resampling import Floats, holm

if TYPE_CHECKING:
    from numpy.typing import NDArray

FEWEST_GROUPS = 5
"""Groups with answers that an interval needs; below, a spread cannot be estimated."""
FEWEST_TO_DECIDE = 30
"""Groups with answers before a comparison counts as decided: intervals that hold at all times are
asymptotic, and with fewer groups skewed answers decide too often (docs/fewer-judgments.md)."""


@dataclass(frozen=True, eq=False)
class Sample:
    """What is known of one system: answers to some of its items, predictions of all of them.

    ```python
    Sample(np.array([4, np.nan, 2.5]), np.array([0.9, 0.4, 0.1]), np.array([0, 1, 2]))
    ```
    """

    answers: Floats
    """float64[items]: the mean of what people said; nan where nobody was asked."""
    predictions: Floats | None
    """float64[items]: a metric's scores, on any scale; None: people alone."""
    groups: NDArray[np.integer]
    """int[items], from 0: the image of each; the same number is the same image in all samples."""

    def __post_init__(self) -> None:
        lengths = {len(self.answers), len(self.groups)}
        if np.isinf(self.answers).any():
            raise InputError("answers must be numbers, not infinite")
        if self.predictions is not None:
            lengths.add(len(self.predictions))
            if not np.isfinite(self.predictions).all():
                raise InputError("predictions must be numbers, not nan or infinite")
        if len(lengths) != 1:
            raise InputError("answers, predictions and groups must be equally many")
        if not len(self.answers) or np.isnan(self.answers).all():
            raise InputError("there is no answer to estimate from; judge at least some items")

    @property
    def judged(self) -> int:
        """How many items have an answer."""
        return int(np.count_nonzero(~np.isnan(self.answers)))


@dataclass(frozen=True)
class Estimate:
    """A mean of answers, or a difference of such means, with an interval."""

    value: float
    low: float
    high: float
    confidence: float
    error: float
    """The standard error."""
    error_without: float
    """The standard error that the same answers give without predictions."""
    weight: float
    """Of the predictions; 0: people alone."""
    judged: int
    """Items with an answer."""
    p: float
    """Two-sided: of a difference from `null`; valid at any time where the interval is."""
    adjusted_p: float
    """`p` after Holm's correction for the estimates made together."""
    images: int
    """With an answer; of several samples, in the one that has fewest."""

    @property
    def is_decided(self) -> bool:
        """Whether the value differs from `null`, and enough images were judged to say so."""
        return self.images >= FEWEST_TO_DECIDE and self.adjusted_p <= 1 - self.confidence

    @property
    def saved(self) -> float:
        """The share of judgments saved: people alone need 1 / (1 - saved) as many for this width.

        A sum of squared errors is estimated, so it may be below 0 by chance; then nothing is saved.
        """
        if not self.error_without:
            return 0.0
        return max(0.0, 1 - (self.error / self.error_without) ** 2)


@dataclass(frozen=True, eq=False)
class _Parts:
    """A contrast as value + weight · shift, and each group's share in the errors of both."""

    value: float
    shift: float
    value_rows: Floats
    """float64[groups]"""
    shift_rows: Floats
    shares: Floats
    """float64[groups]: the share of the judged items that are in the group; of several samples,
    where it is largest."""
    groups: int
    """With answers, of the sample that has fewest."""
    judged: int

    def variance(self, weight: float, *, tuned: bool) -> float:
        """Return the variance at a weight, as leaving out one group after the other finds it.

        A group draws mean and weight towards itself and so looks closer to them than the next one
        will be: its error is divided by 1 - its leverage (MacKinnon and White 1985, HC3).
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
    """Where a contrast can lie, known before anyone answers.

    Where (nearly) all answers are the same, their spread says too little about the next ones. So
    the variance is that of answers at both ends at least, and the interval moves to the middle.
    """

    low: float
    high: float
    floor: float
    """The least variance."""
    added: float
    """How much answers at both ends move the center: their share of all."""
    always: bool
    """Whether the center moves in any case, or as far as the floor makes the variance."""

    @classmethod
    def of_share(cls, bounds: tuple[float, float], parts: _Parts) -> _Limits:
        """Add two answers of each kind, as Agresti and Coull (1998) do for shares."""
        low, high = bounds
        floor = 2 * ((high - low) / (parts.groups + 4)) ** 2
        return cls(low, high, floor, 4 / (parts.groups + 4), always=True)

    @classmethod
    def of_scale(
        cls, scale: tuple[float, float], factors: Sequence[float], reach: float, groups: int
    ) -> _Limits:
        """Believe no error below that of two answers a whole scale away.

        On a scale with several steps most answers lie inside, where they need no help: so the
        center moves by half an answer at each end (Jeffreys), and only as far as the floor counts.
        """
        ends = [sorted((factor * scale[0], factor * scale[1])) for factor in factors]
        low, high = (sum(end[side] for end in ends) for side in (0, 1))
        whole = (scale[1] - scale[0]) * max(map(abs, factors))
        added = reach / whole / (groups + 1)
        return cls(low, high, (reach / (groups + 2)) ** 2, added, always=False)

    def center(self, value: float, variance: float) -> float:
        """Return the middle of the interval; the variance is that of answers alone."""
        share = self.added * (1 if self.always or not variance else self.floor / variance)
        return (1 - share) * value + share * (self.low + self.high) / 2

    def clip(self, value: float) -> float:
        """Return the nearest value that is possible."""
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
    """Estimate the sum of factors times means: a mean with `[1]`, a difference with `[1, -1]`.

    The interval is for images *like these*: it also counts that there are only so many images,
    judged or not.

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
        raise SettingError(f"the confidence must lie between 0 and 1, not {confidence}")
    if horizon is not None and horizon < 1:
        raise SettingError(f"the horizon must be at least 1 image, not {horizon}")
    parts = _add_up(samples, factors)
    if parts.groups < FEWEST_GROUPS:
        raise InputError(
            f"an interval needs answers on at least {FEWEST_GROUPS} images, not {parts.groups}; "
            "judge more"
        )
    limits = _find_limits(parts, samples, factors, bounds, scale)
    floor = 0.0 if limits is None else limits.floor
    without = math.sqrt(max(parts.variance(0.0, tuned=False), floor))
    chosen = _tune(parts) if weight is None else weight
    tuned = weight is None and chosen != 0
    error = math.sqrt(max(parts.variance(chosen, tuned=tuned), floor))
    if tuned and error > without:
        # What tuning the weight costs is more than it gains: people alone.
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
        raise SettingError("bounds are for shares and a scale for ratings: give one of them")
    if bounds is not None:
        return _Limits.of_share(bounds, parts)
    if scale is None:
        return None
    return _Limits.of_scale(scale, factors, find_reach(samples, factors, scale), parts.groups)


def find_reach(
    samples: Sequence[Sample], factors: Sequence[float], scale: tuple[float, float]
) -> float:
    """Return how far apart groups can lie in a contrast of answers on a scale.

    Means of several items lie closer together than the items: by as much as they do here.
    """
    averaged = max(_average(sample) for sample in samples)
    return (scale[1] - scale[0]) * max(map(abs, factors)) * averaged


def adjust_together(estimates: Sequence[Estimate]) -> list[Estimate]:
    """Return estimates made together, their p-values corrected by Holm's method."""
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
    """Return what each group contributes to the error of the mean, float64[count]."""
    return np.asarray(np.bincount(groups, values - values.mean(), count) / len(values), np.float64)


def _average(sample: Sample) -> float:
    """Return the spread of groups' means relative to that of single items; at most 1."""
    judged = ~np.isnan(sample.answers)
    answers, groups = sample.answers[judged], sample.groups[judged]
    if answers.min() == answers.max():
        return 1.0
    sizes = np.bincount(groups)
    means = np.bincount(groups, answers)[sizes > 0] / sizes[sizes > 0]
    return min(1.0, float(means.std() / answers.std()))


def _tune(parts: _Parts) -> float:
    """Return the weight that makes the variance smallest."""
    spread = float((parts.shift_rows**2).sum())
    scale = float(np.abs(parts.shift_rows).max(initial=0.0))
    if spread <= 0 or scale < 1e-12:  # everything is judged, or predictions do not vary
        return 0.0
    return -float((parts.value_rows * parts.shift_rows).sum()) / spread


def _student(name: str, *arguments: float) -> float:
    try:
        from scipy import special
    except ImportError:
        raise MissingExtraError.to("estimate means", package="SciPy", extra="meta") from None
    return float(getattr(special, name)(*arguments))


def _quantile(confidence: float, freedom: int, groups: int, horizon: int | None) -> float:
    """Return how many standard errors an interval reaches to each side."""
    student = _student("stdtrit", freedom, (1 + confidence) / 2)
    if horizon is None:
        return student
    alpha = 1 - confidence
    time = groups * _mixture(alpha, horizon)
    sequence = math.sqrt(2 * (time + 1) / time * math.log(math.sqrt(time + 1) / alpha))
    # The sequence knows of no small samples; they widen it as they widen a fixed interval.
    return sequence * student / _student("ndtri", (1 + confidence) / 2)


def _mixture(alpha: float, horizon: int) -> float:
    """Return the squared scale of the mixture for which a sequence is narrowest at the horizon."""
    logarithm = -2 * math.log(alpha)
    return (logarithm + math.log(logarithm + 1)) / horizon


def p_of_distance(
    distance: float, error: float, freedom: int, groups: int, horizon: int | None
) -> float:
    """Return the p-value of a distance from the null, two-sided; with a horizon, for all times."""
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
