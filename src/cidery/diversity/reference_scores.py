"""Scores of references against the other references of their image."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from cidery.corpus import Corpus, Missing, References
from cidery.diversity.caption_sets import CaptionSets
from cidery.frequencies import CountedFrequencies, DocumentFrequencies
from cidery.metrics import Metric
from cidery.scoring.pipeline import Pipeline, PipelineLike, PipelineSettings
from cidery.scoring.score_table import Resampling, ScoreTable
from cidery.scoring.scorer import Scorer, pool_counted, sum_images
from cidery.text import Tokenizer

if TYPE_CHECKING:
    from typing_extensions import Unpack

_BATCH = 200_000
"""Captions per batch: m captions of an image make m (m - 1) references."""


def score_references(
    references: References,
    metrics: PipelineLike = "cider-d",
    *,
    missing: Missing = "error",
    **settings: Unpack[PipelineSettings],
) -> ScoreTable:
    """Score every reference against the others of its image (with CIDEr, the human accuracy).

    1/N Σ_i sim(g_i, G without g_i): Wang and Chan 2019, section 4.2. The table has one row per
    reference. `frequencies="references"` counts images with all their references.
    `missing="skip"` skips images with fewer than two references. The settings are those of
    `score`.

    ```python
    score_references({"a": ["a dog", "a dog runs"]}, "rouge-l").corpus["rouge-l"]
    ```
    """
    sets = CaptionSets.build(references, missing=missing, name="references")
    pipeline = Pipeline.choose(metrics, **settings)
    chosen = pipeline.metrics
    counted = None
    if pipeline.frequencies == "references" and pipeline.uses_frequencies:
        counted = count_references(sets, pipeline.tokenizer, chosen.values())
    batches = [
        scorer.measure(texts, np.arange(len(texts)))
        for scorer, texts in _leave_one_out(sets, pipeline, counted)
    ]
    rows = {label: np.concatenate([batch[label] for batch in batches]) for label in chosen}
    sizes = sets.sizes - 1
    signatures: dict[str, str] = {}
    for label, metric in chosen.items():
        one = replace(pipeline, metrics={label: metric})
        needed = metric.needs.frequencies
        if counted is not None and needed is not None:
            one = replace(one, frequencies=counted.find(needed.stemmer))
        signatures |= one.sign(len(sets.images), (int(sizes.min()), int(sizes.max())))
    owners = np.repeat(np.arange(len(sets.images)), sets.sizes)
    return ScoreTable(
        ids=[sets.images[i] for i in owners.tolist()],
        image_count=len(sets.images),
        corpus={label: metric.reduce(rows[label]) for label, metric in chosen.items()},
        each={label: metric.each(rows[label]) for label, metric in chosen.items()},
        signatures=signatures,
        resampling={
            label: Resampling(
                sum_images(rows[label], owners, len(sets.images)),
                partial(pool_counted, metric),
                lower_is_better=metric.lower_is_better,
            )
            for label, metric in chosen.items()
        },
    )


def count_references(
    sets: CaptionSets, tokenizer: Tokenizer, metrics: Iterable[Metric]
) -> CountedFrequencies:
    """Count, for metrics that use them, document frequencies on the captions themselves."""
    longest: dict[str | None, int] = {}
    for needed in (metric.needs.frequencies for metric in metrics):
        if needed is not None:
            longest[needed.stemmer] = max(needed.order, longest.get(needed.stemmer, 1))
    groups = dict(zip(sets.images, sets.groups(), strict=True))
    counted = {
        stemmer: DocumentFrequencies.from_references(
            groups, tokenizer=tokenizer, stemmer=stemmer, n=n, name=f"references-{len(groups)}"
        )
        for stemmer, n in longest.items()
    }
    return CountedFrequencies(counted, len(groups))


def _leave_one_out(
    sets: CaptionSets, pipeline: Pipeline, counted: CountedFrequencies | None
) -> Iterator[tuple[Scorer, list[str]]]:
    """Yield scorers of captions against the others of their image, in batches of images."""
    texts: list[str] = []
    others: list[list[str]] = []
    waiting = 0

    def prepare() -> Scorer:
        references = pipeline.tokenize(Corpus.from_references(others))
        if counted is not None:
            references = references.weighted_by(counted)
        return pipeline.prepare_tokenized(references)

    for captions in sets.groups():
        for i, caption in enumerate(captions):
            texts.append(caption)
            others.append(captions[:i] + captions[i + 1 :])
        waiting += len(captions) * (len(captions) - 1)
        if waiting >= _BATCH:
            yield prepare(), texts
            texts, others, waiting = [], [], 0
    if texts:
        yield prepare(), texts
