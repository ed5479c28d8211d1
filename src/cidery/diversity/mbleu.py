"""mBLEU: overlap of each caption with the other captions of its image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cidery import _native
from cidery.diversity.base import Measure
from cidery.diversity.caption_sets import TokenizedSets
from cidery.metrics.base import GroupedCaptions
from cidery.metrics.ngram.overlap import make_overlap
from cidery.metrics.settings import require
from cidery.runtime import Workspace
from cidery.statistics import Floats
from cidery.text import SPLIT


@dataclass(frozen=True)
class MBleu(Measure):
    """1 - mBLEU, where mBLEU is the n-gram overlap of each caption with the others; in [0, 1].

    mBLEU_n = 1/m Σ_i BLEU_n(c_i, C without c_i), with sentence BLEU: Wang and Chan
    2019, equation (4). Captions of fewer than n words are scored by the orders that they have.

    ```python
    cidery.measure_diversity(sets, measures=[MBleu(4), MBleu(None)])
    ```
    """

    n: int | None = None
    """1 to 4; None: the mean of all four."""

    paper: ClassVar[str] = "Wang and Chan 2019, equation (4)"

    def __post_init__(self) -> None:
        require(self.n in (None, 1, 2, 3, 4), f"n must be 1 to 4 or None, not {self.n}")

    @property
    def name(self) -> str:
        """`mbleu-1` … `mbleu-4`, `mbleu-mix`."""
        return "mbleu-mix" if self.n is None else f"mbleu-{self.n}"

    def measure(self, sets: TokenizedSets, work: Workspace) -> Floats:
        """Return one value per image."""
        rows = work.once(_count_left_out, sets.captions.groups)
        orders = (1, 2, 3, 4) if self.n is None else (self.n,)
        scores = np.mean([score_captions(rows, n) for n in orders], axis=0)
        return 1.0 - sets.mean(scores)


def _count_left_out(work: Workspace, groups: GroupedCaptions) -> Floats:
    """Return BLEU's counts of each caption against the others of its image."""
    overlap = work.once(make_overlap, groups, SPLIT, 4)
    return _native.bleu_left_out(overlap, 4, "closest", work.threads)


def score_captions(rows: Floats, n: int) -> Floats:
    """Return BLEU-n of each caption from rows of (length, reference length, matches, n-grams).

    Orders without n-grams are not part of the geometric mean; a caption without words matches only
    captions without words.
    """
    order = (rows.shape[1] - 2) // 2
    length, reference_length = rows[:, 0], rows[:, 1]
    matches, totals = rows[:, 2 : 2 + n], rows[:, 2 + order : 2 + order + n]
    present = totals > 0
    precision = np.divide(matches, totals, out=np.ones_like(matches), where=present)
    with np.errstate(divide="ignore"):
        logs = np.log(precision).sum(axis=1) / np.maximum(1, present.sum(axis=1))
        brevity = np.minimum(0.0, 1 - reference_length / np.maximum(length, 1.0))
    scores = np.exp(logs + brevity)
    return np.asarray(np.where(length > 0, scores, reference_length == 0), np.float64)
