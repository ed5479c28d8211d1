"""Compact values of words, stored for every caption."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from cidery.metrics.explanations import Explanation

Values: TypeAlias = "list[tuple[int, int, float]]"
"""Start, end and value of each word of a caption."""
STEPS = 1000
"""Maximum number of steps of the largest value; it has more than a tenth of them."""
_WORD = re.compile(r"\S+")


def list_values(explanation: Explanation) -> Values:
    """Return start, end and value of each word."""
    return [(span.start, span.end, span.value) for span in explanation.spans]


def find_step(captions: Iterable[Values]) -> float:
    """Return the unit of stored values, a power of ten."""
    largest = max((abs(value) for found in captions for _, _, value in found), default=0.0)
    return 10.0 ** math.ceil(math.log10(largest / STEPS)) if largest > 0 else 1.0


def encode_values(
    caption: str, values: Values, step: float
) -> list[int] | dict[str, list[list[int]]]:
    """Return the values of a caption's words as integers, in steps.

    A list has one value per whitespace-separated word. For other tokens it is
    `{"spans": [[start, end, value], …]}`, in Unicode characters.

    ```python
    encode_values("a dog", [(0, 1, 0.02), (2, 5, 0.51)], 0.01)   # [2, 51]
    ```
    """
    if _fits(list(_WORD.finditer(caption)), values):
        return [round(value / step) for _, _, value in values]
    return {"spans": [[start, end, round(value / step)] for start, end, value in values]}


def _fits(words: Sequence[Any], values: Values) -> bool:
    return len(words) == len(values) and all(
        word.start() <= start and end <= word.end()
        for word, (start, end, _) in zip(words, values, strict=True)
    )
