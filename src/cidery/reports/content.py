"""What a page shows, as one mapping that JSON can hold: numbers with all digits, in columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from cidery.captions.corpus import Corpus
from cidery.reports.colours import colour, find_step
from cidery.reports.objects import name_objects
from cidery.reports.words import contrast_words, gather_references
from cidery.scoring.tables import ScoreTable
from cidery.statistics import Interval

if TYPE_CHECKING:
    from cidery.metrics.explanations import Explanation
    from cidery.scoring.scorer import Scorer


def order_rows(corpus: Corpus) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the rows of the captions, image by image in the order of the references."""
    return np.argsort(corpus.candidate_images, kind="stable")


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
    columns["scores"] = {label: values[order].tolist() for label, values in each.items()}
    return columns


def describe_systems(
    corpora: Mapping[str, Corpus], tables: Mapping[str, ScoreTable], scorer: Scorer
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return all systems' columns, and the words and objects in which they differ from people."""
    split = scorer.references.captions.form("split").tokens()
    offsets = scorer.references.image_offsets
    every, common = gather_references(split, offsets)
    things, common_things = gather_references([name_objects(words) for words in split], offsets)
    columns, contrasts = {}, {}
    for name, corpus in corpora.items():
        said = scorer.references.tokenizer(corpus.candidates, scorer.threads).form("split").tokens()
        columns[name] = describe_system(corpus, tables[name].each, [len(words) for words in said])
        images = corpus.candidate_images
        contrasts[name] = {
            "words": contrast_words(said, images, every, common),
            "objects": contrast_words(
                [name_objects(words) for words in said], images, things, common_things
            ),
        }
    return columns, contrasts


def colour_words(
    corpora: Mapping[str, Corpus], scorer: Scorer, label: str
) -> tuple[dict[str, list[Any]], float]:
    """Return what the words of every caption earned or cost, and the unit of these numbers."""
    found: dict[str, list[Explanation]] = {}
    for name, corpus in corpora.items():
        explained = scorer.explain(label, corpus.candidates, corpus.candidate_images)
        found[name] = [explained[row] for row in order_rows(corpus).tolist()]
    step = find_step(e for explanations in found.values() for e in explanations)
    return {name: [colour(e, step) for e in explanations] for name, explanations in found.items()}, step


def write_intervals(found: Mapping[str, Interval]) -> dict[str, dict[str, float]]:
    """Return intervals as `score --format json` writes them."""
    return {
        label: {"low": i.low, "high": i.high, "confidence": i.confidence}
        for label, i in found.items()
    }


def has_sets(corpora: Iterable[Corpus]) -> bool:
    """Tell whether every system has at least two captions for every image."""
    return all(
        np.bincount(c.candidate_images, minlength=len(c.images)).min() > 1 for c in corpora
    )
