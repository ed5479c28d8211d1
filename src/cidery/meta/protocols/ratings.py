"""Protocol `ratings`: correlation of scores and ratings, of captions and of systems."""

from __future__ import annotations

import numpy as np

from cidery.meta.judgments import Indexes, Ratings
from cidery.meta.protocols.base import (
    HUMAN,
    MetricsByLabel,
    Verdict,
    draw_correlations,
    draw_pooled,
    get_bounds,
    pool_rows,
)
from cidery.meta.protocols.systems import correlate_systems, draw_system_correlations
from cidery.meta.scoring import CaptionScorer
from cidery.meta.settings import Settings
from cidery.statistics import (
    Correlation,
    Floats,
    PairsWithin,
    pearson_rows,
    pool_pearson,
    pool_share,
    sum_by_group,
)


def judge_ratings(
    ratings: Ratings, metrics: MetricsByLabel, settings: Settings, scorer: CaptionScorer
) -> dict[str, Verdict]:
    """Return correlations of scores and ratings, and rankings of captions and of systems."""
    scored = scorer.score(ratings.judged, metrics)
    images = ratings.judged.image_of_caption[ratings.rows]
    mean = _mean_rating(ratings)
    within = PairsWithin.build(ratings.judged.image_of_caption)
    verdicts = _judge_humans(ratings, images, settings)
    for label, scores in scored.each.items():
        rated = scores[ratings.rows]
        correlation = Correlation.build(rated, ratings.ratings)
        samples = draw_correlations(correlation, images, settings)
        statistics = correlation() | get_bounds(samples)
        statistics |= pool_rows("ranking", within.rank(scores, mean), settings)
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
        statistics |= _judge_rated_systems(ratings, scores, mean, settings)
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


def _judge_humans(ratings: Ratings, images: Indexes, settings: Settings) -> dict[str, Verdict]:
    """Return annotator agreement: correlation of each rating with the mean of the others.

    Nothing if no caption has two ratings.
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
    """Return float64[captions]: mean ratings."""
    count = len(ratings.judged.captions)
    sums = np.bincount(ratings.rows, ratings.ratings, count)
    return np.asarray(sums / np.bincount(ratings.rows, minlength=count), np.float64)


def _judge_rated_systems(
    ratings: Ratings, scores: Floats, mean: Floats, settings: Settings
) -> dict[str, float]:
    """Return correlations of mean scores and ratings of systems, with bootstrap samples."""
    names, place = np.unique(list(ratings.systems), return_inverse=True)
    if len(names) < 3:
        return {}
    images = ratings.judged.image_of_caption
    height = int(images.max()) + 1
    written = np.eye(len(names))[place]  # by caption: 1 in the column of its system
    columns = np.stack([written, scores[:, None] * written, mean[:, None] * written], axis=1)
    rows = sum_by_group(columns.reshape(len(scores), -1), images, height)

    def find_means(sums: Floats) -> Floats:
        counts, ours, people = np.moveaxis(sums.reshape(*sums.shape[:-1], 3, -1), -2, 0)
        with np.errstate(invalid="ignore"):  # a sample may miss a system
            return np.stack([ours, people] / counts, axis=-2)

    ours, people = find_means(rows.sum(axis=0))
    statistics = correlate_systems(ours, people, {}).statistics
    statistics |= get_bounds(draw_system_correlations(draw_pooled(rows, find_means, settings)))
    return {f"system_{name}": value for name, value in statistics.items()}
