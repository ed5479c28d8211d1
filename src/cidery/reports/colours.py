"""What each word earned or cost, small enough to be stored for every caption."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cidery.metrics.explanations import Explanation, Span

STEPS = 1000
"""The largest value of a report is at most so many steps, and more than a tenth of them."""
_WORD = re.compile(r"\S+")


def find_step(explanations: Iterable[Explanation]) -> float:
    """Return the unit in which values are stored, a power of ten."""
    largest = max((abs(s.value) for e in explanations for s in e.spans), default=0.0)
    return 10.0 ** math.ceil(math.log10(largest / STEPS)) if largest > 0 else 1.0


def colour(explanation: Explanation, step: float) -> list[int] | dict[str, list[list[int]]]:
    """Return the values of a caption's words, as whole numbers of steps.

    A list has one number for each run of characters that are not blank. Where words are cut
    otherwise, `{"spans": [[start, end, value], …]}` says where they are, in Unicode characters.
    """
    words = list(_WORD.finditer(explanation.candidate))
    if _fits(words, explanation.spans):
        return [round(span.value / step) for span in explanation.spans]
    return {"spans": [[s.start, s.end, round(s.value / step)] for s in explanation.spans]}


def _fits(words: Sequence[Any], spans: Sequence[Span]) -> bool:
    return len(words) == len(spans) and all(
        word.start() <= span.start and span.end <= word.end()
        for word, span in zip(words, spans, strict=True)
    )
