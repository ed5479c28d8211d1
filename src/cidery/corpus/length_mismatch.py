"""Whether captions and references are of one kind: sentences, or paragraphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cidery import _native
from cidery.corpus.corpus import Corpus
from cidery.corpus.description import FAR_APART, Description

SURVIVORS = "consensus, bertscore-recall or meteor"
"""Metrics that still tell right paragraphs from wrong ones: docs/long-captions.md has figures."""


@dataclass(frozen=True)
class LengthGap:
    """How far the lengths of captions are from those of their references, in words."""

    captions: float
    """The median of captions."""
    references: float
    """The median of references."""
    apart: float
    """The median distance of a caption and the mean of its image's references."""

    @property
    def is_wide(self) -> bool:
        """Whether captions and references differ in kind."""
        return self.apart >= FAR_APART

    def __str__(self) -> str:
        kinds = ["paragraphs" if n >= 2 * FAR_APART else "sentences" for n in self._medians]
        if kinds[0] == kinds[1]:
            kinds = (
                ["longer", "shorter"] if self.captions > self.references else ["shorter", "longer"]
            )
        return (
            f"captions have {self.captions:.0f} words ({kinds[0]}), references "
            f"{self.references:.0f} ({kinds[1]})"
        )

    @property
    def _medians(self) -> tuple[float, float]:
        return self.captions, self.references


def measure_gap(corpus: Corpus) -> LengthGap:
    """Return how far captions and references are apart, in words between blanks.

    ```python
    measure_gap(Corpus.build({"a": "a dog"}, {"a": ["a dog runs fast"]})).apart   # 2.0
    ```
    """
    said, told = _count_words(corpus.candidates), _count_words(corpus.references)
    apart = _find_distances(corpus, said, told)
    return LengthGap(*(float(np.median(values)) for values in (said, told, apart)))


def may_differ(corpus: Corpus) -> bool:
    """Tell by characters, which are counted at once, whether the gap of words may be wide.

    Every word has a character and a blank at least.

    ```python
    may_differ(Corpus.build({"a": "a dog"}, {"a": ["a dog runs fast"]}))   # False
    ```
    """
    said, told = _count_characters(corpus.candidates), _count_characters(corpus.references)
    return bool(np.median(_find_distances(corpus, said, told)) >= 2 * FAR_APART)


def compare_kinds(descriptions: Mapping[str, Description]) -> list[str]:
    """Return a sentence if the captions of one file are much longer than those of another.

    ```python
    compare_kinds({"a.json": cidery.describe({"a": ["a dog"]})})   # []
    ```
    """
    lengths = {file: found.length.mean for file, found in descriptions.items()}
    short, long = min(lengths, key=lengths.__getitem__), max(lengths, key=lengths.__getitem__)
    if lengths[long] - lengths[short] < FAR_APART:
        return []
    return [
        f"captions of {long} have {lengths[long]:.0f} words, those of {short} "
        f"{lengths[short]:.0f}: scored against each other, CIDEr-D can hardly tell right from "
        f"wrong ones; take {SURVIVORS}, or cider-r"
    ]


def _find_distances(corpus: Corpus, said: np.ndarray, told: np.ndarray) -> np.ndarray:
    """Return how far each caption's length is from the mean of its image's references."""
    means = np.add.reduceat(told, corpus.reference_offsets[:-1]) / np.diff(corpus.reference_offsets)
    distances: np.ndarray = np.abs(said - means[corpus.candidate_images])
    return distances


def _count_words(captions: Sequence[str]) -> np.ndarray:
    return np.asarray([len(caption.split()) for caption in captions], np.float64)


def _count_characters(captions: Sequence[str]) -> np.ndarray:
    return _native.text_lengths(captions if isinstance(captions, list) else list(captions))
