"""Splitting of captions that are longer than a model's maximum."""

from __future__ import annotations

import re
import warnings

from cidery.errors import UnreliableWarning

_SENTENCE = re.compile(r"[.!?]+[\"')\]]*\s+|[。！？]|\n+")
_SPACE = re.compile(r"\s+")


def find_middle(text: str) -> int:
    """Return the position at which to split a text of at least two characters.

    It is the end of a sentence nearest to the middle, else the nearest space, else the middle.

    ```python
    find_middle("A dog. Two cats run. It rains.")   # 21: "A dog. Two cats run. " and "It rains."
    ```
    """
    half = len(text) / 2
    for pattern in (_SENTENCE, _SPACE):
        ends = [found.end() for found in pattern.finditer(text)]
        inner = [end for end in ends if 0 < end < len(text)]
        if inner:
            return min(inner, key=lambda end: abs(end - half))
    return len(text) // 2


def warn_long_captions(name: str, window: int, count: int) -> None:
    """Warn about captions that were split."""
    captions = "1 caption has" if count == 1 else f"{count} captions have"
    warnings.warn(
        f"{captions} more than {window} tokens, the maximum of {name}; split at sentences, and the "
        "parts are pooled",
        UnreliableWarning,
        stacklevel=4,
    )
