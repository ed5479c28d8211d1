"""Base of protocols: functions from judgments, metrics and settings to verdicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from cidery.errors import SettingError
from cidery.meta.judgments import Indexes, Pairs
from cidery.meta.scoring import CaptionScorer
from cidery.meta.settings import Settings, Undecided
from cidery.metrics import Metric
from cidery.statistics import Correlation, Floats, Pool, draw_sums, pool_share, sum_by_group

MetricsByLabel: TypeAlias = Mapping[str, Metric]
HUMAN = "human"
"""Label of annotator agreement."""


@dataclass(frozen=True, eq=False)
class Verdict:
    """Statistics of one metric, with data for tests and plots."""

    statistics: dict[str, float]
    signature: str = ""
    """Signature of its scores; empty for annotator agreement."""
    rows: Floats | None = None
    """float64[images, k]: summable rows of the tested statistic."""
    pool: Pool | None = None
    tested: str = ""
    """Statistic by which metrics are compared."""
    scores: Floats | None = None
    """float64[judgments], beside `human`: for Williams' test and plots."""
    human: Floats | None = None
    samples: Mapping[str, Floats] = field(default_factory=dict)
    """statistic -> its values in bootstrap samples of images, the same samples for all metrics"""


Protocol: TypeAlias = Callable[
    [Any, Mapping[str, Any], Settings, CaptionScorer], dict[str, Verdict]
]


def count_hits(preferred: Floats, votes: Indexes, undecided: Undecided) -> tuple[Floats, Floats]:
    """Return hits and trials of each pair, float64[pairs], for a metric's preferences.

    Args:
        preferred: score of the first minus score of the second.
        votes: human votes; 0 is a tie, which is not a trial.
        undecided: equal scores are `wrong`, `half` a hit, or no trial (`drop`).
    """
    trials = (votes != 0).astype(np.float64)
    hits = (np.sign(preferred) == np.sign(votes)) * trials
    equal = preferred == 0
    if undecided == "half":
        hits = np.where(equal, trials / 2, hits)
    elif undecided == "drop":
        trials = np.where(equal, 0.0, trials)
    return hits, trials


def share_of(hits: Floats, trials: Floats) -> float:
    """Return hits per trial; NaN without trials."""
    total = trials.sum()
    return float(hits.sum() / total) if total else float("nan")


def get_votes(pairs: Pairs, question: str) -> Indexes:
    """Return the votes on a question."""
    if question not in pairs.votes:
        known = ", ".join(pairs.votes)
        raise SettingError(f"{pairs.name} has no votes on {question!r}; it has: {known}")
    return pairs.votes[question]


def get_main_votes(pairs: Pairs) -> Indexes:
    """Return the votes of triplets if there are any, otherwise of preferences."""
    return get_votes(pairs, "triplets" if "triplets" in pairs.votes else "preference")


def draw_pooled(rows: Floats, pool: Pool, settings: Settings) -> Floats:
    """Return a pooled statistic in bootstrap samples of its rows; empty without resamples."""
    if not settings.resamples:
        return np.zeros(0)
    return pool(draw_sums(rows, settings.resamples, settings.seed))


def find_share(
    name: str, pairs: Pairs, hits: Floats, trials: Floats, settings: Settings
) -> tuple[Floats, dict[str, Floats], dict[str, float]]:
    """Return rows by image, bootstrap samples, and a share of all pairs and of each kind."""
    images = pairs.judged.image_of_caption[pairs.first]
    rows = sum_by_group(np.stack([hits, trials], axis=1), images, int(images.max()) + 1)
    samples = {name: draw_pooled(rows, pool_share, settings)}
    statistics = {name: share_of(hits, trials)} | get_bounds(samples)
    for kind in sorted({*pairs.kinds}):
        chosen = np.asarray([found == kind for found in pairs.kinds])
        part = np.where(chosen[:, None], np.stack([hits, trials], axis=1), 0.0)
        statistics |= pool_rows(f"{name}_{kind}", sum_by_group(part, images, len(rows)), settings)
    return rows, samples, statistics


def pool_rows(name: str, rows: Floats, settings: Settings) -> dict[str, float]:
    """Return the share of hits from rows of hits and trials by image, and its bounds."""
    share = float(pool_share(rows.sum(axis=0)))
    return {name: share} | get_bounds({name: draw_pooled(rows, pool_share, settings)})


def draw_correlations(
    correlation: Correlation, images: Indexes, settings: Settings
) -> dict[str, Floats]:
    """Return all coefficients in bootstrap samples of images; nothing without resamples."""
    if not settings.resamples:
        return {}
    return correlation.draw(images, resamples=settings.resamples, seed=settings.seed)


def get_bounds(samples: Mapping[str, Floats]) -> dict[str, float]:
    """Return the bounds of 95 % of the samples of each statistic."""
    bounds: dict[str, float] = {}
    for name, drawn in samples.items():
        known = drawn[np.isfinite(drawn)]  # a sample may be constant
        if len(drawn):
            low, high = np.quantile(known, [0.025, 0.975]) if len(known) else (np.nan, np.nan)
            bounds |= {f"{name}_low": float(low), f"{name}_high": float(high)}
    return bounds
