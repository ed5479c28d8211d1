"""Word frequencies of captions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cidery.diversity.caption_sets import CaptionSets, SetsLike
from cidery.text import SPLIT, TokenizerLike, choose_tokenizer


@dataclass(frozen=True, eq=False)
class WordFrequencies:
    """Words with their frequencies, the most frequent first."""

    words: tuple[str, ...]
    counts: NDArray[np.int64]
    """int64[words], descending: the word-frequency curve (Wang and Chan 2019, figure 3)."""

    def __len__(self) -> int:
        return len(self.words)


def count_words(
    sets: SetsLike, *, tokenizer: TokenizerLike | None = None, language: str | None = None
) -> WordFrequencies:
    """Count the words of all captions; ties are in alphabetical order.

    ```python
    count_words({"a": ["a dog", "a cat"]}).words   # ("a", "cat", "dog")
    ```
    """
    cut = choose_tokenizer(tokenizer, language)
    captions = cut(CaptionSets.build(sets).captions).form(SPLIT)
    vocabulary = captions.vocabulary()
    counts = np.bincount(captions.words(), minlength=len(vocabulary)).astype(np.int64)
    order = sorted(np.flatnonzero(counts).tolist(), key=lambda i: (-counts[i], vocabulary[i]))
    return WordFrequencies(tuple(vocabulary[i] for i in order), counts[order])
