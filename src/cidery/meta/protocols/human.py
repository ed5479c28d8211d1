"""Protocol `human`: prediction of the majority of one half of triplets from the other half."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cidery.errors import SettingError
from cidery.meta.judgments import Indexes, Pairs
from cidery.meta.protocols.base import HUMAN, MetricsByLabel, Verdict, count_hits, share_of
from cidery.meta.scoring import CaptionScorer
from cidery.meta.settings import Settings
from cidery.statistics import Floats


def split_triplets(
    triplets: NDArray[np.int8], settings: Settings
) -> Iterator[tuple[Indexes, Floats, Indexes]]:
    """Yield votes of one half, votes of the other half, and its references, for each draw."""
    half = triplets.shape[1] // 2
    rng = np.random.default_rng(settings.seed)
    for _ in range(settings.draws):
        order = np.argsort(rng.random(triplets.shape), axis=1)
        first, second = order[:, :half], order[:, half : 2 * half]
        votes = np.take_along_axis(triplets, first, axis=1).sum(axis=1, dtype=np.int64)
        others = np.take_along_axis(triplets, second, axis=1).sum(axis=1, dtype=np.float64)
        yield votes, others, second


def judge_human(
    pairs: Pairs, metrics: MetricsByLabel, settings: Settings, scorer: CaptionScorer
) -> dict[str, Verdict]:
    """Return the accuracy of people and metrics on halves of the triplets (the CIDEr paper, 7.4).

    Half of a pair's triplets decide which caption wins. People predict this by the other half of
    the triplets, metrics by the references in that other half. Statistics are means over random
    halves.
    """
    if pairs.triplets is None:
        raise SettingError(
            f"{pairs.name} has no votes by reference; the protocol human needs triplets with the "
            "same number of references for all pairs"
        )
    shares: dict[str, list[float]] = {label: [] for label in (HUMAN, *metrics)}
    signatures: dict[str, str] = {}
    for draw, (votes, others, half) in enumerate(split_triplets(pairs.triplets, settings)):
        scorer.progress("splitting references", draw / settings.draws)
        references = [
            [group[i] for i in places]
            for group, places in zip(pairs.judged.references, half, strict=True)
        ]
        scored = scorer.score(replace(pairs.judged, references=references), metrics)
        signatures |= scored.signatures
        preferences = {label: s[pairs.first] - s[pairs.second] for label, s in scored.each.items()}
        for label, preferred in ({HUMAN: others} | preferences).items():
            shares[label].append(share_of(*count_hits(preferred, votes, settings.undecided)))
    return {
        label: Verdict(
            {
                "accuracy": float(np.mean(found)),
                "accuracy_low": float(np.min(found)),
                "accuracy_high": float(np.max(found)),
                "draws": settings.draws,
            },
            signatures.get(label, ""),
        )
        for label, found in shares.items()
    }
