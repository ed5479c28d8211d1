"""`triplets` and `preference`: does a metric prefer the caption that people prefer?"""

from __future__ import annotations

import numpy as np

from cidery.meta.judging.base import (
    MetricsByLabel,
    Verdict,
    count_hits,
    draw_pooled,
    get_bounds,
    get_votes,
    share_of,
)
from cidery.meta.judgments import Pairs
from cidery.meta.scoring import CaptionScorer
from cidery.meta.settings import Settings
from cidery.statistics import pool_share, sum_by_group


def judge_pairs(
    pairs: Pairs, metrics: MetricsByLabel, settings: Settings, scorer: CaptionScorer
) -> dict[str, Verdict]:
    """Accuracy of preferences, over all pairs and by kind of pair."""
    votes = get_votes(pairs, str(settings.protocol))
    scored = scorer.score(pairs.judged, metrics)
    images = pairs.judged.image_of_caption[pairs.first]
    verdicts = {}
    for label, scores in scored.each.items():
        preferred = scores[pairs.first] - scores[pairs.second]
        hits, trials = count_hits(preferred, votes, settings.undecided)
        rows = sum_by_group(np.stack([hits, trials], axis=1), images, int(images.max()) + 1)
        statistics = {"accuracy": share_of(hits, trials)}
        samples = {"accuracy": draw_pooled(rows, pool_share, settings)}
        statistics |= get_bounds(samples)
        for kind in dict.fromkeys(sorted(pairs.kinds)):
            chosen = np.asarray([found == kind for found in pairs.kinds])
            statistics[f"accuracy_{kind}"] = share_of(hits[chosen], trials[chosen])
        statistics |= {
            "pairs": int(np.count_nonzero(votes)),
            "correct": float(hits.sum()) if settings.undecided == "half" else int(hits.sum()),
            "tied": int(np.count_nonzero(votes == 0)),
            "undecided": int(np.count_nonzero((preferred == 0) & (votes != 0))),
        }
        verdicts[label] = Verdict(
            statistics, scored.signatures[label], rows, pool_share, "accuracy", samples=samples
        )
    return verdicts
