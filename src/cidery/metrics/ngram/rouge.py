"""The ROUGE family (Lin 2004), with several references as the CIDEr paper's Appendix VII has it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

import numpy as np

from cidery.captions.workspace import Workspace
from cidery.metrics.base import (
    Faithful,
    Metric,
    Prepared,
    TokenizedReferences,
    require_between,
    require_choice,
    require_order,
)
from cidery.metrics.ngram.overlap import prepare_overlap
from cidery.statistics import Floats


def f_measure(precision: Floats, recall: Floats, beta: float) -> Floats:
    """(1 + β²) R P / (R + β² P), 0 where both are 0: equation (12)."""
    square = beta * beta
    with np.errstate(divide="ignore", invalid="ignore"):
        value = (1 + square) * precision * recall / (recall + square * precision)
    return np.where((precision > 0) & (recall > 0), value, 0.0)


def _best_f(rows: Floats, beta: float) -> Floats:
    """From rows of best precision and best recall over the references to their F."""
    return f_measure(rows[:, 0], rows[:, 1], beta)[:, None]


@dataclass(frozen=True)
class RougeL(Metric):
    """ROUGE-L: F of the longest common subsequence; in [0, 1].

    R = max_j LCS(c, s_j)/|s_j|, P = max_j LCS(c, s_j)/|c|, F = (1+β²)RP/(R+β²P): Lin 2004;
    equations (10)-(12) of the CIDEr paper's Appendix VII. P and R may come from different
    references, in the paper as in coco-caption. `coco` has β = 1.2 and takes an empty caption for
    one empty word.

    ```python
    cidery.score(candidates, references, metrics=[RougeL(), RougeL(beta=1.0)])
    ```
    """

    beta: float | None = None
    """How much recall outweighs precision; None: 1.2 in coco mode, 2 in the paper."""
    faithful: Faithful = "coco"

    paper: ClassVar[str] = "Lin 2004; Vedantam et al. 2015, equations (10)-(12)"
    family: ClassVar[str | None] = "rouge"

    def __post_init__(self) -> None:
        require_choice("faithful", self.faithful, ("coco", "paper"))
        if self.beta is None:
            object.__setattr__(self, "beta", 1.2 if self.faithful == "coco" else 2.0)
        require_between("beta", self.beta or 0.0, 1e-3, 1e3)

    @property
    def name(self) -> str:
        """`rouge-l`."""
        return "rouge-l"

    def prepare(self, references: TokenizedReferences, work: Workspace) -> Prepared:
        """Make references ready."""
        coco = self.faithful == "coco"
        # coco-caption's ROUGE splits at ASCII blanks only, unlike its BLEU and CIDEr.
        form = "words" if coco else "split"
        finish = partial(_best_f, beta=self.beta or 0.0)
        return prepare_overlap(references, work, "rouge_l", coco, form=form, finish=finish)


@dataclass(frozen=True)
class RougeW(Metric):
    """ROUGE-W: ROUGE-L in which runs of k words count k^weight; in [0, 1].

    R = max_j f⁻¹(WLCS(c, s_j)/f(|s_j|)), P likewise on the candidate, F as ROUGE-L's, with
    f(k) = k^weight: Lin 2004, section 4.
    """

    weight: float = 1.2
    beta: float = 2.0

    paper: ClassVar[str] = "Lin 2004"
    family: ClassVar[str | None] = "rouge"

    def __post_init__(self) -> None:
        require_between("weight", self.weight, 1.0, 10.0)
        require_between("beta", self.beta, 1e-3, 1e3)

    @property
    def name(self) -> str:
        """`rouge-w`."""
        return "rouge-w"

    def prepare(self, references: TokenizedReferences, work: Workspace) -> Prepared:
        """Make references ready."""
        finish = partial(_best_f, beta=self.beta)
        return prepare_overlap(references, work, "rouge_w", float(self.weight), finish=finish)


@dataclass(frozen=True)
class RougeS(Metric):
    """ROUGE-S: F of ordered word pairs (skip-bigrams); in [0, 1].

    R = max_j Σ_k min(f_k(c), f_k(s_j)) / Σ_k f_k(s_j), P likewise on the candidate, F as ROUGE-L's:
    Lin 2004; equations (13)-(15) of the CIDEr paper's Appendix VII.
    """

    skip: int | None = 4
    """At most so many words between the two (Lin's d_skip, 0 to 100); None: any number. Appendix
    VII's "distance of at most 4" can also be read as 3."""
    beta: float = 2.0

    paper: ClassVar[str] = "Lin 2004; Vedantam et al. 2015, equations (13)-(15)"
    family: ClassVar[str | None] = "rouge"

    def __post_init__(self) -> None:
        if self.skip is not None:
            require_between("skip", self.skip, 0, 100)
        require_between("beta", self.beta, 1e-3, 1e3)

    @property
    def name(self) -> str:
        """`rouge-s`."""
        return "rouge-s"

    def prepare(self, references: TokenizedReferences, work: Workspace) -> Prepared:
        """Make references ready."""
        skip = -1 if self.skip is None else self.skip
        finish = partial(_best_f, beta=self.beta)
        return prepare_overlap(references, work, "rouge_s", skip, finish=finish)


@dataclass(frozen=True)
class RougeN(Metric):
    """ROUGE-N: share of the references' n-grams that the candidate has; in [0, 1].

    R = Σ_j Σ_k min(h_k(c), h_k(s_j)) / Σ_j Σ_k h_k(s_j): Lin 2004; equation (9) of the CIDEr
    paper's Appendix VII. `measure="f"` is its F₁ with P = Σ_j Σ_k min(…) / (m Σ_k h_k(c)).
    """

    n: int = 1
    measure: Literal["recall", "f"] = "recall"

    paper: ClassVar[str] = "Lin 2004; Vedantam et al. 2015, equation (9)"
    family: ClassVar[str | None] = "rouge"

    @classmethod
    def variants(cls) -> tuple[RougeN, ...]:
        """Return ROUGE-1 and ROUGE-2."""
        return cls(1), cls(2)

    def __post_init__(self) -> None:
        require_order(self.n)
        require_choice("measure", self.measure, ("recall", "f"))

    @property
    def name(self) -> str:
        """`rouge-1`, `rouge-2`."""
        return f"rouge-{self.n}"

    def prepare(self, references: TokenizedReferences, work: Workspace) -> Prepared:
        """Make references ready."""
        return prepare_overlap(
            references, work, "rouge_n", self.n, order=self.n, finish=self._finish
        )

    def _finish(self, rows: Floats) -> Floats:
        """From rows of matches, references' n-grams and the candidate's, to recall or F."""
        with np.errstate(divide="ignore", invalid="ignore"):
            recall = np.where(rows[:, 1] > 0, rows[:, 0] / rows[:, 1], 0.0)
            precision = np.where(rows[:, 2] > 0, rows[:, 0] / rows[:, 2], 0.0)
        values = recall if self.measure == "recall" else f_measure(precision, recall, 1.0)
        return values[:, None]
