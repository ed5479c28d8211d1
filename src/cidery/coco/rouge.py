"""Drop-in replacement for ROUGE-L: `Rouge`."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np

from cidery import metrics
from cidery.coco.matching import (
    SPLIT_BLANKS,
    TokenizedCorpus,
    check_references,
    choose_blank_tokenizer,
    match_captions,
    match_rows,
    only_caption,
)
from cidery.runtime import Workspace
from cidery.statistics import Floats


class Rouge:
    """ROUGE-L as pycocoevalcap returns it, in [0, 1] (Lin 2004, with β = 1.2).

    ```python
    score, scores = Rouge().compute_score({1: ["a dog runs"]}, {1: ["a dog"]})
    ```
    """

    def __init__(self) -> None:
        self.beta = 1.2

    def compute_score(self, gts: Any, res: Any) -> tuple[np.float64, Floats]:
        """Return the mean, and the images' scores in the order of `gts`."""
        corpus = match_captions(gts, res)
        tokenizer = choose_blank_tokenizer(chain(corpus.references, corpus.candidates))
        return self.score_tokenized(TokenizedCorpus.build(corpus, tokenizer), Workspace())

    def score_tokenized(
        self, corpus: TokenizedCorpus, work: Workspace
    ) -> tuple[np.float64, Floats]:
        """Return the same for tokenized captions."""
        metric = metrics.RougeL(beta=self.beta)
        each = metric.each(corpus.measure({"rouge-l": metric}, work)["rouge-l"])
        return np.float64(np.mean(each)), each

    def calc_score(self, candidate: list[str], refs: list[str]) -> float:
        """Return the score of one candidate, `["a dog"]`, against its references."""
        check_references(0, refs)
        corpus = match_rows([0], [only_caption(0, candidate)], [refs])
        tokenized = TokenizedCorpus.build(corpus, SPLIT_BLANKS)
        return float(self.score_tokenized(tokenized, Workspace())[0])

    def method(self) -> str:
        """Return the printed name."""
        return "Rouge"
