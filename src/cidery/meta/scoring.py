"""Scores of judged captions, by metrics of any make: names, metric objects, Python functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from cidery.captions.corpus import Corpus
from cidery.captions.tokenizers import TokenizerLike, get_tokenizer
from cidery.captions.workspace import Workspace
from cidery.errors import InputError, SettingError
from cidery.frequencies import DocumentFrequencies
from cidery.meta.judgments import JudgedCaptions
from cidery.metrics import Metric, get_metrics
from cidery.metrics.base import TokenizedCandidates
from cidery.scoring.scorer import FrequenciesLike, Scorer, sign_metrics, tokenize_references
from cidery.statistics import Floats
from cidery.store import Report, no_report

CaptionFunction: TypeAlias = Callable[[str, list[str]], float]
"""`f(candidate, references) -> score`, higher is better."""
AnyMetric: TypeAlias = str | Metric | CaptionFunction
AnyMetrics: TypeAlias = "AnyMetric | Iterable[AnyMetric] | Mapping[str, AnyMetric] | None"


def label_metrics(metrics: AnyMetrics) -> dict[str, Metric | CaptionFunction]:
    """Return metrics by label; a function goes by its name, a mapping's keys are labels.

    ```python
    label_metrics(["bleu", CiderD(sigma=4), my_function])
    label_metrics({"stemless": Cider(stemmer=None), "mine": my_function})
    ```
    """
    if isinstance(metrics, Mapping):
        return {label: _resolve_one(label, metric) for label, metric in metrics.items()}
    if metrics is None or isinstance(metrics, str | Metric) or callable(metrics):
        given = [] if metrics is None else [metrics]
    else:
        given = list(metrics)
    known = [metric for metric in given if isinstance(metric, str | Metric)]
    labelled: dict[str, Metric | CaptionFunction] = {}
    if known or not given:
        labelled.update(get_metrics(known or None))
    for function in given:
        if isinstance(function, str | Metric):
            continue
        if not callable(function):
            raise SettingError(
                f"a metric is a name, a Metric or a function, not {type(function).__name__}"
            )
        name = getattr(function, "__name__", type(function).__name__)
        if name in labelled:
            raise SettingError(f"two metrics are called {name!r}; pass a dict to name them")
        labelled[name] = function
    return labelled


def _resolve_one(label: str, metric: AnyMetric) -> Metric | CaptionFunction:
    if not isinstance(metric, str | Metric):
        return metric
    found = list(get_metrics(metric).values())
    if len(found) > 1:
        raise SettingError(f"{label!r} names {metric!r}, which is {len(found)} metrics")
    return found[0]


@dataclass(frozen=True)
class CaptionScorer:
    """Scores judged captions: how words are cut, what CIDEr counts on, whom to tell."""

    tokenizer: TokenizerLike = "ptb"
    frequencies: FrequenciesLike = "references"
    """`references`: the judged captions' documents."""
    threads: int = 0
    progress: Report = no_report

    def __call__(
        self, judged: JudgedCaptions, metrics: Mapping[str, Metric | CaptionFunction]
    ) -> dict[str, Floats]:
        """Return label -> float64[captions]."""
        native = {label: m for label, m in metrics.items() if isinstance(m, Metric)}
        each: dict[str, Floats] = {}
        if native:
            self.progress(f"scoring by {', '.join(native)}", 0.0)
            each.update(self._scorer(judged, native).score(*_rows(judged)).each)
        for label, metric in metrics.items():
            if not isinstance(metric, Metric):
                each[label] = self._call(label, metric, judged)
        return {label: each[label] for label in metrics}

    def signatures(
        self, judged: JudgedCaptions, metrics: Mapping[str, Metric | CaptionFunction]
    ) -> dict[str, str]:
        """Return what a stranger needs to compute the same scores."""
        native = {label: m for label, m in metrics.items() if isinstance(m, Metric)}
        corpus = Corpus.from_references([list(group) for group in judged.references])
        references = tokenize_references(corpus, self.tokenizer, self.frequencies, self.threads)
        signed = sign_metrics(native, references)
        return {label: signed.get(label, f"{label}|function") for label in metrics}

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


def _rows(judged: JudgedCaptions) -> tuple[list[str], np.ndarray, list[int]]:
    return list(judged.captions), judged.documents, judged.documents.tolist()
