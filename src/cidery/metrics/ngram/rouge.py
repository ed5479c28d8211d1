"""ROUGE (Lin 2004), with several references as in Appendix VII of the CIDEr paper."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from operator import add
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, TypeAlias

import numpy as np

from cidery.metrics.base import Metric, Prepared, TokenizedCandidates, TokenizedReferences
from cidery.metrics.ngram.overlap import PreparedOverlap
from cidery.metrics.settings import Faithful, Interval, NgramOrder
from cidery.runtime import Workspace
from cidery.statistics import Floats
from cidery.text import SPLIT, TOKENS

if TYPE_CHECKING:
    from cidery.metrics.explanations import Contributions
    from cidery.metrics.located_captions import LocatedCaption
    from cidery.metrics.ngram.matches import Comparison, Words


BETA = Interval(1e-3, 1e3)
"""Weights of recall."""
Over: TypeAlias = Literal["separate", "max"]


def f_measure(precision: Floats, recall: Floats, beta: float) -> Floats:
    """Return (1 + β²) R P / (R + β² P), 0 if both are 0: equation (12)."""
    square = beta * beta
    with np.errstate(divide="ignore", invalid="ignore"):
        value = (1 + square) * precision * recall / (recall + square * precision)
    return np.where((precision > 0) & (recall > 0), value, 0.0)


def _f(precision: float, recall: float, beta: float) -> float:
    return float(f_measure(np.asarray(precision), np.asarray(recall), beta))


class _ByReference(Metric):
    """F of the best precision and the best recall, or the best F."""

    explanation_unit = "word"

    beta: float | None
    over: Over

    def settings(self) -> dict[str, str]:
        """Return the settings for signatures, without `over` if it is the default."""
        settings = super().settings()
        if self.over == "separate":
            del settings["over"]
        return settings

    @abstractmethod
    def _compare(self, words: Words, reference: Words) -> Comparison | None:
        """Compare two captions; None if they are too long to be compared word by word."""


@dataclass(frozen=True, eq=False)
class _PreparedByReference(PreparedOverlap[_ByReference]):
    def measure(self, candidates: TokenizedCandidates, work: Workspace) -> Floats:
        """Return float64[captions, 1]: F of the best precision and recall, or the best F."""
        beta = self.metric.beta or 0.0
        if self.metric.over == "max":
            each = self.measure_each(candidates, work)
            best: Floats = f_measure(each[..., 0], each[..., 1], beta).max(axis=1)
            return best[:, None]
        rows = super().measure(candidates, work)
        return f_measure(rows[:, 0], rows[:, 1], beta)[:, None]

    def explain(self, candidates: TokenizedCandidates, work: Workspace) -> list[Contributions]:
        """Return the contributions of words: common words add to them, others subtract.

        Words in common with the reference of the best precision share the F of a precision of 1;
        the others share the difference to the score. Missing words are those of the reference of
        the best recall. With `over="max"`, both are the reference of the best F.
        """
        from cidery.metrics.located_captions import locate_pairs

        scores = self.measure(candidates, work)[:, 0].tolist()
        pairs = locate_pairs(self.references, candidates, self.form, work)
        return [
            self._explain_one(score, candidate, references)
            for score, (candidate, references) in zip(scores, pairs, strict=True)
        ]

    def _explain_one(
        self, score: float, candidate: LocatedCaption, references: Sequence[LocatedCaption]
    ) -> Contributions:
        from cidery.metrics.explanations import Contributions, split_loss, split_score

        beta = self.metric.beta or 0.0
        comparisons = [self.metric._compare(candidate.words, r.words) for r in references]
        found = [comparison for comparison in comparisons if comparison is not None]
        if len(found) < len(references):
            return Contributions(score, (), [()] * len(references), exact=False)
        if self.metric.over == "max":
            precise = complete = max(found, key=lambda one: _f(one.precision, one.recall, beta))
        else:
            precise = max(found, key=lambda comparison: comparison.precision)
            complete = max(found, key=lambda comparison: comparison.recall)
        precision, recall = precise.precision, complete.recall
        gains = precise.candidate.gains
        values = split_score(score, _f(1.0, recall, beta), gains, precise.candidate.losses)
        missing = [
            reference.missing_spans(
                split_loss(score, _f(precision, 1.0, beta), comparison.reference.losses)
                if comparison is complete
                else [0.0] * len(reference.words),
                [gain == 0 for gain in comparison.reference.gains],
            )
            for reference, comparison in zip(references, found, strict=True)
        ]
        notes = ["in common" if gain else "not in common" for gain in gains]
        parts = {"precision": precision, "recall": recall}
        exact = candidate.is_located and any(gains)
        return Contributions(score, candidate.spans(values, notes), missing, parts, exact)


def _divide(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0


@dataclass(frozen=True)
class RougeL(_ByReference):
    """ROUGE-L: F of the longest common subsequence; in [0, 1].

    R = max_j LCS(c, s_j)/|s_j|, P = max_j LCS(c, s_j)/|c|, F = (1+β²)RP/(R+β²P): Lin 2004;
    equations (10)-(12) of the CIDEr paper's Appendix VII. P and R may come from different
    references, in the paper as in coco-caption. `coco` has β = 1.2 and takes an empty caption for
    one empty word.

    ```python
    cidery.score(candidates, references, metrics=[RougeL(), RougeL(beta=1.0)])
    ```
    """

    beta: Annotated[float | None, BETA] = None
    """Weight of recall relative to precision. Default: 1.2 in coco mode, 2 in paper mode."""
    faithful: Faithful = "coco"
    over: Over = "separate"
    """Use of several references: `separate` takes the best precision and the best recall, `max`
    the best F, as the package rouge-score."""

    paper: ClassVar[str] = "Lin 2004; Vedantam et al. 2015, equations (10)-(12)"
    name = "rouge-l"

    def __post_init__(self) -> None:
        if self.beta is None:
            object.__setattr__(self, "beta", 1.2 if self.faithful == "coco" else 2.0)
        super().__post_init__()

    def prepare(self, references: TokenizedReferences, work: Workspace) -> Prepared:
        """Prepare the references."""
        coco = self.faithful == "coco"
        # coco-caption's ROUGE splits at ASCII blanks only, unlike its BLEU and CIDEr.
        form = TOKENS if coco else SPLIT
        alone = self.over == "max"
        return _PreparedByReference.build(
            self, references, work, "rouge_l", coco, form=form, one_by_one=alone
        )

    def _compare(self, words: Words, reference: Words) -> Comparison:
        from cidery.metrics.ngram.matches import Comparison, count_common, find_common

        places = list(find_common(words, reference))
        sides = count_common(words, reference, places, [1.0] * len(places))
        common = len(places)
        if self.faithful == "coco" and not words and not reference:
            return Comparison(*sides, 1.0, 1.0)
        return Comparison(*sides, _divide(common, len(words)), _divide(common, len(reference)))


@dataclass(frozen=True)
class RougeW(_ByReference):
    """ROUGE-W: ROUGE-L in which runs of k words count k^weight; in [0, 1].

    R = max_j f⁻¹(WLCS(c, s_j)/f(|s_j|)), P likewise on the candidate, F as ROUGE-L's, with
    f(k) = k^weight: Lin 2004, section 4.
    """

    weight: Annotated[float, Interval(1, 10)] = 1.2
    beta: Annotated[float, BETA] = 2.0
    over: Over = "separate"
    """As in `RougeL`."""

    paper: ClassVar[str] = "Lin 2004"
    name = "rouge-w"

    def prepare(self, references: TokenizedReferences, work: Workspace) -> Prepared:
        """Prepare the references."""
        alone = self.over == "max"
        return _PreparedByReference.build(
            self, references, work, "rouge_w", float(self.weight), one_by_one=alone
        )

    def _compare(self, words: Words, reference: Words) -> Comparison | None:
        from cidery.metrics.ngram.matches import (
            MAX_COMPARISONS,
            Comparison,
            count_common,
            weigh_common,
        )

        if len(words) * len(reference) > MAX_COMPARISONS:
            return None
        places, added = weigh_common(words, reference, self.weight)
        common = math.fsum(added)
        sides = count_common(words, reference, places, added)
        shares = (
            _divide(common, len(side) ** self.weight) ** (1 / self.weight)
            for side in (words, reference)
        )
        return Comparison(*sides, *shares)


@dataclass(frozen=True)
class RougeS(_ByReference):
    """ROUGE-S: F of ordered word pairs (skip-bigrams); in [0, 1].

    R = max_j Σ_k min(f_k(c), f_k(s_j)) / Σ_k f_k(s_j), P likewise on the candidate, F as ROUGE-L's:
    Lin 2004; equations (13)-(15) of the CIDEr paper's Appendix VII.
    """

    skip: Annotated[int | None, Interval(0, 100)] = 4
    """Maximum number of words between the two (Lin's d_skip, 0 to 100); None: any number. Appendix
    VII's "distance of at most 4" can also mean 3."""
    beta: Annotated[float, BETA] = 2.0
    over: Over = "separate"
    """As in `RougeL`."""

    paper: ClassVar[str] = "Lin 2004; Vedantam et al. 2015, equations (13)-(15)"
    name = "rouge-s"

    def prepare(self, references: TokenizedReferences, work: Workspace) -> Prepared:
        """Prepare the references."""
        skip = -1 if self.skip is None else self.skip
        alone = self.over == "max"
        return _PreparedByReference.build(self, references, work, "rouge_s", skip, one_by_one=alone)

    def _compare(self, words: Words, reference: Words) -> Comparison | None:
        from cidery.metrics.ngram.matches import (
            MAX_COMPARISONS,
            Comparison,
            Matches,
            count_keys,
            list_pairs,
        )

        longest = max(len(words), len(reference))
        if longest * (longest if self.skip is None else self.skip + 1) > MAX_COMPARISONS:
            return None
        pairs, reference_pairs = list_pairs(words, self.skip), list_pairs(reference, self.skip)
        common = count_keys(pairs) & count_keys(reference_pairs)
        total = common.total()
        return Comparison(
            Matches.count(len(words), pairs, common),
            Matches.count(len(reference), reference_pairs, common),
            _divide(total, len(pairs)),
            _divide(total, len(reference_pairs)),
        )


@dataclass(frozen=True)
class RougeN(Metric):
    """ROUGE-N: share of the references' n-grams that the candidate has; in [0, 1].

    R = Σ_j Σ_k min(h_k(c), h_k(s_j)) / Σ_j Σ_k h_k(s_j): Lin 2004; equation (9) of the CIDEr
    paper's Appendix VII. `measure="f"` is its F₁ with P = Σ_j Σ_k min(…) / (m Σ_k h_k(c)).
    """

    n: NgramOrder = 1
    measure: Literal["recall", "f"] = "recall"
    over: Literal["sum", "max"] = "sum"
    """Use of several references: `sum` adds up their n-grams, `max` takes the best score."""

    paper: ClassVar[str] = "Lin 2004; Vedantam et al. 2015, equation (9)"
    explanation_unit = "word"

    @classmethod
    def variants(cls) -> tuple[RougeN, ...]:
        """Return ROUGE-1 and ROUGE-2."""
        return cls(1), cls(2)

    @property
    def name(self) -> str:
        """`rouge-1`, `rouge-2`."""
        return f"rouge-{self.n}"

    def prepare(self, references: TokenizedReferences, work: Workspace) -> Prepared:
        """Prepare the references."""
        alone = self.over == "max"
        return _PreparedRougeN.build(
            self, references, work, "rouge_n", self.n, order=self.n, one_by_one=alone
        )

    def settings(self) -> dict[str, str]:
        """Return the settings for signatures, without `over` if it is the default."""
        settings = super().settings()
        if self.over == "sum":
            del settings["over"]
        return settings


@dataclass(frozen=True, eq=False)
class _PreparedRougeN(PreparedOverlap[RougeN]):
    def measure(self, candidates: TokenizedCandidates, work: Workspace) -> Floats:
        """Return recall or F: float64[captions, 1]."""
        if self.metric.over == "max":
            best: Floats = self._score(self.measure_each(candidates, work)).max(axis=1)
            return best[:, None]
        return self._score(super().measure(candidates, work))[:, None]

    def _score(self, rows: Floats) -> Floats:
        """Return scores of rows of (matches, the references' n-grams, the candidate's)."""
        matches, total, length = np.moveaxis(rows, -1, 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            recall = np.where(total > 0, matches / total, 0.0)
            precision = np.where(length > 0, matches / length, 0.0)
        return recall if self.metric.measure == "recall" else f_measure(precision, recall, 1.0)

    def explain(self, candidates: TokenizedCandidates, work: Workspace) -> list[Contributions]:
        """Return the contributions of words: those in n-grams that references have too add to it.

        Other words do not change the recall; with `f`, they lower the precision. With `over="max"`,
        only the reference of the best score counts.
        """
        from cidery.metrics.located_captions import locate_pairs

        scores = self.measure(candidates, work)[:, 0].tolist()
        pairs = locate_pairs(self.references, candidates, SPLIT, work)
        best: list[int | None] = [None] * len(scores)
        if self.metric.over == "max":
            best = self._score(self.measure_each(candidates, work)).argmax(axis=1).tolist()
        return [
            self._explain_one(score, candidate, references, only)
            for score, (candidate, references), only in zip(scores, pairs, best, strict=True)
        ]

    def _explain_one(
        self,
        score: float,
        candidate: LocatedCaption,
        references: Sequence[LocatedCaption],
        only: int | None,
    ) -> Contributions:
        """Return the contributions of words; `only` is the reference that counts, None: all."""
        from cidery.metrics.explanations import Contributions, describe_count, split_score
        from cidery.metrics.ngram.matches import (
            Matches,
            count_keys,
            find_missing_words,
            list_ngrams,
        )

        n = self.metric.n
        ngrams = list_ngrams(candidate.words, n)
        counts = count_keys(ngrams)
        length = len(candidate.words)
        gains, losses = [0.0] * length, [0.0] * length
        matched = total = 0
        lacking: list[Matches] = []
        for place, reference in enumerate(references):
            if only not in (None, place):
                lacking.append(Matches.count(len(reference.words), [], Counter()))
                continue
            reference_ngrams = list_ngrams(reference.words, n)
            common = counts & count_keys(reference_ngrams)
            here = Matches.count(length, ngrams, common)
            gains = list(map(add, gains, here.gains))
            losses = list(map(add, losses, here.losses))
            matched += common.total()
            total += len(reference_ngrams)
            lacking.append(Matches.count(len(reference.words), reference_ngrams, common))
        precision = _divide(matched, len(ngrams) * (len(references) if only is None else 1))
        recall = _divide(matched, total)
        ideal = lack = score
        if self.metric.measure == "f":
            ideal, lack = _f(1.0, recall, 1.0), _f(precision, 1.0, 1.0)
        else:
            losses, lack = [0.0] * length, 1.0
        lost = math.fsum(loss for matches in lacking for loss in matches.losses)
        word_counts = Counter(candidate.words)
        missing = [
            reference.missing_spans(
                [min(0.0, (score - lack) * _divide(loss, lost)) for loss in matches.losses],
                find_missing_words(reference.words, word_counts),
            )
            for reference, matches in zip(references, lacking, strict=True)
        ]
        held = [sum(word in r.words for r in references) for word in candidate.words]
        notes = [describe_count(count, len(references)) for count in held]
        spans = candidate.spans(split_score(score, ideal, gains, losses), notes)
        parts = {"precision": precision, "recall": recall}
        return Contributions(score, spans, missing, parts, candidate.is_located and any(gains))
