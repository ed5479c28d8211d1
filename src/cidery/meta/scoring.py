"""Scores of judged captions, by metrics and by plain Python functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from cidery.captions.corpus import Corpus
from cidery.captions.tokenizers import TokenizerLike, get_tokenizer
from cidery.captions.workspace import Workspace
from cidery.errors import InputError
from cidery.frequencies import DocumentFrequencies
from cidery.meta.judgments import JudgedCaptions
from cidery.metrics import Metric
from cidery.metrics.base import TokenizedCandidates, TokenizedReferences
from cidery.scoring.scorer import FrequenciesLike, Scorer, sign, tokenize_references
from cidery.statistics import Floats
from cidery.store import Report, no_report

CaptionFunction: TypeAlias = Callable[[str, list[str]], float]
"""`f(candidate, references) -> score`, higher is better."""


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of captions (or sets) by several metrics."""

    each: Mapping[str, Floats]
    """label -> float64[captions]"""
    signatures: Mapping[str, str]
    """label -> what others need to compute the same scores"""


@dataclass(frozen=True, eq=False)
class ScoresByReference:
    """Scores of captions by one metric, against each reference by itself."""

    each: Floats
    """float64[captions, references]"""
    signature: str


@dataclass(frozen=True)
class CaptionScorer:
    """Scores judged captions with one tokenizer and one choice of frequencies."""

    tokenizer: TokenizerLike = "ptb"
    frequencies: FrequenciesLike = "references"
    """`references`: those of the judged captions' documents."""
    threads: int = 0
    progress: Report = no_report

    def score(
        self,
        judged: JudgedCaptions,
        metrics: Mapping[str, Metric | CaptionFunction],
        counts: Sequence[int] = (),
    ) -> Scores:
        """Score all captions; references are tokenized and prepared once.

        `counts` are the numbers of references that the signatures name where these captions are
        scored again with more or fewer references; by default the number there is.
        """
        own = {label: m for label, m in metrics.items() if isinstance(m, Metric)}
        each: dict[str, Floats] = {}
        signatures = {label: f"{label}|function" for label in metrics}
        if own:
            self.progress(f"scoring by {', '.join(own)}", 0.0)
            scorer = self._build(judged, own)
            table = scorer.score(list(judged.captions), judged.documents, judged.documents.tolist())
            each.update(table.each)
            signatures |= _sign(own, scorer.references, counts)
        for label, metric in metrics.items():
            if not isinstance(metric, Metric):
                each[label] = self._call(label, metric, judged)
        return Scores({label: each[label] for label in metrics}, signatures)

    def score_by_reference(
        self, judged: JudgedCaptions, metric: Metric, counts: Sequence[int] = ()
    ) -> ScoresByReference:
        """Score captions against each reference by itself.

        Frequencies are those of all documents with all their references. `counts` is as in `score`.
        """
        count = judged.fewest_references
        offsets = judged.documents * count
        singles = [[text] for group in judged.references for text in group[:count]]
        corpus = Corpus.from_references(singles)
        frequencies = self.fix_frequencies(judged, metric).frequencies
        references = tokenize_references(corpus, self.tokenizer, frequencies, self.threads)
        captions = references.tokenizer(list(judged.captions), self.threads)
        work = Workspace(self.threads)
        prepared = metric.prepare(references, work)
        each = np.empty((len(judged.captions), count))
        for place in range(count):
            candidates = TokenizedCandidates(captions, (offsets + place).astype(np.uint32))
            each[:, place] = metric.each(prepared.measure(candidates, work))
        signatures = _sign({"": metric}, references, counts or (count,))
        return ScoresByReference(each, signatures[""])

    def fix_frequencies(self, judged: JudgedCaptions, metric: Metric) -> CaptionScorer:
        """Return a scorer whose frequencies stay those of all references, however few are used."""
        if self.frequencies != "references" or not metric.uses_frequencies:
            return self
        counted = DocumentFrequencies.from_references(
            [list(group) for group in judged.references],
            tokenizer=self.tokenizer,
            stemmer=metric.stems,
            name=f"all-{len(judged.references)}",
        )
        return replace(self, frequencies=counted)

    def _build(self, judged: JudgedCaptions, metrics: Mapping[str, Metric]) -> Scorer:
        return Scorer.build(
            Corpus.from_references([list(group) for group in judged.references]),
            metrics,
            tokenizer=get_tokenizer(self.tokenizer),
            frequencies=self.frequencies,
            threads=self.threads,
        )

    def _call(self, label: str, function: CaptionFunction, judged: JudgedCaptions) -> Floats:
        known: dict[tuple[str, int], float] = {}
        scores = np.empty(len(judged.captions))
        for row, key in enumerate(zip(judged.captions, judged.documents.tolist(), strict=True)):
            if key not in known:
                known[key] = float(function(key[0], list(judged.references[key[1]])))
                if not np.isfinite(known[key]):
                    raise InputError(f"{label} gave {known[key]} for the caption {key[0]!r}")
            scores[row] = known[key]
            self.progress(f"scoring by {label}", (row + 1) / len(scores))
        return scores


def _sign(
    metrics: Mapping[str, Metric], references: TokenizedReferences, counts: Sequence[int]
) -> dict[str, str]:
    bounds = (min(counts), max(counts)) if counts else None
    return {label: str(sign(metric, references, bounds)) for label, metric in metrics.items()}
