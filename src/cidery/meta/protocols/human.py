"""`human`: people and metrics predict each other's majority from half of the references."""

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
    """Yield, for each draw of halves: the votes of one, those of the other, and its references."""
    half = triplets.shape[1] // 2
    rng = np.random.default_rng(settings.seed)
    for _ in range(settings.draws):
        order = np.argsort(rng.random(triplets.shape), axis=1)
        told, kept = order[:, :half], order[:, half : 2 * half]
        votes = np.take_along_axis(triplets, told, axis=1).sum(axis=1, dtype=np.int64)
        others = np.take_along_axis(triplets, kept, axis=1).sum(axis=1, dtype=np.float64)
        yield votes, others, kept


def judge_human(
    pairs: Pairs, metrics: MetricsByLabel, settings: Settings, scorer: CaptionScorer
) -> dict[str, Verdict]:
    """Accuracy of people and of metrics on halves of the references (the CIDEr paper, 7.4).

    Half of a pair's triplets decide which caption wins. People predict this by the other half of
    the triplets, metrics by the references in that other half. Statistics are means over random
    halves.
    """
    if pairs.triplets is None:
        raise SettingError(
            f"{pairs.name} does not say what people thought of each reference, which the protocol "
            "human needs; it takes triplets with equally many references for every pair"
        )
    shares: dict[str, list[float]] = {label: [] for label in (HUMAN, *metrics)}
    signatures: dict[str, str] = {}
    for draw, (votes, others, kept) in enumerate(split_triplets(pairs.triplets, settings)):
        scorer.progress("splitting references", draw / settings.draws)
        references = [
            [group[i] for i in places]
            for group, places in zip(pairs.judged.references, kept, strict=True)
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
