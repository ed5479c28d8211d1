"""Fewer references: accuracy by their number, and people against metrics on halves of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from cidery.errors import SettingError
from cidery.meta.judgments import Indexes, JudgedCaptions, Pairs
from cidery.meta.protocols import (
    HUMAN,
    Metrics,
    Settings,
    Verdict,
    agree,
    get_votes,
    share_of,
)
from cidery.meta.scoring import CaptionScorer
from cidery.metrics import Metric
from cidery.statistics import Floats, sum_by_group

POINTS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48)
_Preferences = Callable[[int, int], Floats]
"""(draw, number of references) -> float64[pairs]"""


def judge_by_references(
    pairs: Pairs, metrics: Metrics, settings: Settings, scorer: CaptionScorer
) -> dict[str, Verdict]:
    """Accuracy with 1, 2, … references: the CIDEr paper's Figure 3, CIDEr-R's Figure 3.

    Each draw orders every image's references anew and takes the first n, so that a draw's sets grow
    by one another. Frequencies stay those of all references. The interval covers both the draw and
    the images: each bootstrap sample takes images and one of the draws.
    """
    votes = get_votes(pairs, "consensus" if "consensus" in pairs.votes else "preference")
    most = pairs.judged.fewest_references
    points = settings.points or tuple(n for n in POINTS if n <= most)
    if min(points) < 1 or max(points) > most:
        raise SettingError(f"numbers of references must be 1 to {most}, not {points}")
    orders = _draw_orders(pairs.judged, settings)
    images = pairs.judged.image_of_caption[pairs.first]
    rng = np.random.default_rng(settings.seed)
    image_count = int(images.max()) + 1
    # int32[resamples, images]: how often each image is drawn
    drawn = rng.multinomial(image_count, np.full(image_count, 1 / image_count), settings.resamples)
    which = rng.integers(0, settings.draws, settings.resamples)
    verdicts = {}
    for label, preferences in _list_preferences(pairs, metrics, orders, points, scorer).items():
        statistics: dict[str, float] = {}
        for step, count in enumerate(points):
            scorer.progress(f"{label} by number of references", step, len(points))
            sums = np.stack(
                [
                    sum_by_group(
                        np.stack(agree(preferences(d, count), votes, settings.undecided), axis=1),
                        images,
                        image_count,
                    )
                    for d in range(settings.draws)
                ]
            )
            name = f"accuracy_at_{count}"
            statistics[name] = float(np.mean([share_of(*draw.T) for draw in sums]))
            if settings.resamples:
                hits, trials = np.moveaxis(np.tensordot(drawn, sums, ([1], [1])), -1, 0)
                each = (hits / trials)[np.arange(settings.resamples), which]
                low, high = np.quantile(each, [0.025, 0.975])
                statistics |= {f"{name}_low": float(low), f"{name}_high": float(high)}
        verdicts[label] = Verdict(statistics)
    return verdicts


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
    metrics: Metrics,
    orders: list[list[Indexes]],
    points: tuple[int, ...],
    scorer: CaptionScorer,
) -> dict[str, _Preferences]:
    """Return label -> preferences by draw and number of references, the cheapest way for each.

    Metrics that are a mean or a maximum over references meet each reference once. The others are
    scored anew for every draw and number, all in one go.
    """
    found: dict[str, _Preferences] = {}
    together: dict[str, Metric] = {}
    for label, metric in metrics.items():
        if metric.over_references:
            scorer.progress(f"{label} against each reference", 0, 1)
            each = scorer.by_reference(pairs.judged, metric)
            found[label] = _running(pairs, each, orders, metric.over_references)
        else:
            together[label] = metric
    if together:
        known: dict[tuple[int, int], dict[str, Floats]] = {}
        for draw, order in enumerate(orders):
            for count in points:
                scorer.progress(f"scoring by {', '.join(together)}", len(known), len(points))
                judged = _reorder(pairs.judged, order, count)
                scores = scorer(judged, together)
                known[draw, count] = {
                    label: each[pairs.first] - each[pairs.second] for label, each in scores.items()
                }
        for label in together:
            found[label] = lambda draw, count, label=label: known[draw, count][label]  # type: ignore[misc]
    return {label: found[label] for label in metrics}


def _running(pairs: Pairs, each: Floats, orders: list[list[Indexes]], combine: str) -> _Preferences:
    """Return preferences from scores against single references, float64[captions, references]."""
    width = each.shape[1]
    totals = []
    for order in orders:
        # Where documents have more references than the smallest, the surplus plays no part.
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


def judge_human(
    pairs: Pairs, metrics: Metrics, settings: Settings, scorer: CaptionScorer
) -> dict[str, Verdict]:
    """Accuracy of people and of metrics on halves of the references (the CIDEr paper, 7.4).

    Half of a pair's triplets say which caption wins; people predict it from the other half's
    triplets, metrics from the other half's sentences. Means over draws of halves.
    """
    if pairs.triplets is None:
        raise SettingError(
            f"{pairs.name} does not say what people thought of each reference, so its references "
            "cannot be split"
        )
    half = pairs.triplets.shape[1] // 2
    rng = np.random.default_rng(settings.seed)
    shares: dict[str, list[float]] = {label: [] for label in (HUMAN, *metrics)}
    for draw in range(settings.draws):
        scorer.progress("splitting references", draw, settings.draws)
        order = np.argsort(rng.random(pairs.triplets.shape), axis=1)
        told, kept = order[:, :half], order[:, half : 2 * half]
        votes = np.take_along_axis(pairs.triplets, told, axis=1).sum(axis=1, dtype=np.int64)
        others = np.take_along_axis(pairs.triplets, kept, axis=1).sum(axis=1, dtype=np.float64)
        references = [
            [group[i] for i in places]
            for group, places in zip(pairs.judged.references, kept, strict=True)
        ]
        each = scorer(replace(pairs.judged, references=references), metrics)
        preferences = {label: s[pairs.first] - s[pairs.second] for label, s in each.items()}
        for label, preferred in ({HUMAN: others} | preferences).items():
            shares[label].append(share_of(*agree(preferred, votes, settings.undecided)))
    return {
        label: Verdict(
            {
                "accuracy": float(np.mean(found)),
                "accuracy_low": float(np.min(found)),
                "accuracy_high": float(np.max(found)),
                "draws": settings.draws,
            }
        )
        for label, found in shares.items()
    }
