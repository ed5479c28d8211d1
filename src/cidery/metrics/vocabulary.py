"""Vocabulary size of the candidates, as the DCASE challenge reports it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cidery.metrics.base import Metric, Needs, Prepared, TokenizedCandidates, TokenizedReferences
from cidery.runtime import Workspace
from cidery.statistics import Floats


@dataclass(frozen=True)
class Vocabulary(Metric):
    """Number of distinct words in all candidates; 0 and above.

    |∪_c words(c)|, as the DCASE challenge and aac-metrics report it. A word that n captions have
    counts 1/n for each of them, so that the scores of all captions sum to the vocabulary size. It
    does not measure quality, and it grows with the number of captions.

    ```python
    cidery.score(["a dog", "a cat"], [["dogs"], ["cats"]], "vocab").corpus["vocab"]   # 3.0
    ```
    """

    paper: ClassVar[str] = "DCASE; Labbé et al. 2022"
    name = "vocab"
    range = 0.0, math.inf
    needs = Needs(all_candidates=True)

    def prepare(self, references: TokenizedReferences, work: Workspace) -> Prepared:  # noqa: ARG002
        """Ignore the references."""
        return _PreparedVocabulary()

    def pool(self, sums: Floats, count: Floats) -> Floats:
        """Return the sums, without rounding errors."""
        return np.where(count > 0, np.round(sums[..., 0], 6), np.nan)


@dataclass(frozen=True)
class _PreparedVocabulary(Prepared):
    def measure(self, candidates: TokenizedCandidates, work: Workspace) -> Floats:  # noqa: ARG002
        """Return each caption's share of the vocabulary: float64[captions, 1]."""
        words = candidates.captions.captions
        ends = words.offsets().astype(np.int64)
        counts = ends[1:] - ends[:-1]
        owners = np.repeat(np.arange(len(candidates)), counts)
        pairs = np.unique(np.stack([owners, words.words().astype(np.int64)]), axis=1)
        captions_with = np.bincount(pairs[1])
        # The same sum in any order of words, so that the order of captions does not matter.
        order = np.lexsort((captions_with[pairs[1]], pairs[0]))
        owners, found = pairs[0][order], pairs[1][order]
        shares = np.bincount(owners, 1 / captions_with[found], len(candidates))
        return np.ascontiguousarray(shares[:, None])
