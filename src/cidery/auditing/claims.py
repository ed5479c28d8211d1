"""Claimed scores: metric, number and printed precision."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import TypeAlias

from cidery.errors import SettingError

ClaimsLike: TypeAlias = "Mapping[str, str | float] | Iterable[str]"

METRICS = ("bleu-1", "bleu-2", "bleu-3", "bleu-4", "rouge-l", "meteor", "cider-d", "cider-r")
"""Metrics that can be audited, the fastest first."""

_NAMES = {
    "cider": "cider-d",
    "ciderd": "cider-d",
    "c": "cider-d",
    "ciderr": "cider-r",
    "bleu": "bleu-4",
    **{f"{word}{n}": f"bleu-{n}" for word in ("bleu", "b") for n in range(1, 5)},
    "rouge": "rouge-l",
    "rougel": "rouge-l",
    "rougelf": "rouge-l",
    "r": "rouge-l",
    "rl": "rouge-l",
    "meteor": "meteor",
    "m": "meteor",
}

FINEST = 2e-7
"""Maximum relative precision of a claim: programs sum in different orders."""


@dataclass(frozen=True)
class Claim:
    """Reported score.

    ```python
    claim = read_claim("Bleu_4=40.2")
    claim.metric, claim.value, claim.unit   # ("bleu-4", 40.2, 0.1)
    ```
    """

    metric: str
    """Name of the metric in cidery."""
    name: str
    """Name of the metric as written in the claim."""
    text: str
    """Number as written in the claim."""
    value: float
    unit: float
    """Value of the last printed digit: 0.01 for `1.31`."""

    @property
    def most(self) -> float:
        """Maximum of the metric."""
        return 10.0 if self.metric.startswith("cider") else 1.0

    @property
    def is_percent(self) -> bool:
        """True where the score must have been multiplied by 100."""
        return self.text.endswith("%") or self.value > self.most

    def __str__(self) -> str:
        return f"{self.name}={self.text}"


def find_metric(name: str) -> str:
    """Return cidery's name of a metric: `CIDEr` is `cider-d`, as in coco-caption."""
    plain = re.sub(r"[^a-z0-9]", "", name.lower())
    if plain in _NAMES:
        return _NAMES[plain]
    if plain == "spice":
        raise SettingError("SPICE cannot be audited; remove it from the claims")
    raise SettingError(
        f"unknown metric {name!r} in a claim; supported: cider (cider-d), {', '.join(METRICS)}"
    )


def read_claim(text: str) -> Claim:
    """Read a claim written `metric=number`, such as `cider=0.993` or `Bleu_4=40.2`."""
    name, equals, number = text.partition("=")
    if not equals or not name.strip() or not number.strip():
        raise SettingError(f"a claim is written metric=number, such as cider=0.993, not {text!r}")
    return make_claim(name.strip(), number.strip())


def make_claim(name: str, number: str | float) -> Claim:
    """Return the claim that a metric has this score; text carries the printed precision."""
    metric = find_metric(name)
    text = number if isinstance(number, str) else repr(float(number))
    try:
        value = Decimal(text.removesuffix("%").strip())
    except InvalidOperation:
        raise SettingError(
            f"{name}={text}: {text!r} is not a number; write one such as 0.993"
        ) from None
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int):
        raise SettingError(f"{name}={text}: a score is a number, not {text!r}")
    if value < 0:
        raise SettingError(f"{name}={text}: a score must be >= 0")
    return Claim(metric, name, text, float(value), float(Decimal(1).scaleb(exponent)))


def read_claims(claims: ClaimsLike) -> tuple[Claim, ...]:
    """Return claims, given as a mapping of metrics to numbers or as texts `metric=number`."""
    if isinstance(claims, Mapping):
        found = [make_claim(name, number) for name, number in claims.items()]
    elif isinstance(claims, str):
        found = [read_claim(claims)]
    else:
        found = [read_claim(text) for text in claims]
    if not found:
        raise SettingError("no claims; pass at least one metric=number, such as cider=0.993")
    known: dict[str, Claim] = {}
    for claim in found:
        if claim.metric in known:
            raise SettingError(
                f"{known[claim.metric]} and {claim} claim the same metric, {claim.metric}; "
                "audit them one by one"
            )
        known[claim.metric] = claim
    return tuple(found)
