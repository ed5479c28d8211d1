"""Scorer: references prepared for the metrics of a pipeline."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from cidery.corpus import Corpus
from cidery.errors import SettingError
from cidery.metrics import Metric
from cidery.metrics.base import Prepared, TokenizedCandidates, TokenizedReferences
from cidery.runtime import Workspace, current_progress, ignore_progress, split_progress
from cidery.scoring.score_table import Resampling, ScoreTable
from cidery.statistics import Floats, sum_by_group

if TYPE_CHECKING:
    from cidery.metrics.explanations import Explanation
    from cidery.scoring.pipeline import Pipeline

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Scorer:
    """References prepared by a `Pipeline`: scores any candidates for the same images.

    ```python
    corpus = Corpus.build({"a": "a dog"}, {"a": ["a dog runs"]})
    scorer = cidery.Pipeline.choose("rouge-l").prepare(corpus)
    scorer.score_corpus(corpus).corpus["rouge-l"]
    ```
    """

    pipeline: Pipeline
    references: TokenizedReferences
    prepared: Mapping[Metric, Prepared]
    signatures: Mapping[str, str]
    """Signatures by label; computed with the preparation, since files may change later."""

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """Metrics by label."""
        return self.pipeline.metrics

    @property
    def threads(self) -> int:
        """Maximum number of threads."""
        return self.pipeline.threads

    def score_corpus(self, corpus: Corpus) -> ScoreTable:
        """Score the candidates of a corpus that has the same images."""
        return self.score(corpus.candidates, corpus.candidate_images, corpus.candidate_ids)

    def score(self, candidates: list[str], images: Any, ids: Any) -> ScoreTable:
        """Score captions; `images[i]` is the index of the image of caption i."""
        rows = self.measure(candidates, images)
        count = self.references.image_count
        # Metrics that share rows share their sums, and so the drawing of samples.
        shared = {id(measured): measured for measured in rows.values()}
        summed = {key: sum_images(measured, images, count) for key, measured in shared.items()}
        resampling = {
            label: Resampling(
                summed[id(rows[label])],
                partial(pool_counted, metric),
                lower_is_better=metric.lower_is_better,
                has_range=all(map(math.isfinite, metric.range)),
            )
            for label, metric in self.metrics.items()
        }
        return ScoreTable(
            ids=ids,
            image_count=count,
            corpus={k: m.reduce(rows[k]) for k, m in self.metrics.items()},
            each={k: m.each(rows[k]) for k, m in self.metrics.items()},
            signatures=self.signatures,
            resampling=resampling,
        )

    def explain(self, label: str, candidates: list[str], images: Any) -> list[Explanation]:
        """Return the explanation of each caption's score by one metric."""
        return self.explain_all(candidates, images, [label])[label]

    def explain_all(
        self, candidates: list[str], images: Any, labels: Sequence[str] | None = None
    ) -> dict[str, list[Explanation]]:
        """Return the explanations by several metrics, by default all; they share their work."""
        from cidery.metrics.explanations import Explanation

        chosen = list(self.metrics if labels is None else labels)
        for label in chosen:
            if label not in self.metrics:
                raise SettingError(f"no metric {label!r} here; there are {', '.join(self.metrics)}")
            if self.metrics[label].explanation_unit is None:
                raise SettingError(f"{label} cannot explain its scores; remove it")
        if not candidates:
            return {label: [] for label in chosen}
        tokenized = self.tokenize(candidates, images)
        work = Workspace(self.threads)
        texts = self.references.captions.texts
        offsets = self.references.image_offsets.tolist()
        groups = [tuple(texts[offsets[i] : offsets[i + 1]]) for i in tokenized.images.tolist()]
        explained = {}
        with _no_garbage():
            for label in chosen:
                shares = self.prepared[self.metrics[label]].explain(tokenized, work)
                explained[label] = [
                    Explanation.build(label, *one)
                    for one in zip(candidates, groups, shares, strict=True)
                ]
        return explained

    def credit_pieces(
        self, label: str, candidates: list[str], images: Any
    ) -> Sequence[Mapping[str, float]]:
        """Return the contributions to each caption's score by the metric's `explanation_unit`."""
        tokenized = self.tokenize(candidates, images)
        with _no_garbage():
            return self.prepared[self.metrics[label]].credit_pieces(
                tokenized, Workspace(self.threads)
            )

    def tokenize(self, candidates: list[str], images: Any) -> TokenizedCandidates:
        """Tokenize captions; `images[i]` is the index of the image of caption i."""
        return TokenizedCandidates(
            self.references.tokenizer(candidates, self.threads),
            np.ascontiguousarray(images, np.uint32),
        )

    def measure(self, candidates: list[str], images: Any) -> dict[str, Floats]:
        """Return each metric's rows; metrics that share rows share one array."""
        return self.measure_tokenized(self.tokenize(candidates, images))

    def measure_tokenized(
        self, tokenized: TokenizedCandidates, work: Workspace | None = None
    ) -> dict[str, Floats]:
        """Return each metric's rows of captions that this tokenizer tokenized."""
        work = Workspace(self.threads) if work is None else work
        rows = run_metrics(self.prepared, lambda m: self.prepared[m].measure(tokenized, work))
        return {label: rows[metric] for label, metric in self.metrics.items()}


SLOW_EXTRAS = ("contextual", "clip", "spice", "claims")
"""Extras of metrics that run language models, image models or parsers."""
SLOW_WEIGHT = 100.0
"""Duration of such a metric, relative to that of one on n-grams."""


def run_metrics(metrics: Collection[Metric], function: Callable[[Metric], T]) -> dict[Metric, T]:
    """Return the result of a function for each metric, and report the progress of all."""
    if current_progress() is ignore_progress:
        return {metric: function(metric) for metric in metrics}
    weights = [SLOW_WEIGHT if m.needs.extra in SLOW_EXTRAS else 1.0 for m in metrics]
    steps = [f"scoring by {metric.name}" for metric in metrics]
    results = {}
    for metric, part in zip(metrics, split_progress(weights, steps), strict=True):
        with part:
            results[metric] = function(metric)
    return results


@contextmanager
def _no_garbage() -> Iterator[None]:
    """Pause the garbage collector, which would take a third of the time.

    Nothing that is made meanwhile refers to itself, so there is nothing to find.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def sum_images(rows: Floats, images: Any, image_count: int) -> Floats:
    """Sum each image's rows, with their number as the last column: images are the unit drawn."""
    counted = np.concatenate([rows, np.ones((len(rows), 1))], axis=1)
    return sum_by_group(counted, np.asarray(images), image_count)


def pool_counted(metric: Metric, sums: Floats) -> Floats:
    """Return corpus scores from sums of rows whose last column counts them."""
    return metric.pool(sums[..., :-1], sums[..., -1])
