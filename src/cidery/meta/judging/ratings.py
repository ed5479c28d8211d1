"""`ratings`: do scores go with people's ratings, of captions and of systems?"""

from __future__ import annotations

import numpy as np

from cidery.meta.judging.base import (
    HUMAN,
    MetricsByLabel,
    Verdict,
    draw_correlations,
    draw_pooled,
    get_bounds,
)
from cidery.meta.judging.systems import correlate_systems
from cidery.meta.judgments import Indexes, Ratings
from cidery.meta.scoring import CaptionScorer
from cidery.meta.settings import Settings
from cidery.statistics import (
    Correlation,
    Floats,
    PairsWithin,
    pearson_rows,
    pool_pearson,
    pool_share,
)


def judge_ratings(
    ratings: Ratings, metrics: MetricsByLabel, settings: Settings, scorer: CaptionScorer
) -> dict[str, Verdict]:
    """Correlation of scores and ratings, ranking of captions of one image, and of systems."""
    scored = scorer.score(ratings.judged, metrics)
    images = ratings.judged.image_of_caption[ratings.rows]
    mean = _mean_rating(ratings)
    within = PairsWithin.build(ratings.judged.image_of_caption)
    verdicts = _judge_people(ratings, images, settings)
    for label, scores in scored.each.items():
        rated = scores[ratings.rows]
        correlation = Correlation.build(rated, ratings.ratings)
        samples = draw_correlations(correlation, images, settings)
        statistics = correlation() | get_bounds(samples)
        statistics["ranking"] = rank_within(scores, mean, ratings.judged.image_of_caption)
        if len(within.first):
            calibration = within.calibrate(scores, mean)
            by_image = {
                "tau_b_by_image": within.correlate(scores, mean),
                "accuracy_with_ties": calibration.rows,
            }
            for name, found in by_image.items():
                statistics[name] = float(pool_share(found.sum(axis=0)))
                samples[name] = draw_pooled(found, pool_share, settings)
                statistics |= get_bounds({name: samples[name]})
            statistics["tie_threshold"] = calibration.threshold
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
            samples,
        )
    return verdicts


def _judge_people(ratings: Ratings, images: Indexes, settings: Settings) -> dict[str, Verdict]:
    """Return what people reach among themselves: each rating against the mean of the others.

    It is what a metric may hope for. Nothing where no caption was rated twice.
    """
    count = len(ratings.judged.captions)
    answers = np.bincount(ratings.rows, minlength=count)
    several = answers[ratings.rows] > 1
    if not several.any():
        return {}
    sums = np.bincount(ratings.rows, ratings.ratings, count)
    rows, own = ratings.rows[several], ratings.ratings[several]
    others = (sums[rows] - own) / (answers[rows] - 1)
    correlation = Correlation.build(others, own)
    samples = draw_correlations(correlation, images[several], settings)
    statistics = correlation() | get_bounds(samples)
    statistics |= {"captions": len(np.unique(rows)), "ratings": len(own)}
    return {HUMAN: Verdict(statistics)}


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
