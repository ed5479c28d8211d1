"""Information of captions: the summed weights of their words, by rarity in COCO's captions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from cidery.frequencies import load_shipped

FREQUENCIES = "coco-train2014"
"""Shipped document frequencies by which rarity is measured."""
MAX_RATIO = 1.25
"""Maximum ratio of a candidate's information to its references' that is rewarded."""


def measure_information(words: Sequence[str], rarity: float) -> float:
    """Return the summed weights of the distinct words."""
    return math.fsum(weigh_word(word, rarity) for word in dict.fromkeys(words))


def measure_shortness(words: Sequence[str], reference: float, rarity: float) -> float:
    """Return the share of the references' mean information that words lack, in [-0.25, 1]."""
    if not reference:
        return 0.0
    return 1 - min(MAX_RATIO, measure_information(words, rarity) / reference)


def weigh_word(word: str, rarity: float) -> float:
    """Return a word's rarity to that power, in [0, 1]; 0 for punctuation."""
    return find_rarity(word) ** rarity if any(map(str.isalnum, word)) else 0.0


# Depends only on the word and on frequencies that are part of the package.
@lru_cache(maxsize=1 << 16)
def find_rarity(word: str) -> float:
    """Return the rarity of a word in COCO's captions: log(N / n) / log N, in [0, 1].

    N is the number of images, n that of images whose captions have the word, at least 1.

    ```python
    [round(find_rarity(word), 2) for word in ("the", "dog", "qwx")]   # [0.03, 0.29, 1.0]
    ```
    """
    frequencies = load_shipped(FREQUENCIES, None)
    images = frequencies.image_count
    return math.log(images / max(1, frequencies.count([word]))) / math.log(images)
