"""Words that a system says and people do not, and the reverse, counted by image."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from cidery.text import STOP_WORDS

MOST_WORDS = 40
"""Words listed for each system, each way."""
FEWEST_IMAGES = 2
"""A word of one image is an accident."""


def contrast_words(
    said: Sequence[Iterable[str]], images: Any, references: Sequence[set[str]], common: Any
) -> dict[str, list[list[Any]]]:
    """Count by image which words a system adds, and which common ones it leaves out.

    Args:
        said: the words of each caption.
        images: of each caption, the place of its image.
        references: of each image, the words that any reference has.
        common: of each image, the words that at least half of its references have.

    Returns:
        `{"added": [[word, images], …], "left_out": [[word, images], …]}`, most images first.
    """
    by_image: list[set[str]] = [set() for _ in references]
    for words, place in zip(said, np.asarray(images).tolist(), strict=True):
        by_image[place].update(words)
    added: Counter[str] = Counter()
    left_out: Counter[str] = Counter()
    for words, known, wanted in zip(by_image, references, common, strict=True):
        added.update(words - known)
        left_out.update(wanted - words)
    return {"added": _most(added), "left_out": _most(left_out)}


def gather_references(
    tokens: Sequence[Sequence[str]], offsets: Any
) -> tuple[list[set[str]], list[set[str]]]:
    """Return of each image all words, and the words of at least half of its references."""
    every, common = [], []
    for start, end in pairwise(np.asarray(offsets).tolist()):
        counts: Counter[str] = Counter()
        for words in tokens[start:end]:
            counts.update(set(words))
        every.append(set(counts))
        common.append({word for word, count in counts.items() if 2 * count >= end - start > 1})
    return every, common


def _most(counts: Mapping[str, int]) -> list[list[Any]]:
    """Return the words of most images, without stop words; equal ones in alphabetical order."""
    kept = (
        (word, count)
        for word, count in counts.items()
        if count >= FEWEST_IMAGES and word not in STOP_WORDS["english"]
    )
    ranked = sorted(kept, key=lambda item: (-item[1], item[0]))
    return [[word, count] for word, count in ranked[:MOST_WORDS]]
