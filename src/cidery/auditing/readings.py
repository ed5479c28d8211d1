"""Readings: which scores a printed number may stand for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from cidery.auditing.causes import ROUNDED_BEFORE, SCALES, TIMES_100, TRUNCATED, Cause
from cidery.auditing.claims import FINEST, Claim

_PERCENT = 100.0


@dataclass(frozen=True)
class Reading:
    """What claimed numbers mean: a factor and bounds for each metric's score."""

    causes: tuple[Cause, ...]
    factors: Mapping[str, float]
    """What each score was multiplied by."""
    bounds: Mapping[str, tuple[float, float]]
    """Between which numbers each score lies, before it was multiplied."""

    def fits(self, metric: str, score: float) -> bool:
        """Tell whether the metric's score may be what was claimed."""
        low, high = self.bounds[metric]
        return low <= score <= high

    def distance(self, metric: str, score: float) -> float:
        """Return how far the score is from the claimed one, in parts of that."""
        low, high = self.bounds[metric]
        middle = (low + high) / 2
        return max(0.0, low - score, score - high) / max(middle, 1e-9)


def list_readings(claims: Sequence[Claim]) -> tuple[Reading, ...]:
    """Return all readings, those without a cause first.

    A number above what its metric can reach was printed times 100, as papers do: no cause.
    """
    percent = {claim.metric for claim in claims if claim.is_percent}
    every = {claim.metric for claim in claims}
    plain: list[Reading] = []
    if not percent:
        plain.append(_read(claims, ()))
    else:
        plain.append(_read(claims, (), dict.fromkeys(every, _PERCENT)))
    readings = list(plain)
    if percent and percent != every:
        readings.append(_read(claims, (TIMES_100,), dict.fromkeys(percent, _PERCENT)))
    base = dict(plain[0].factors)
    for cause, factor in SCALES.items():
        for chosen in _choose_scaled(every):
            natural = all(not claim.is_percent for claim in claims if claim.metric not in chosen)
            others = dict.fromkeys(every - chosen, 1.0 if natural else _PERCENT)
            readings.append(_read(claims, (cause,), others | dict.fromkeys(chosen, factor)))
    readings.append(_read(claims, (TRUNCATED,), base, truncated=True))
    if any(_count_zeros(claim) for claim in claims):
        readings.append(_read(claims, (ROUNDED_BEFORE,), base, zeros=True))
    return tuple(readings)


def _choose_scaled(metrics: Iterable[str]) -> list[set[str]]:
    """Return which scores are multiplied together: all of them, or CIDEr alone."""
    every = set(metrics)
    cider = {metric for metric in every if metric.startswith("cider")}
    return [every, *([cider] if cider and cider != every else [])]


def _read(
    claims: Sequence[Claim],
    causes: tuple[Cause, ...],
    factors: Mapping[str, float] | None = None,
    *,
    truncated: bool = False,
    zeros: bool = False,
) -> Reading:
    chosen = {claim.metric: (factors or {}).get(claim.metric, 1.0) for claim in claims}
    bounds = {}
    for claim in claims:
        unit = claim.unit * (10 ** _count_zeros(claim) if zeros else 1)
        slack = FINEST * max(claim.value, 1e-3)
        below, above = (0.0, unit) if truncated else (unit / 2, unit / 2)
        factor = chosen[claim.metric]
        bounds[claim.metric] = (
            (claim.value - below - slack) / factor,
            (claim.value + above + slack) / factor,
        )
    return Reading(causes, chosen, bounds)


def _count_zeros(claim: Claim) -> int:
    """Return how many zeros end the decimals that were printed."""
    digits = claim.text.removesuffix("%").strip()
    if "." not in digits or "e" in digits.lower():
        return 0
    decimals = digits.partition(".")[2]
    return len(decimals) - len(decimals.rstrip("0"))
