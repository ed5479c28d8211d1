"""What each word earned or cost, small enough to be stored for every caption."""

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
"""The largest value of a report is at most so many steps, and more than a tenth of them."""
_WORD = re.compile(r"\S+")


def list_values(explanation: Explanation) -> Values:
    """Return what is kept of an explanation."""
    return [(span.start, span.end, span.value) for span in explanation.spans]


def find_step(captions: Iterable[Values]) -> float:
    """Return the unit in which values are stored, a power of ten."""
    largest = max((abs(value) for found in captions for _, _, value in found), default=0.0)
    return 10.0 ** math.ceil(math.log10(largest / STEPS)) if largest > 0 else 1.0


def color(caption: str, values: Values, step: float) -> list[int] | dict[str, list[list[int]]]:
    """Return the values of a caption's words, as whole numbers of steps.

    A list has one number for each run of characters that are not blank. Where words are cut
    otherwise, `{"spans": [[start, end, value], …]}` says where they are, in Unicode characters.

    ```python
    color("a dog", [(0, 1, 0.02), (2, 5, 0.51)], 0.01)   # [2, 51]
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
