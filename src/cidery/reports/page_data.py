"""Data of a report, ready for JSON: scores with all digits, in columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from cidery.corpus import Corpus, ImageId
from cidery.metrics.chair.objects import find_categories
from cidery.reports.word_contrasts import contrast_words, gather_references
from cidery.reports.word_values import Values, encode_values, find_step, list_values
from cidery.scoring.score_table import ScoreTable
from cidery.statistics import Interval
from cidery.tables import without_nan
from cidery.text import SPLIT

if TYPE_CHECKING:
    from cidery.scoring.scorer import Scorer

MAX_SAFE_INTEGER = 2**53
"""Largest integer that browsers represent exactly."""
BATCH_SIZE = 25_000
"""Maximum number of captions explained at once, to limit memory."""


def order_rows(corpus: Corpus) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the rows of the captions, image by image in the order of the references."""
    return np.argsort(corpus.candidate_images, kind="stable")


def list_images(corpus: Corpus) -> list[ImageId]:
    """Return the image ids; integers that browsers would round become strings."""
    return [
        str(image) if isinstance(image, int) and abs(image) > MAX_SAFE_INTEGER else image
        for image in corpus.images
    ]


def list_references(corpus: Corpus) -> list[list[str]]:
    """Return the references of each image."""
    return [corpus.references[a:b] for a, b in pairwise(corpus.reference_offsets.tolist())]


def describe_system(
    corpus: Corpus, each: Mapping[str, Any], lengths: Sequence[int] | None = None
) -> dict[str, Any]:
    """Return a system's columns: captions and their scores, image by image.

    `images` has the index of each caption's image; it is omitted if each image has one caption.
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
    """Return the values of an array; None for NaN and infinity."""
    numbers: list[float | None] = values.tolist()
    if np.isfinite(values).all():
        return numbers
    return [n if ok else None for n, ok in zip(numbers, np.isfinite(values).tolist(), strict=True)]


def describe_systems(
    corpora: Mapping[str, Corpus], tables: Mapping[str, ScoreTable], scorer: Scorer
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the columns of all systems, and their word and object contrasts with references."""
    split = scorer.references.captions.form(SPLIT).tokens()
    offsets = scorer.references.image_offsets
    every, common = gather_references(split, offsets)
    things, common_things = gather_references(
        find_categories(scorer.references.captions.texts), offsets
    )
    columns, contrasts = {}, {}
    for name, corpus in corpora.items():
        tokens = scorer.references.tokenizer(corpus.candidates, scorer.threads).form(SPLIT).tokens()
        columns[name] = describe_system(corpus, tables[name].each, [len(words) for words in tokens])
        images = corpus.candidate_images
        contrasts[name] = {
            "words": contrast_words(tokens, images, every, common),
            "objects": contrast_words(
                find_categories(corpus.candidates), images, things, common_things
            ),
        }
    return columns, contrasts


def color_words(
    corpora: Mapping[str, Corpus], scorer: Scorer, label: str
) -> tuple[dict[str, list[Any]], float]:
    """Return the values of the words of every caption, and their unit."""
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
            encode_values(corpus.candidates[row], found[name][row], step)
            for row in order_rows(corpus).tolist()
        ]
        for name, corpus in corpora.items()
    }, step


def _batch(corpora: Mapping[str, Corpus]) -> Iterator[list[str]]:
    """Yield batches of systems that are explained together."""
    names: list[str] = []
    count = 0
    for name, corpus in corpora.items():
        if names and count + len(corpus.candidates) > BATCH_SIZE:
            yield names
            names, count = [], 0
        names.append(name)
        count += len(corpus.candidates)
    yield names


def write_intervals(found: Mapping[str, Interval]) -> dict[str, dict[str, float]]:
    """Return intervals in the format of `score --format json`."""
    return without_nan(  # type: ignore[no-any-return]
        {
            label: {"low": i.low, "high": i.high, "confidence": i.confidence}
            for label, i in found.items()
        }
    )


def has_sets(corpora: Iterable[Corpus]) -> bool:
    """Return True if every system has at least two captions per image."""
    return all(np.bincount(c.candidate_images, minlength=len(c.images)).min() > 1 for c in corpora)
