"""Template filters for numbers of studies and for the buttons of a scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil

from django import template

from cidery.tables import format_p
from cidery_server.web.templatetags.words import written

register = template.Library()

LONG_LABEL = 4
"""Number of characters from which a number needs twice the space."""


@register.filter
def amount(value: float, kind: str) -> str:
    """Write a share of wins as percent, anything else as a number."""
    shown = f"{100 * value:.0f}\N{NO-BREAK SPACE}%" if kind == "wins" else f"{value:.2f}"
    return written(shown)


@register.filter
def at(values: Sequence[str], place: int) -> str:
    """Return the value at a place."""
    return values[place]


@register.filter
def p_value(p: float) -> str:
    """Return a p-value as text."""
    return written(format_p(p))


@register.filter
def columns(steps: Sequence[Mapping[str, str]], most: int) -> int:
    """Return the number of buttons per row of a scale, so that rows are about equally long."""
    if any(len(step.get("label") or step["value"]) > LONG_LABEL for step in steps):
        most = max(2, most // 2)
    return ceil(len(steps) / ceil(len(steps) / most))
