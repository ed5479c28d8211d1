"""Protocols `triplets` and `preference`: accuracy of choices between two captions."""

from __future__ import annotations

import numpy as np

from cidery.meta.judgments import Indexes, Pairs
from cidery.meta.protocols.base import (
    HUMAN,
    MetricsByLabel,
    Verdict,
    count_hits,
    find_share,
    get_votes,
)
from cidery.meta.protocols.human import split_triplets
from cidery.meta.scoring import CaptionScorer
from cidery.meta.settings import Settings
from cidery.statistics import Floats, pool_share


def judge_pairs(
    pairs: Pairs, metrics: MetricsByLabel, settings: Settings, scorer: CaptionScorer
) -> dict[str, Verdict]:
    """Return the accuracy over all pairs and by kind of pair."""
    votes = get_votes(pairs, str(settings.protocol))
    verdicts = _judge_humans(pairs, settings)
    scored = scorer.score(pairs.judged, metrics)
    for label, scores in scored.each.items():
        preferred = scores[pairs.first] - scores[pairs.second]
        hits, trials = count_hits(preferred, votes, settings.undecided)
        rows, samples, statistics = find_share("accuracy", pairs, hits, trials, settings)
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


def _judge_humans(pairs: Pairs, settings: Settings) -> dict[str, Verdict]:
    """Return annotator agreement; nothing if single votes are unknown.

    For preferences: share of votes that agree with the majority of the other votes. For triplets:
    share of pairs in which one half predicts the majority of the other. Ties count half, since they
    are frequent with few votes.
    """
    if settings.protocol == "triplets":
        if pairs.triplets is None:
            return {}
        halves = [
            count_hits(others, votes, "half")
            for votes, others, _ in split_triplets(pairs.triplets, settings)
        ]
        hits, trials = np.mean(halves, axis=0)
    else:
        vote_counts = pairs.vote_counts.get("preference")
        if vote_counts is None:
            return {}
        hits, trials = _count_majority_hits(vote_counts)
    if not trials.any():
        return {}
    _, _, statistics = find_share("accuracy", pairs, hits, trials, settings)
    statistics["pairs"] = int(np.count_nonzero(trials))
    return {HUMAN: Verdict(statistics)}


def _count_majority_hits(vote_counts: Indexes) -> tuple[Floats, Floats]:
    """Return votes that agree with the majority of the others, and all votes of pairs with several.

    A vote counts half if the others are tied.
    """
    total = vote_counts.sum(axis=1)
    trials = np.where(total > 1, total, 0).astype(np.float64)
    hits = np.zeros(len(vote_counts))
    for own, other in (vote_counts.T, vote_counts.T[::-1]):
        lead = own - 1 - other  # of the others, for what this vote is for
        hits += own * (np.sign(lead) + 1) / 2
    return np.where(trials > 0, hits, 0.0), trials
