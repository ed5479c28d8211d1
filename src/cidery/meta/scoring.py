"""Scores of judged captions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np

from cidery.corpus import Corpus
from cidery.frequencies import DocumentFrequencies
from cidery.meta.cache import AgreementCache, can_be_cached, make_key
from cidery.meta.judgments import JudgedCaptions
from cidery.meta.settings import Settings
from cidery.metrics import Metric
from cidery.metrics.base import TokenizedCandidates
from cidery.runtime import (
    ProgressCallback,
    Workspace,
    ignore_progress,
    split_progress,
    use_progress,
)
from cidery.scoring.pipeline import Pipeline
from cidery.statistics import Floats


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of captions (or sets) by several metrics."""

    each: Mapping[str, Floats]
    """label -> float64[captions]"""
    signatures: Mapping[str, str]
    """label -> signature"""


@dataclass(frozen=True, eq=False)
class ScoresByReference:
    """Scores of captions by one metric, against single references."""

    each: Floats
    """float64[captions, references]"""
    signature: str


@dataclass(frozen=True)
class CaptionScorer:
    """Scores judged captions with the tokenizer, frequencies and threads of a pipeline.

    Its frequencies `"references"` are counted on the judged captions' documents.
    """

    pipeline: Pipeline = field(default_factory=Pipeline.choose)
    progress: ProgressCallback = ignore_progress
    cache: AgreementCache | None = None

    @classmethod
    def build(
        cls,
        settings: Settings,
        threads: int = 0,
        progress: ProgressCallback = ignore_progress,
        cache: AgreementCache | None = None,
    ) -> CaptionScorer:
        """Build a scorer from settings."""
        pipeline = Pipeline.choose(
            tokenizer=settings.tokenizer,
            language=settings.language,
            frequencies=settings.frequencies,
            threads=threads,
        )
        return cls(pipeline, progress, cache)

    def score(
        self,
        judged: JudgedCaptions,
        metrics: Mapping[str, Metric],
        counts: Sequence[int] = (),
    ) -> Scores:
        """Score all captions; references are tokenized and prepared once.

        `counts` are the numbers of references in the signatures. Default: the actual number.
        """
        keys = self._find_keys(judged, metrics, counts)
        known = self._load(keys, len(judged.captions))
        missing = {label: metric for label, metric in metrics.items() if label not in known.each}
        if not missing:
            return known
        self.progress(f"scoring by {', '.join(missing)}", 0.0)
        pipeline = replace(self.pipeline, metrics=missing)
        captions = {
            "captions": list(judged.captions),
            "references": list(chain.from_iterable(judged.references)),
        }
        pipeline.check_captions(captions, len(judged.references))
        corpus = Corpus.from_references([list(group) for group in judged.references])
        parts = split_progress([len(captions["references"]), len(captions["captions"])])
        with use_progress(self.progress):
            with next(parts):
                scorer = pipeline.prepare(replace(corpus, images=_name_images(judged)))
            with next(parts):
                table = scorer.score(
                    captions["captions"], judged.documents, judged.documents.tolist()
                )
        signatures = scorer.signatures
        if counts:
            signatures = pipeline.sign(len(judged.references), (min(counts), max(counts)))
        scores = _orient(table.each, missing)
        if self.cache is not None:
            self.cache.save_scores(
                {
                    key: (scores[label], signatures[label])
                    for label, key in keys.items()
                    if label in missing
                }
            )
        each = {**known.each, **scores}
        signed = {**known.signatures, **signatures}
        return Scores(
            {label: each[label] for label in metrics}, {label: signed[label] for label in metrics}
        )

    def _find_keys(
        self, judged: JudgedCaptions, metrics: Mapping[str, Metric], counts: Sequence[int]
    ) -> dict[str, bytes]:
        """Return label -> key of the scores that may be cached."""
        frequencies = self.pipeline.frequencies
        if self.cache is None or not isinstance(frequencies, str):
            return {}
        settings = {
            "tokenizer": self.pipeline.tokenizer.id,
            "language": self.pipeline.language,
            "frequencies": frequencies,
            "counts": [int(count) for count in counts],
        }
        return {
            label: make_key("scores", judged.fingerprint, metric, settings)
            for label, metric in metrics.items()
            if can_be_cached(metric)
        }

    def _load(self, keys: Mapping[str, bytes], count: int) -> Scores:
        known = self.cache.load_scores(keys, count) if self.cache else {}
        return Scores(
            {label: scores for label, (scores, _) in known.items()},
            {label: signature for label, (_, signature) in known.items()},
        )

    def score_by_reference(
        self, judged: JudgedCaptions, metric: Metric, counts: Sequence[int] = ()
    ) -> ScoresByReference:
        """Score captions against single references.

        Frequencies are those of all documents with all their references. `counts` is as in `score`.
        """
        count = judged.fewest_references
        offsets = judged.documents * count
        singles = [[text] for group in judged.references for text in group[:count]]
        corpus = replace(Corpus.from_references(singles), images=_name_images(judged, count))
        fixed = self.fix_frequencies(judged, metric).pipeline
        pipeline = replace(fixed, metrics={"": metric})
        scorer = pipeline.prepare(corpus)
        captions = pipeline.tokenizer(list(judged.captions), pipeline.threads)
        work = Workspace(pipeline.threads)
        each = np.empty((len(judged.captions), count))
        for place in range(count):
            candidates = TokenizedCandidates(captions, (offsets + place).astype(np.uint32))
            each[:, place] = metric.each(scorer.measure_tokenized(candidates, work)[""])
        numbers = counts or (count,)
        signatures = pipeline.sign(len(singles), (min(numbers), max(numbers)))
        return ScoresByReference(-each if metric.lower_is_better else each, signatures[""])

    def fix_frequencies(self, judged: JudgedCaptions, metric: Metric) -> CaptionScorer:
        """Return a scorer with the frequencies of all references."""
        needed = metric.needs.frequencies
        if self.pipeline.frequencies != "references" or needed is None:
            return self
        counted = DocumentFrequencies.from_references(
            [list(group) for group in judged.references],
            tokenizer=self.pipeline.tokenizer,
            stemmer=needed.stemmer,
            name=f"all-{len(judged.references)}",
        )
        return replace(self, pipeline=replace(self.pipeline, frequencies=counted))


def _name_images(judged: JudgedCaptions, times: int = 1) -> tuple[str, ...]:
    """Return the image id of each document, repeated; empty if unknown."""
    if not judged.names:
        return ()
    return tuple(name for i in judged.images.tolist() for name in [judged.names[i]] * times)


def _orient(each: Mapping[str, Floats], metrics: Mapping[str, Metric]) -> dict[str, Floats]:
    """Return scores for which higher is better: negative for metrics where lower is better."""
    return {
        label: -values if metrics[label].lower_is_better else values
        for label, values in each.items()
    }
