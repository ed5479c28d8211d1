"""Captions that are longer than what a model sees at once."""

from __future__ import annotations

import re
import warnings

from cidery.errors import UnreliableWarning

_SENTENCE = re.compile(r"[.!?]+[\"')\]]*\s+|[。！？]|\n+")
_BLANK = re.compile(r"\s+")


def find_middle(text: str) -> int:
    """Return where to split a text of two characters or more: at a sentence, near the middle.

    If there is none, it is the blank that is nearest to the middle, or else the middle.

    ```python
    find_middle("A dog. Two cats run. It rains.")   # 21: "A dog. Two cats run. " and "It rains."
    ```
    """
    half = len(text) / 2
    for pattern in (_SENTENCE, _BLANK):
        ends = [found.end() for found in pattern.finditer(text)]
        inner = [end for end in ends if 0 < end < len(text)]
        if inner:
            return min(inner, key=lambda end: abs(end - half))
    return len(text) // 2


def warn_of_long(name: str, window: int, count: int) -> None:
    """Warn of captions that were split."""
    captions = "1 caption has" if count == 1 else f"{count} captions have"
    warnings.warn(
        f"{captions} more than the {window} tokens that {name} sees at once: they are split at "
        "sentences, and the parts are pooled",
        UnreliableWarning,
        stacklevel=4,
    )
