"""Scores of judged captions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cidery.captions.corpus import Corpus
from cidery.captions.tokenizers import TokenizerLike, get_tokenizer
from cidery.captions.workspace import Workspace
from cidery.frequencies import DocumentFrequencies
from cidery.meta.judgments import JudgedCaptions
from cidery.metrics import Metric
from cidery.metrics.base import TokenizedCandidates, TokenizedReferences
from cidery.scoring.scorer import FrequenciesLike, Scorer, sign, tokenize_references
from cidery.statistics import Floats
from cidery.store import Report, no_report, report_to


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
        metrics: Mapping[str, Metric],
        counts: Sequence[int] = (),
    ) -> Scores:
        """Score all captions; references are tokenized and prepared once.

        `counts` are the numbers of references that the signatures name where these captions are
        scored again with more or fewer references; by default the number there is.
        """
        self.progress(f"scoring by {', '.join(metrics)}", 0.0)
        scorer = self._build(judged, metrics)
        with report_to(self.progress):
            table = scorer.score(list(judged.captions), judged.documents, judged.documents.tolist())
        return Scores(table.each, _sign(metrics, scorer.references, counts))

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


def _sign(
    metrics: Mapping[str, Metric], references: TokenizedReferences, counts: Sequence[int]
) -> dict[str, str]:
    bounds = (min(counts), max(counts)) if counts else None
    return {label: str(sign(metric, references, bounds)) for label, metric in metrics.items()}
