"""Scores of judged captions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from cidery.captions.corpus import Corpus
from cidery.captions.tokenizers import TokenizerLike, get_tokenizer
from cidery.captions.workspace import Workspace
from cidery.frequencies import DocumentFrequencies
from cidery.meta.judgments import JudgedCaptions
from cidery.metrics import Metric
from cidery.metrics.base import TokenizedCandidates
from cidery.scoring.scorer import FrequenciesLike, Scorer, sign_metrics, tokenize_references
from cidery.statistics import Floats
from cidery.store import report_to

Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with what is being done, how much is done, and of how much."""


def no_progress(what: str, done: int, total: int) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class CaptionScorer:
    """Scores judged captions: how words are cut, what CIDEr counts on, whom to tell."""

    tokenizer: TokenizerLike = "ptb"
    frequencies: FrequenciesLike = "references"
    """`references`: the judged captions' documents."""
    threads: int = 0
    progress: Progress = no_progress

    def __call__(self, judged: JudgedCaptions, metrics: Mapping[str, Metric]) -> dict[str, Floats]:
        """Return label -> float64[captions]."""
        count = len(judged.captions)
        self.progress(f"scoring by {', '.join(metrics)}", 0, count)
        with self._reporting():
            return dict(self._scorer(judged, metrics).score(*_rows(judged)).each)

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        """Pass on how far a metric is, where it says so."""
        if self.progress is no_progress:
            yield
            return
        with report_to(
            lambda what, share: self.progress(f"{what}, percent", round(100 * share), 100)
        ):
            yield

    def signatures(self, judged: JudgedCaptions, metrics: Mapping[str, Metric]) -> dict[str, str]:
        """Return what a stranger needs to compute the same scores."""
        corpus = Corpus.from_references([list(group) for group in judged.references])
        references = tokenize_references(corpus, self.tokenizer, self.frequencies, self.threads)
        return sign_metrics(metrics, references)

    def by_reference(self, judged: JudgedCaptions, metric: Metric) -> Floats:
        """Return float64[captions, references]: scores against each reference by itself.

        Frequencies are those of all documents with all their references.
        """
        count = judged.fewest_references
        offsets = judged.documents * count
        singles = [[text] for group in judged.references for text in group[:count]]
        corpus = Corpus.from_references(singles)
        frequencies = self.fix_frequencies(judged, metric)
        references = tokenize_references(corpus, self.tokenizer, frequencies, self.threads)
        captions = references.tokenizer(list(judged.captions), self.threads)
        work = Workspace(self.threads)
        prepared = metric.prepare(references, work)
        each = np.empty((len(judged.captions), count))
        for place in range(count):
            candidates = TokenizedCandidates(captions, (offsets + place).astype(np.uint32))
            each[:, place] = metric.each(prepared.measure(candidates, work))
        return each

    def fix_frequencies(self, judged: JudgedCaptions, metric: Metric) -> FrequenciesLike:
        """Return the frequencies of all references, for scores against fewer of them."""
        if self.frequencies != "references" or not metric.uses_frequencies:
            return self.frequencies
        return DocumentFrequencies.from_references(
            [list(group) for group in judged.references],
            tokenizer=self.tokenizer,
            stemmer=metric.stems,
            name=f"all-{len(judged.references)}",
        )

    def _scorer(self, judged: JudgedCaptions, metrics: Mapping[str, Metric]) -> Scorer:
        corpus = Corpus.from_references([list(group) for group in judged.references])
        return self._build(corpus, metrics)

    def _build(self, corpus: Corpus, metrics: Mapping[str, Metric]) -> Scorer:
        return Scorer.build(
            corpus,
            metrics,
            tokenizer=get_tokenizer(self.tokenizer),
            frequencies=self.frequencies,
            threads=self.threads,
        )


def _rows(judged: JudgedCaptions) -> tuple[list[str], np.ndarray, list[int]]:
    return list(judged.captions), judged.documents, judged.documents.tolist()
