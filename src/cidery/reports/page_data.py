"""What a page shows, as one mapping that JSON can hold: numbers with all digits, in columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from cidery.corpus import Corpus, ImageId
from cidery.metrics.chair.objects import find_categories
from cidery.reports.word_contrasts import contrast_words, gather_references
from cidery.reports.word_values import Values, color, find_step, list_values
from cidery.scoring.tables import ScoreTable
from cidery.statistics import Interval
from cidery.tables import without_nan
from cidery.text import SPLIT

if TYPE_CHECKING:
    from cidery.scoring.scorer import Scorer

MOST_EXACT = 2**53
"""Browsers keep larger whole numbers with fewer digits."""
MOST_AT_ONCE = 25_000
"""Captions that are explained together: more would need gigabytes."""


def order_rows(corpus: Corpus) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the rows of the captions, image by image in the order of the references."""
    return np.argsort(corpus.candidate_images, kind="stable")


def list_images(corpus: Corpus) -> list[ImageId]:
    """Return the images' ids; numbers that a browser would round become text."""
    return [
        str(image) if isinstance(image, int) and abs(image) > MOST_EXACT else image
        for image in corpus.images
    ]


def list_references(corpus: Corpus) -> list[list[str]]:
    """Return the references of each image."""
    return [corpus.references[a:b] for a, b in pairwise(corpus.reference_offsets.tolist())]


def describe_system(
    corpus: Corpus, each: Mapping[str, Any], lengths: Sequence[int] | None = None
) -> dict[str, Any]:
    """Return a system's columns: captions and their scores, image by image.

    `images` has the place of each caption's image; it is left out where each image has one caption.
    """
    order = order_rows(corpus)
    places = corpus.candidate_images[order]
    columns: dict[str, Any] = {"captions": [corpus.candidates[row] for row in order.tolist()]}
    if not np.array_equal(places, np.arange(len(corpus.images))):
        columns["images"] = places.tolist()
    if lengths is not None:
        columns["lengths"] = [lengths[row] for row in order.tolist()]
    columns["scores"] = {label: list_numbers(values[order]) for label, values in each.items()}
    return columns


def list_numbers(values: Any) -> list[float | None]:
    """Return an array's numbers; None for what JSON cannot hold."""
    numbers: list[float | None] = values.tolist()
    if np.isfinite(values).all():
        return numbers
    return [n if ok else None for n, ok in zip(numbers, np.isfinite(values).tolist(), strict=True)]


def describe_systems(
    corpora: Mapping[str, Corpus], tables: Mapping[str, ScoreTable], scorer: Scorer
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return all systems' columns, and the words and objects in which they differ from people."""
    split = scorer.references.captions.form(SPLIT).tokens()
    offsets = scorer.references.image_offsets
    every, common = gather_references(split, offsets)
    things, common_things = gather_references(
        find_categories(scorer.references.captions.texts), offsets
    )
    columns, contrasts = {}, {}
    for name, corpus in corpora.items():
        said = scorer.references.tokenizer(corpus.candidates, scorer.threads).form(SPLIT).tokens()
        columns[name] = describe_system(corpus, tables[name].each, [len(words) for words in said])
        images = corpus.candidate_images
        contrasts[name] = {
            "words": contrast_words(said, images, every, common),
            "objects": contrast_words(
                find_categories(corpus.candidates), images, things, common_things
            ),
        }
    return columns, contrasts


def color_words(
    corpora: Mapping[str, Corpus], scorer: Scorer, label: str
) -> tuple[dict[str, list[Any]], float]:
    """Return what the words of every caption earned or cost, and the unit of these numbers."""
    found: dict[str, list[Values]] = {}
    for names in _batch(corpora):
        parts = [corpora[name] for name in names]
        explained = scorer.explain(
            label,
            list(chain.from_iterable(part.candidates for part in parts)),
            np.concatenate([part.candidate_images for part in parts]),
        )
        values = map(list_values, explained)
        for name, part in zip(names, parts, strict=True):
            found[name] = list(islice(values, len(part.candidates)))
    step = find_step(chain.from_iterable(found.values()))
    return {
        name: [
            color(corpus.candidates[row], found[name][row], step)
            for row in order_rows(corpus).tolist()
        ]
        for name, corpus in corpora.items()
    }, step


def _batch(corpora: Mapping[str, Corpus]) -> Iterator[list[str]]:
    """Yield systems that are explained together: references are looked at once in each batch."""
    names: list[str] = []
    count = 0
    for name, corpus in corpora.items():
        if names and count + len(corpus.candidates) > MOST_AT_ONCE:
            yield names
            names, count = [], 0
        names.append(name)
        count += len(corpus.candidates)
    yield names


def write_intervals(found: Mapping[str, Interval]) -> dict[str, dict[str, float]]:
    """Return intervals as `score --format json` writes them."""
    return without_nan(  # type: ignore[no-any-return]
        {
            label: {"low": i.low, "high": i.high, "confidence": i.confidence}
            for label, i in found.items()
        }
    )


def has_sets(corpora: Iterable[Corpus]) -> bool:
    """Tell whether every system has at least two captions for every image."""
    return all(np.bincount(c.candidate_images, minlength=len(c.images)).min() > 1 for c in corpora)
