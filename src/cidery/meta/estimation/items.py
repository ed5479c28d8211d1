"""Judged items, estimated quantities, and a metric's predictions."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from cidery.errors import InputError, SettingError
from cidery.meta.cache import open_cache
from cidery.meta.judgments import Dataset, Indexes, Pairs, Ratings
from cidery.meta.labels import AnyMetrics, label_for
from cidery.meta.protocols.base import get_main_votes
from cidery.meta.scoring import CaptionScorer
from cidery.meta.selection import select_items
from cidery.meta.settings import Settings
from cidery.runtime import ProgressCallback
from cidery.statistics import Floats, Sample

PEOPLE = "people"
"""Label of estimates from judgments alone."""
ALL = "all"
"""Quantity if systems are unknown."""
SCALES = ((0.0, 1.0), (1.0, 5.0), (0.0, 10.0), (0.0, 100.0))
"""Common scales; the first that contains all ratings is the default. The range of the ratings is
no substitute: it is empty if all ratings are equal."""


@dataclass(frozen=True, eq=False)
class Items:
    """Captions or pairs, and their judgments."""

    answers: Floats
    """float64[items]: mean rating, or 1 for a win of the first caption, 0.5 for a tie, 0; or NaN"""
    images: Indexes
    """int64[items]"""
    systems: Sequence[str] | Sequence[tuple[str, str]]
    """System of the caption, or of both captions."""
    counts: Indexes
    """int64[items]: number of judgments."""
    spread: float
    """Standard deviation of judgments of the same item; NaN without repeated judgments."""
    scale: tuple[float, float] | None = None
    """Minimum and maximum of the rating scale; None: pairs, or unknown."""

    @property
    def are_pairs(self) -> bool:
        """True for pairs of captions."""
        return bool(self.systems) and not isinstance(self.systems[0], str)


@dataclass(frozen=True, eq=False)
class Quantity:
    """A mean rating, a difference of two, or a share of wins."""

    name: str
    parts: Sequence[tuple[Indexes, bool]]
    """Items of each sample, and, for pairs, True if the first caption is the system's."""
    factors: tuple[float, ...]
    kind: str
    """`mean`, `difference` or `wins`."""
    systems: tuple[str, ...] = ()


def read_items(dataset: Dataset, settings: Settings) -> tuple[Pairs | Ratings, Items]:
    """Return the selected items, judged or not."""
    chosen = select_items(dataset, settings)
    if not isinstance(chosen, Pairs | Ratings):
        raise SettingError(f"{dataset.name} has neither ratings of captions nor pairs")
    return chosen, _read_pairs(chosen) if isinstance(chosen, Pairs) else _read_ratings(chosen)


def read_judged_items(dataset: Dataset, settings: Settings) -> tuple[Pairs | Ratings, Items]:
    """Return the selected items, at least one of which is judged."""
    chosen, items = read_items(dataset, settings)
    if not items.counts.any():
        what, key = ("pairs", "votes") if items.are_pairs else ("captions", "ratings")
        raise InputError(f"{dataset.name}: none of the {len(items.counts)} {what} has {key}")
    return chosen, items


def _read_ratings(ratings: Ratings) -> Items:
    count = len(ratings.judged.captions)
    if not np.isfinite(ratings.ratings).all():
        wrong = int(ratings.rows[~np.isfinite(ratings.ratings)][0])
        caption = ratings.judged.captions[wrong]
        raise InputError(f"{ratings.name}: a rating of the caption {caption!r} is not finite")
    answers = np.bincount(ratings.rows, minlength=count)
    with np.errstate(invalid="ignore"):
        mean = np.bincount(ratings.rows, ratings.ratings, count) / answers
    spare = int((answers - 1)[answers > 1].sum())
    squares = float(((ratings.ratings - mean[ratings.rows]) ** 2).sum())
    return Items(
        mean,
        ratings.judged.image_of_caption,
        ratings.systems,
        answers,
        math.sqrt(squares / spare) if spare else math.nan,
        guess_scale(ratings.ratings),
    )


def guess_scale(ratings: Floats) -> tuple[float, float] | None:
    """Return the common scale that contains all ratings, or their range and a step of 1."""
    if not len(ratings):
        return None
    least, most = float(ratings.min()), float(ratings.max())
    fitting = (scale for scale in SCALES if scale[0] <= least and most <= scale[1])
    return next(fitting, (least, max(most, least + 1)))


def read_scale(items: Items, scale: tuple[float, float] | None) -> Items:
    """Return the items with a scale, after a check of the ratings."""
    if scale is None:
        return items
    if items.are_pairs:
        raise SettingError("scale is valid for ratings only, not for pairs")
    low, high = scale
    if not -math.inf < low < high < math.inf:
        raise SettingError(f"scale must ascend, not from {low:g} to {high:g}")
    given = items.answers[~np.isnan(items.answers)]
    if len(given) and not low <= given.min() <= given.max() <= high:
        raise SettingError(
            f"ratings from {given.min():g} to {given.max():g} are not within the scale {low:g} to "
            f"{high:g}"
        )
    return replace(items, scale=(low, high))


def _read_pairs(pairs: Pairs) -> Items:
    votes = get_main_votes(pairs)
    return Items(
        np.where(pairs.was_judged, 0.5 + np.sign(votes) / 2, np.nan),
        pairs.judged.image_of_caption[pairs.first],
        pairs.systems or [("first", "second")] * len(pairs),
        pairs.was_judged.astype(np.int64) if pairs.answers is None else pairs.answers,
        math.nan,
    )


def predict(
    dataset: Pairs | Ratings,
    metrics: AnyMetrics,
    settings: Settings,
    threads: int,
    progress: ProgressCallback,
    cache: bool | str | os.PathLike[str] = False,
) -> tuple[dict[str, Floats], dict[str, str]]:
    """Return predictions of all items, by metric.

    Predictions are ranks; for pairs, signed ranks of the differences.
    """
    labeled = label_for(dataset, metrics, settings.language)
    if PEOPLE in labeled:
        raise SettingError(f"{PEOPLE!r} is a reserved label; choose another")
    store = open_cache(cache, settings)
    scorer = CaptionScorer.build(settings, threads, progress, store)
    scored = scorer.score(dataset.judged, labeled)
    predictions = {}
    for label, scores in scored.each.items():
        if isinstance(dataset, Pairs):
            difference = scores[dataset.first] - scores[dataset.second]
            predictions[label] = np.sign(difference) * _rank(np.abs(difference))
        else:
            predictions[label] = _rank(scores)
    return predictions, dict(scored.signatures)


def _rank(values: Floats) -> Floats:
    """Return mean ranks from 0 to 1."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts + 1) / 2)[place] / len(values), np.float64)


def list_quantities(items: Items) -> Iterator[Quantity]:
    """Yield the quantities: means, then differences; or shares of wins."""
    if items.are_pairs:
        yield from _list_wins(items)
        return
    if not items.systems:
        yield Quantity(ALL, [(np.arange(len(items.answers)), True)], (1.0,), "mean")
        return
    systems = np.asarray(items.systems)
    places = {name: np.flatnonzero(systems == name) for name in dict.fromkeys(items.systems)}
    for name, place in places.items():
        yield Quantity(str(name), [(place, True)], (1.0,), "mean", (str(name),))
    for one, other in combinations(places, 2):
        parts = [(places[one], True), (places[other], True)]
        yield Quantity(f"{one} - {other}", parts, (1.0, -1.0), "difference", (str(one), str(other)))


def _list_wins(items: Items) -> Iterator[Quantity]:
    first, second = (np.asarray([str(pair[side]) for pair in items.systems]) for side in (0, 1))
    names = list(dict.fromkeys([*first.tolist(), *second.tolist()]))
    differ = first != second
    for name in names if len(names) > 2 else ():
        own = [
            (np.flatnonzero((side == name) & differ), is_first)
            for side, is_first in ((first, True), (second, False))
        ]
        if sum(len(place) for place, _ in own):
            yield Quantity(f"{name} wins", own, (1.0,), "wins", (name,))
    for one, other in combinations(names, 2):
        own = [
            (np.flatnonzero((first == one) & (second == other)), True),
            (np.flatnonzero((first == other) & (second == one)), False),
        ]
        if sum(len(place) for place, _ in own):
            yield Quantity(f"{one} over {other}", own, (1.0,), "wins", (one, other))


def draw_samples(items: Items, quantity: Quantity, predicted: Floats | None) -> list[Sample] | None:
    """Return the samples of a quantity; None if one has no judgments."""

    def take(parts: Sequence[tuple[Indexes, bool]]) -> Sample | None:
        places = np.concatenate([place for place, _ in parts])
        own = np.repeat([is_first for _, is_first in parts], [len(place) for place, _ in parts])
        answers = items.answers[places]
        if np.isnan(answers).all():
            return None
        predictions = None
        if predicted is not None:
            predictions = np.where(own, predicted[places], -predicted[places])
        if quantity.kind == "wins":
            answers = np.where(own, answers, 1 - answers)
        return Sample(answers, predictions, items.images[places])

    if quantity.kind == "wins":
        samples = [take(quantity.parts)]
    else:
        samples = [take([part]) for part in quantity.parts]
    found = [sample for sample in samples if sample is not None]
    return found if len(found) == len(samples) else None
