"""Protocol `references`: accuracy by number of references."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cidery.errors import SettingError
from cidery.meta.judgments import Indexes, JudgedCaptions, Pairs
from cidery.meta.protocols.base import (
    MetricsByLabel,
    Verdict,
    count_hits,
    get_bounds,
    get_main_votes,
    share_of,
)
from cidery.meta.scoring import CaptionScorer
from cidery.meta.settings import Settings
from cidery.metrics import Metric, is_built_in
from cidery.statistics import Floats, sum_by_group

REFERENCE_COUNTS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48)
"""Default numbers of references."""
POOLING = {"cider-d": "mean", "cider-r": "mean", "meteor": "max"}
"""Metrics whose score is the mean or maximum over references, and that have no setting for it."""


@dataclass(frozen=True, eq=False)
class _Preferences:
    """Preferences of a metric by draw and number of references."""

    get: Callable[[int, int], Floats]
    """(draw, number of references) -> float64[pairs]"""
    signature: str


def judge_by_references(
    pairs: Pairs, metrics: MetricsByLabel, settings: Settings, scorer: CaptionScorer
) -> dict[str, Verdict]:
    """Return the accuracy with 1, 2, … references: Figure 3 of the CIDEr and CIDEr-R papers.

    Each draw puts every image's references in a random order and takes the first n, so that a
    larger number of references includes the smaller ones. Frequencies stay those of all references.
    """
    counts = _choose_counts(pairs, settings)
    orders = _draw_orders(pairs.judged, settings)
    found = _list_preferences(pairs, metrics, orders, counts, scorer)
    resampling = _Resampling.draw(pairs, settings)
    verdicts = {}
    for label, preferences in found.items():
        statistics: dict[str, float] = {}
        for step, count in enumerate(counts):
            scorer.progress(f"{label} by number of references", step / len(counts))
            sums = np.stack(
                [
                    _count_by_image(pairs, preferences.get(draw, count), settings)
                    for draw in range(settings.draws)
                ]
            )
            name = f"accuracy_at_{count}"
            statistics[name] = float(np.mean([share_of(*draw.T) for draw in sums]))
            statistics |= resampling.find_bounds(name, sums)
        verdicts[label] = Verdict(statistics, preferences.signature)
    return verdicts


def _choose_counts(pairs: Pairs, settings: Settings) -> tuple[int, ...]:
    most = pairs.judged.fewest_references
    counts = settings.reference_counts or tuple(n for n in REFERENCE_COUNTS if n <= most)
    if min(counts) < 1 or max(counts) > most:
        raise SettingError(f"reference_counts must be between 1 and {most}, not {counts}")
    return counts


def _count_by_image(pairs: Pairs, preferred: Floats, settings: Settings) -> Floats:
    """Return float64[images, 2]: hits and trials."""
    images = pairs.judged.image_of_caption[pairs.first]
    rows = np.stack(count_hits(preferred, get_main_votes(pairs), settings.undecided), axis=1)
    return sum_by_group(rows, images, int(images.max()) + 1)


@dataclass(frozen=True, eq=False)
class _Resampling:
    """Bootstrap samples of images, each with one of the draws of references."""

    times: NDArray[np.int64]
    """int64[resamples, images]: how often each image is drawn."""
    draw_of: Indexes
    """int64[resamples]"""

    @classmethod
    def draw(cls, pairs: Pairs, settings: Settings) -> _Resampling:
        rng = np.random.default_rng(settings.seed)
        count = int(pairs.judged.image_of_caption[pairs.first].max()) + 1
        times = rng.multinomial(count, np.full(count, 1 / count), settings.resamples)
        return cls(times, rng.integers(0, settings.draws, settings.resamples))

    def find_bounds(self, name: str, sums: Floats) -> dict[str, float]:
        """Return the interval of an accuracy from float64[draws, images, 2]."""
        if len(self.times) == 0:
            return {}
        hits, trials = np.moveaxis(np.tensordot(self.times, sums, ([1], [1])), -1, 0)
        with np.errstate(invalid="ignore"):  # people may be tied on all pairs of a sample
            each = (hits / trials)[np.arange(len(self.times)), self.draw_of]
        return get_bounds({name: each})


def _draw_orders(judged: JudgedCaptions, settings: Settings) -> list[list[Indexes]]:
    """Return, for each draw and document, an order of its references."""
    return [
        [
            np.random.default_rng([settings.seed, draw, document]).permutation(len(group))
            for document, group in enumerate(judged.references)
        ]
        for draw in range(settings.draws)
    ]


def _list_preferences(
    pairs: Pairs,
    metrics: MetricsByLabel,
    orders: list[list[Indexes]],
    counts: tuple[int, ...],
    scorer: CaptionScorer,
) -> dict[str, _Preferences]:
    """Return label -> preferences, computed the cheapest way for each metric.

    Metrics that are a mean or a maximum over references are scored against each reference once.
    The others are scored again for every draw and number of references.
    """
    found: dict[str, _Preferences] = {}
    together: dict[str, Metric] = {}
    for label, metric in metrics.items():
        if not isinstance(metric, Metric):
            together[label] = metric
        elif pooling := find_pooling(metric):
            scorer.progress(f"{label} against each reference", 0.0)
            scored = scorer.score_by_reference(pairs.judged, metric, counts)
            get = _accumulate(pairs, scored.each, orders, pooling)
            found[label] = _Preferences(get, scored.signature)
        elif metric.needs.frequencies:
            fixed = scorer.fix_frequencies(pairs.judged, metric)
            found |= _score_draws(pairs, {label: metric}, orders, counts, fixed)
        else:
            together[label] = metric
    if together:
        found |= _score_draws(pairs, together, orders, counts, scorer)
    return {label: found[label] for label in metrics}


def _score_draws(
    pairs: Pairs,
    metrics: MetricsByLabel,
    orders: list[list[Indexes]],
    counts: tuple[int, ...],
    scorer: CaptionScorer,
) -> dict[str, _Preferences]:
    known: dict[str, dict[tuple[int, int], Floats]] = {label: {} for label in metrics}
    signatures: dict[str, str] = {}
    total = len(orders) * len(counts)
    for draw, order in enumerate(orders):
        for step, count in enumerate(counts):
            done = draw * len(counts) + step
            scorer.progress(f"scoring by {', '.join(metrics)}", done / total)
            scored = scorer.score(_reorder(pairs.judged, order, count), metrics, counts)
            signatures |= scored.signatures
            for label, each in scored.each.items():
                known[label][draw, count] = each[pairs.first] - each[pairs.second]

    def make_lookup(label: str) -> Callable[[int, int], Floats]:
        return lambda draw, count: known[label][draw, count]

    return {label: _Preferences(make_lookup(label), signatures[label]) for label in metrics}


def find_pooling(metric: Metric) -> Literal["mean", "max"] | None:
    """Return how scores against single references combine to a metric's score.

    None: they do not, or the metric is not one of cidery.

    ```python
    find_pooling(METRICS["cider-d"]), find_pooling(METRICS["bleu-4"])   # ("mean", None)
    ```
    """
    if not is_built_in(metric) or metric.needs.all_references:
        return None
    pooling = POOLING.get(metric.name) or metric.settings().get("over")
    return "mean" if pooling == "mean" else "max" if pooling == "max" else None


def _accumulate(
    pairs: Pairs, each: Floats, orders: list[list[Indexes]], combine: str
) -> Callable[[int, int], Floats]:
    """Return preferences from scores against single references, float64[captions, references]."""
    width = each.shape[1]
    totals = []
    for order in orders:
        # Every document takes part with as many references as the one with the fewest has.
        places = np.stack([found[found < width] for found in order])[pairs.judged.documents]
        shuffled = np.take_along_axis(each, places, axis=1)
        if combine == "max":
            totals.append(np.maximum.accumulate(shuffled, axis=1))
        else:
            totals.append(np.cumsum(shuffled, axis=1) / np.arange(1, width + 1))

    def prefer(draw: int, count: int) -> Floats:
        scores = totals[draw][:, count - 1]
        return np.asarray(scores[pairs.first] - scores[pairs.second], np.float64)

    return prefer


def _reorder(judged: JudgedCaptions, order: list[Indexes], count: int) -> JudgedCaptions:
    width = judged.fewest_references
    references = [
        [group[i] for i in found[found < width][:count]]
        for group, found in zip(judged.references, order, strict=True)
    ]
    return replace(judged, references=references)
