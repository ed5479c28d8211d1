"""Captions and references of different kinds: sentences against paragraphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cidery.corpus.corpus import Corpus
from cidery.corpus.description import MIN_LENGTH_GAP, Description

LENGTH_ROBUST_METRICS = "consensus, bertscore-recall or meteor"
"""Metrics that rank paragraphs reliably; results are in docs/long-captions.md."""
LENGTH_SENSITIVE_METRICS = ("cider-d", "spider", "spider-fl")
"""Metrics that are near 0 for captions much longer or shorter than the references."""


@dataclass(frozen=True)
class LengthGap:
    """Difference between the lengths of captions and of their references, in words."""

    captions: float
    """Median length of captions."""
    references: float
    """Median length of references."""
    difference: float
    """Median difference between a caption and the mean of its image's references."""

    @property
    def is_wide(self) -> bool:
        """True if captions and references differ in kind."""
        return self.difference >= MIN_LENGTH_GAP

    def __str__(self) -> str:
        medians = self.captions, self.references
        kinds = [
            "paragraphs" if median >= 2 * MIN_LENGTH_GAP else "sentences" for median in medians
        ]
        if kinds[0] == kinds[1]:
            kinds = (
                ["longer", "shorter"] if self.captions > self.references else ["shorter", "longer"]
            )
        return (
            f"captions have {self.captions:.0f} words ({kinds[0]}), references "
            f"{self.references:.0f} ({kinds[1]})"
        )


def measure_length_gap(corpus: Corpus) -> LengthGap:
    """Return the difference in length between captions and references, in words.

    ```python
    corpus = Corpus.build({"a": "a dog"}, {"a": ["a dog runs fast"]})
    measure_length_gap(corpus).difference   # 2.0
    ```
    """
    candidates, references = _count_words(corpus.candidates), _count_words(corpus.references)
    differences = _find_differences(corpus, candidates, references)
    medians = (float(np.median(values)) for values in (candidates, references, differences))
    return LengthGap(*medians)


def may_have_length_gap(corpus: Corpus) -> bool:
    """Return False if the number of characters, a quick count, excludes a wide gap in words.

    A word has at least a character and a space.

    ```python
    may_have_length_gap(Corpus.build({"a": "a dog"}, {"a": ["a dog runs fast"]}))   # False
    ```
    """
    candidates, references = (
        captions.character_counts for captions in (corpus.candidates, corpus.references)
    )
    return bool(np.median(_find_differences(corpus, candidates, references)) >= 2 * MIN_LENGTH_GAP)


def find_length_mismatch(descriptions: Mapping[str, Description]) -> list[str]:
    """Return a sentence if the captions of one file are much longer than those of another.

    ```python
    find_length_mismatch({"a.json": cidery.describe({"a": ["a dog"]})})   # []
    ```
    """
    lengths = {file: found.length.mean for file, found in descriptions.items()}
    short, long = min(lengths, key=lengths.__getitem__), max(lengths, key=lengths.__getitem__)
    if lengths[long] - lengths[short] < MIN_LENGTH_GAP:
        return []
    return [
        f"captions of {long} have {lengths[long]:.0f} words, those of {short} "
        f"{lengths[short]:.0f}: CIDEr-D is unreliable at these lengths; use "
        f"{LENGTH_ROBUST_METRICS}, or cider-r"
    ]


def _find_differences(corpus: Corpus, candidates: np.ndarray, references: np.ndarray) -> np.ndarray:
    """Return each caption's difference from the mean length of its image's references."""
    offsets = corpus.reference_offsets
    means = np.add.reduceat(references, offsets[:-1]) / np.diff(offsets)
    differences: np.ndarray = np.abs(candidates - means[corpus.candidate_images])
    return differences


def _count_words(captions: Sequence[str]) -> np.ndarray:
    return np.asarray([len(caption.split()) for caption in captions], np.float64)
