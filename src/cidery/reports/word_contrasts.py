"""Words that a system uses and references do not, and the reverse, counted by image."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from cidery.text import STOP_WORDS

MAX_WORDS = 40
"""Maximum number of words per list."""
MIN_IMAGES = 2
"""Minimum number of images of a listed word."""


def contrast_words(
    candidates: Sequence[Iterable[str]], images: Any, references: Sequence[set[str]], common: Any
) -> dict[str, list[list[Any]]]:
    """Count the images in which a system adds or omits words.

    Args:
        candidates: words of each caption.
        images: image index of each caption.
        references: words of any reference, by image.
        common: words of at least half of the references, by image.

    Returns:
        `{"added": [[word, images], …], "left_out": [[word, images], …]}`, most images first.
    """
    by_image: list[set[str]] = [set() for _ in references]
    for words, place in zip(candidates, np.asarray(images).tolist(), strict=True):
        by_image[place].update(words)
    added: Counter[str] = Counter()
    left_out: Counter[str] = Counter()
    for words, known, wanted in zip(by_image, references, common, strict=True):
        added.update(words - known)
        left_out.update(wanted - words)
    return {"added": _list_most_frequent(added), "left_out": _list_most_frequent(left_out)}


def gather_references(
    tokens: Sequence[Sequence[str]], offsets: Any
) -> tuple[list[set[str]], list[set[str]]]:
    """Return the words of any reference, and of at least half of the references, by image."""
    every, common = [], []
    for start, end in pairwise(np.asarray(offsets).tolist()):
        counts: Counter[str] = Counter()
        for words in tokens[start:end]:
            counts.update(set(words))
        every.append(set(counts))
        common.append({word for word, count in counts.items() if 2 * count >= end - start > 1})
    return every, common


def _list_most_frequent(counts: Mapping[str, int]) -> list[list[Any]]:
    """Return the words with the most images, without stop words; ties in alphabetical order."""
    kept = (
        (word, count)
        for word, count in counts.items()
        if count >= MIN_IMAGES and word not in STOP_WORDS["english"]
    )
    ranked = sorted(kept, key=lambda item: (-item[1], item[0]))
    return [[word, count] for word, count in ranked[:MAX_WORDS]]
