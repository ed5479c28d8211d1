"""BLEU (Papineni et al. 2002), of captions and of corpora."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from cidery.metrics.base import Metric, Prepared, TokenizedCandidates, TokenizedReferences
from cidery.metrics.ngram.overlap import PreparedOverlap
from cidery.metrics.settings import Faithful, NgramOrder, require
from cidery.runtime import Workspace
from cidery.statistics import Floats
from cidery.text import SPLIT

if TYPE_CHECKING:
    from cidery.metrics.explanations import Contributions
    from cidery.metrics.ngram.matches import Words

# coco-caption's constants: "so that if guess is 0 still return 0", and against division by zero.
_TINY = 1e-15
_SMALL = 1e-9


@dataclass(frozen=True)
class Bleu(Metric):
    """BLEU-n: geometric mean of clipped n-gram precisions, times a brevity penalty; in [0, 1].

    BLEU_N = b · exp(1/N Σ_n log P_n), P_n = Σ_k min(h_k(c), max_j h_k(s_j)) / Σ_k h_k(c), and
    b = exp(1 - l_S/l_C) where the candidates are shorter: Papineni et al., ACL 2002; equations
    (6)-(8) of the CIDEr paper's Appendix VII. The corpus score pools counts over all captions;
    it is not the mean of the captions' scores. `coco` adds coco-caption's 1e-15 and 1e-9.

    ```python
    cidery.score(candidates, references, metrics=[Bleu(4), Bleu(1, brevity=False)])
    ```
    """

    n: NgramOrder = 4
    faithful: Faithful = "coco"
    reference_length: Literal["closest", "shortest", "average"] = "closest"
    """Length that the candidate's is compared with; of two equally close ones the shorter."""
    brevity: bool = True
    """False: no brevity penalty."""
    smoothing: Literal["none", "add-one", "epsilon", "exponential"] = "none"
    """Smoothing of captions without long matches: `add-one` adds 1 to matches and n-grams of order
    2 and up (Lin and Och 2004); `epsilon` puts 0.1 for no match, `exponential` 1/2, 1/4, … (methods
    1 and 3 of Chen and Cherry 2014)."""
    effective_order: bool = False
    """True: orders of which a caption has no n-grams are left out of the geometric mean, and a
    caption without a matching word scores 0 with any smoothing: sacreBLEU's option."""

    paper: ClassVar[str] = "Papineni et al. 2002; Vedantam et al. 2015, equations (6)-(8)"
    explanation_unit = "word"

    @classmethod
    def variants(cls) -> tuple[Bleu, ...]:
        """Return BLEU with n-grams up to 1, 2, 3 and 4 words."""
        return tuple(cls(n) for n in (1, 2, 3, 4))

    def __post_init__(self) -> None:
        super().__post_init__()
        require(
            self.faithful == "paper" or self.smoothing == "none",
            'coco-caption does not smooth; pass faithful="paper" with a smoothing',
        )
        require(
            self.faithful == "paper" or not self.effective_order,
            'coco-caption uses all orders; pass faithful="paper" with effective_order',
        )

    @property
    def name(self) -> str:
        """`bleu-1` … `bleu-4`."""
        return f"bleu-{self.n}"

    def settings(self) -> dict[str, str]:
        """Return the settings for signatures, without `effective_order` if it is not used."""
        settings = super().settings()
        if not self.effective_order:
            del settings["effective_order"]
        return settings

    @property
    def _rows_order(self) -> int:
        return max(self.n, 4)

    def prepare(self, references: TokenizedReferences, work: Workspace) -> Prepared:
        """Prepare the references."""
        order = self._rows_order
        return _PreparedBleu.build(
            self, references, work, "bleu", order, self.reference_length, order=order
        )

    def each(self, rows: Floats) -> Floats:
        """Return BLEU of each caption."""
        return self._score(rows)

    def pool(self, sums: Floats, count: Floats) -> Floats:  # noqa: ARG002
        """Return BLEU of the pooled counts."""
        return self._score(sums)

    def _score(self, rows: Floats) -> Floats:
        """Return scores of rows of (length, reference length, matches…, n-grams…)."""
        order = self._rows_order
        length, reference_length = rows[..., 0], rows[..., 1]
        matches = rows[..., 2 : 2 + self.n]
        totals = rows[..., 2 + order : 2 + order + self.n]
        if self.faithful == "coco":
            product = np.prod((matches + _TINY) / (totals + _SMALL), axis=-1)
            score = product ** (1 / self.n)
            ratio = (length + _TINY) / (reference_length + _SMALL)
        else:
            score = np.exp(self._mean_log_precision(matches, totals))
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = np.where(reference_length > 0, length / reference_length, 1.0)
        if not self.brevity:
            return np.asarray(score, np.float64)
        with np.errstate(divide="ignore", over="ignore"):
            penalty = np.where(ratio < 1, np.exp(1 - 1 / ratio), 1.0)
        return np.asarray(score * penalty, np.float64)

    def _mean_log_precision(self, matches: Floats, totals: Floats) -> Floats:
        matches, totals = matches.astype(np.float64), totals.astype(np.float64)
        some = matches[..., 0] > 0
        if self.smoothing == "add-one":
            longer = np.arange(self.n) > 0
            matches, totals = matches + longer, totals + longer
        elif self.smoothing == "epsilon":
            matches = np.where((matches == 0) & (totals > 0), 0.1, matches)
        elif self.smoothing == "exponential":
            missed = (matches == 0) & (totals > 0)
            matches = np.where(missed, 0.5 ** np.cumsum(missed, axis=-1), matches)
        with np.errstate(divide="ignore", invalid="ignore"):
            logarithms = np.log(np.where(totals > 0, matches / totals, 0.0))
        if not self.effective_order:
            return np.asarray(np.mean(logarithms, axis=-1), np.float64)
        used = (totals > 0) | (np.arange(self.n) == 0)  # of an empty caption, the first order
        return np.where(some, np.mean(logarithms, axis=-1, where=used), -np.inf)


@dataclass(frozen=True, eq=False)
class _PreparedBleu(PreparedOverlap[Bleu]):
    def explain(self, candidates: TokenizedCandidates, work: Workspace) -> list[Contributions]:
        """Return the contributions of words: n-grams that match add to them, others subtract.

        If all n-grams matched, the score would be the brevity penalty: matching n-grams share it,
        each order an equal part. The loss by imperfect precisions is shared by the n-grams that do
        not match, each order in proportion to the logarithm of its precision.
        """
        from cidery.metrics.explanations import Contributions, describe_count, split_score
        from cidery.metrics.located_captions import locate_pairs
        from cidery.metrics.ngram.matches import find_missing_words

        metric, order = self.metric, self.metric._rows_order
        rows = self.measure(candidates, work)
        means = replace(metric, brevity=False).each(rows).tolist()
        scores = metric.each(rows).tolist()
        shares = []
        pairs = locate_pairs(self.references, candidates, SPLIT, work)
        for place, (candidate, references) in enumerate(pairs):
            matches = rows[place, 2 : 2 + metric.n]
            totals = rows[place, 2 + order : 2 + order + metric.n]
            gains, losses = self._share_orders(candidate.words, [r.words for r in references])
            known = [set(reference.words) for reference in references]
            mean, score = means[place], scores[place]
            brevity = score / mean if mean else 1.0
            spans = candidate.spans(
                split_score(score, brevity, gains, losses),
                [describe_count(sum(w in k for k in known), len(known)) for w in candidate.words],
            )
            parts = {
                f"precision {n}": float(hits) / max(1.0, float(total))
                for n, (hits, total) in enumerate(zip(matches, totals, strict=True), 1)
            }
            if metric.brevity:
                parts["brevity"] = brevity
            counts = Counter(candidate.words)
            missing = [
                reference.missing_spans(
                    [0.0] * len(reference.words), find_missing_words(reference.words, counts)
                )
                for reference in references
            ]
            shares.append(
                Contributions(score, spans, missing, parts, candidate.is_located and any(gains))
            )
        return shares

    def _share_orders(
        self, words: Words, references: list[Words]
    ) -> tuple[list[float], list[float]]:
        """Return, by word, its part in the n-grams that match and in those that do not."""
        from cidery.metrics.ngram.matches import Matches, count_max, list_ngrams

        found = []
        for n in range(1, self.metric.n + 1):
            groups = list_ngrams(words, n)
            most = count_max(groups, references, n)
            found.append(Matches.count(len(words), groups, most))
        hits = [sum(matches.gains) for matches in found]
        misses = [sum(matches.losses) for matches in found]
        weights = [
            0.0 if not miss else math.inf if not hit else math.log1p(miss / hit)
            for hit, miss in zip(hits, misses, strict=True)
        ]
        if math.inf in weights:  # an order without a match makes the score 0
            weights = [float(weight == math.inf) for weight in weights]
        gains, losses = [0.0] * len(words), [0.0] * len(words)
        for matches, hit, miss, weight in zip(found, hits, misses, weights, strict=True):
            for place in range(len(words)):
                gains[place] += matches.gains[place] / hit if hit else 0.0
                losses[place] += weight * matches.losses[place] / miss if miss else 0.0
        return gains, losses
