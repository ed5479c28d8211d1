"""`ratings`: do scores go with people's ratings, of captions and of systems?"""

from __future__ import annotations

import numpy as np

from cidery.meta.judging.base import MetricsByLabel, Verdict, find_correlation_bounds
from cidery.meta.judging.systems import correlate_systems
from cidery.meta.judgments import Indexes, Ratings
from cidery.meta.scoring import CaptionScorer
from cidery.meta.settings import Settings
from cidery.statistics import Correlation, Floats, pearson_rows, pool_pearson


def judge_ratings(
    ratings: Ratings, metrics: MetricsByLabel, settings: Settings, scorer: CaptionScorer
) -> dict[str, Verdict]:
    """Correlation of scores and ratings, ranking of captions of one image, and of systems."""
    scored = scorer.score(ratings.judged, metrics)
    images = ratings.judged.image_of_caption[ratings.rows]
    mean = _mean_rating(ratings)
    verdicts = {}
    for label, scores in scored.each.items():
        rated = scores[ratings.rows]
        correlation = Correlation.build(rated, ratings.ratings)
        statistics = correlation() | find_correlation_bounds(correlation, images, settings)
        statistics["ranking"] = rank_within(scores, mean, ratings.judged.image_of_caption)
        statistics |= _judge_rated_systems(ratings, scores, mean)
        statistics |= {"captions": len(scores), "ratings": len(ratings)}
        rows = pearson_rows(rated, ratings.ratings, images)
        verdicts[label] = Verdict(
            statistics,
            scored.signatures[label],
            rows,
            pool_pearson,
            "pearson",
            rated,
            ratings.ratings,
        )
    return verdicts


def _mean_rating(ratings: Ratings) -> Floats:
    """Return float64[captions]; every caption was rated."""
    count = len(ratings.judged.captions)
    sums = np.bincount(ratings.rows, ratings.ratings, count)
    return np.asarray(sums / np.bincount(ratings.rows, minlength=count), np.float64)


def rank_within(scores: Floats, human: Floats, groups: Indexes) -> float:
    """Return the share of pairs of one group, rated differently, that scores order the same way.

    Equal scores count half; nan where no group has captions rated differently.
    """
    order = np.argsort(groups, kind="stable")
    edges = np.flatnonzero(np.diff(groups[order])) + 1
    same = trials = 0.0
    for members in np.split(order, edges):
        above = np.sign(human[members][:, None] - human[members][None, :]) > 0
        sign = np.sign(scores[members][:, None] - scores[members][None, :])
        same += float((above * (sign + 1) / 2).sum())
        trials += float(above.sum())
    return same / trials if trials else float("nan")


def _judge_rated_systems(ratings: Ratings, scores: Floats, mean: Floats) -> dict[str, float]:
    names, place = np.unique(list(ratings.systems), return_inverse=True)
    if len(names) < 3:
        return {}
    counts = np.bincount(place)
    ours, people = np.bincount(place, scores) / counts, np.bincount(place, mean) / counts
    verdict = correlate_systems(ours, people, {})
    return {f"system_{name}": value for name, value in verdict.statistics.items()}
