"""Interpretations of claimed numbers: scale, rounding and truncation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from cidery.auditing.causes import ROUNDED_BEFORE, SCALES, TIMES_100, TRUNCATED, Cause
from cidery.auditing.claims import FINEST, Claim

_PERCENT = 100.0
_FEW = 2
"""Maximum number of decimals of a score that was multiplied by 100."""


@dataclass(frozen=True)
class Interpretation:
    """Factor and bounds of each claimed score."""

    causes: tuple[Cause, ...]
    factors: Mapping[str, float]
    """Factor by which each score was multiplied."""
    bounds: Mapping[str, tuple[float, float]]
    """Interval of each score before multiplication."""

    def fits(self, metric: str, score: float) -> bool:
        """Return whether the score lies within the bounds."""
        low, high = self.bounds[metric]
        return low <= score <= high

    def distance(self, metric: str, score: float) -> float:
        """Return the relative distance from the claimed score."""
        low, high = self.bounds[metric]
        middle = (low + high) / 2
        return max(0.0, low - score, score - high) / max(middle, 1e-9)


def list_interpretations(claims: Sequence[Claim]) -> tuple[Interpretation, ...]:
    """Return all interpretations, those without a cause first.

    A number above the metric's maximum was multiplied by 100, as papers do; that is not a cause.
    """
    percent = {claim.metric for claim in claims if claim.is_percent}
    every = {claim.metric for claim in claims}
    plain: list[Interpretation] = []
    if not percent:
        plain.append(_read(claims, ()))
    else:
        plain.append(_read(claims, (), dict.fromkeys(every, _PERCENT)))
    interpretations = list(plain)
    if percent and percent != every:
        interpretations.append(_read(claims, (TIMES_100,), dict.fromkeys(percent, _PERCENT)))
    base = dict(plain[0].factors)
    # Scores with few decimals were multiplied by 100 before another factor.
    unit = _PERCENT if any(c.is_percent and _count_decimals(c) <= _FEW for c in claims) else 1.0
    for cause, relative in SCALES.items():
        factor = unit * relative
        for chosen in _choose_scaled(every):
            natural = all(not claim.is_percent for claim in claims if claim.metric not in chosen)
            others = dict.fromkeys(every - chosen, 1.0 if natural else _PERCENT)
            if (
                all(factor == plain[0].factors[m] for m in chosen)
                and others.items() <= base.items()
            ):
                continue  # the same as without a cause
            interpretations.append(_read(claims, (cause,), others | dict.fromkeys(chosen, factor)))
    interpretations.append(_read(claims, (TRUNCATED,), base, truncated=True))
    if any(_count_zeros(claim) for claim in claims):
        interpretations.append(_read(claims, (ROUNDED_BEFORE,), base, zeros=True))
    return tuple(interpretations)


def _choose_scaled(metrics: Iterable[str]) -> list[set[str]]:
    """Return the sets of scores that are multiplied together: all, or CIDEr only."""
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
) -> Interpretation:
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
    return Interpretation(causes, chosen, bounds)


def _count_decimals(claim: Claim) -> int:
    return len(claim.text.removesuffix("%").strip().partition(".")[2])


def _count_zeros(claim: Claim) -> int:
    """Return the number of trailing zeros of the printed decimals."""
    digits = claim.text.removesuffix("%").strip()
    if "." not in digits or "e" in digits.lower():
        return 0
    decimals = digits.partition(".")[2]
    return len(decimals) - len(decimals.rstrip("0"))
