"""How well do references agree? Each one is scored against the others of its image."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

from cidery.corpus import Corpus, Missing, References
from cidery.diversity.sets import CaptionSets
from cidery.frequencies import DocumentFrequencies
from cidery.metrics import Metric, MetricsLike, get_metrics
from cidery.metrics.base import Faithful
from cidery.scoring.scorer import (
    FrequenciesLike,
    Scorer,
    pool_counted,
    read_frequencies,
    sign,
    sum_images,
)
from cidery.scoring.tables import Resampling, ScoreTable
from cidery.statistics import Floats
from cidery.text import Tokenizer, TokenizerLike, choose_tokenizer

_BATCH = 200_000
"""Captions prepared at a time: m captions of an image make m (m - 1) references."""


def score_references(
    references: References,
    metrics: MetricsLike = "cider-d",
    *,
    tokenizer: TokenizerLike | None = None,
    language: str | None = None,
    frequencies: FrequenciesLike = "references",
    faithful: Faithful | None = None,
    missing: Missing = "error",
    threads: int = 0,
) -> ScoreTable:
    """Score every reference against the others of its image; with CIDEr, the accuracy of humans.

    1/N Σ_i sim(g_i, G without g_i): Wang and Chan 2019, section 4.2. The table has one row per
    reference. `frequencies="references"` counts the images as they are, with all references.
    `missing="skip"` leaves out images with fewer than two references.

    ```python
    score_references({"a": ["a dog", "a dog runs"]}, "rouge-l").corpus["rouge-l"]
    ```
    """
    sets = CaptionSets.build(references, missing=missing, name="references")
    cut = choose_tokenizer(tokenizer, language)
    chosen = get_metrics(metrics, faithful, language)
    counted_on = read_frequencies(frequencies)
    rows: dict[str, Floats] = {}
    signatures: dict[str, str] = {}
    for stemmer, group in _by_stemmer(chosen).items():
        found = counted_on
        longest = [getattr(m, "n", 4) for m in group.values() if m.uses_frequencies]
        if counted_on == "references" and longest:
            found = count_references(sets, cut, stemmer, max(longest))
        measured = [
            (scorer, scorer.measure(texts, images))
            for scorer, texts, images in _left_out(sets, group, cut, found, threads)
        ]
        sizes = sets.sizes - 1
        for label, metric in group.items():
            rows[label] = np.concatenate([batch[label] for _, batch in measured])
            first = measured[0][0].references
            counts = int(sizes.min()), int(sizes.max())
            signatures[label] = str(sign(metric, first, counts))
    owners = np.repeat(np.arange(len(sets.images)), sets.sizes)
    return ScoreTable(
        ids=[sets.images[i] for i in owners.tolist()],
        image_count=len(sets.images),
        corpus={label: metric.reduce(rows[label]) for label, metric in chosen.items()},
        each={label: metric.each(rows[label]) for label, metric in chosen.items()},
        signatures={label: signatures[label] for label in chosen},
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
    sets: CaptionSets, tokenizer: Tokenizer, stemmer: str | None, n: int = 4
) -> DocumentFrequencies:
    """Count document frequencies on the captions themselves."""
    return DocumentFrequencies.from_references(
        dict(zip(sets.images, sets.groups(), strict=True)),
        tokenizer=tokenizer,
        stemmer=stemmer,
        n=n,
        name=f"references-{len(sets.images)}",
    )


def _by_stemmer(metrics: Mapping[str, Metric]) -> dict[str | None, dict[str, Metric]]:
    """Group metrics by the stems that their frequencies must be counted on."""
    groups: defaultdict[str | None, dict[str, Metric]] = defaultdict(dict)
    for label, metric in metrics.items():
        groups[metric.stems if metric.uses_frequencies else None][label] = metric
    return groups


def _left_out(
    sets: CaptionSets,
    metrics: Mapping[str, Metric],
    tokenizer: Tokenizer,
    frequencies: str | DocumentFrequencies,
    threads: int,
) -> Iterator[tuple[Scorer, list[str], np.ndarray[tuple[int], np.dtype[np.int64]]]]:
    """Give scorers of captions against the others of their image, some images at a time."""
    texts: list[str] = []
    others: list[list[str]] = []
    waiting = 0

    def batch() -> tuple[Scorer, list[str], np.ndarray[tuple[int], np.dtype[np.int64]]]:
        corpus = Corpus.from_references(others)
        scorer = Scorer.build(
            corpus, metrics, tokenizer=tokenizer, frequencies=frequencies, threads=threads
        )
        return scorer, texts, np.arange(len(texts))

    for captions in sets.groups():
        for i, caption in enumerate(captions):
            texts.append(caption)
            others.append(captions[:i] + captions[i + 1 :])
        waiting += len(captions) * (len(captions) - 1)
        if waiting >= _BATCH:
            yield batch()
            texts, others, waiting = [], [], 0
    if texts:
        yield batch()
