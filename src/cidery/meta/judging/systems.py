"""`wins` and `systems`: do metrics rank systems as people do?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cidery.errors import SettingError
from cidery.meta.judging.base import HUMAN, MetricsByLabel, Verdict, get_main_votes
from cidery.meta.judgments import Pairs, Systems
from cidery.meta.scoring import CaptionScorer
from cidery.meta.settings import Settings
from cidery.statistics import Correlation, Floats, correlation_p, pearson_rows, pool_pearson


def correlate_systems(
    scores: Floats, human: Floats, further: dict[str, float], signature: str = ""
) -> Verdict:
    """Return the correlation of a metric's and people's scores of systems, with p-values."""
    found = Correlation.build(scores, human)()
    p_values = correlation_p(scores, human)
    statistics = {
        "pearson": found["pearson"],
        "pearson_p": p_values["pearson"],
        "spearman": found["spearman"],
        "spearman_p": p_values["spearman"],
        "tau_b": found["tau_b"],
        "tau_b_p": p_values["tau_b"],
    }
    rows = pearson_rows(scores, human, np.arange(len(human)))
    return Verdict(statistics | further, signature, rows, pool_pearson, "pearson", scores, human)


def judge_wins(
    pairs: Pairs,
    metrics: MetricsByLabel,
    settings: Settings,  # noqa: ARG001
    scorer: CaptionScorer,
) -> dict[str, Verdict]:
    """Share of its pairs that each system wins, by people and by metrics, and their correlation.

    A `balanced` share is the mean of the shares against each opponent, so that it does not depend
    on who meets whom how often.
    """
    if not pairs.systems:
        raise SettingError(f"{pairs.name} does not say which systems wrote the captions")
    scored = scorer.score(pairs.judged, metrics)
    human = _Wins.count(pairs, get_main_votes(pairs).astype(np.float64))
    verdicts = {HUMAN: Verdict(human.name_shares())}
    for label, scores in scored.each.items():
        ours = _Wins.count(pairs, scores[pairs.first] - scores[pairs.second])
        balanced = Correlation.build(ours.balanced, human.balanced)()
        further = {f"{name}_balanced": balanced[name] for name in ("pearson", "spearman")}
        further |= ours.name_shares()
        signature = scored.signatures[label]
        verdicts[label] = correlate_systems(ours.shares, human.shares, further, signature)
    return verdicts


@dataclass(frozen=True, eq=False)
class _Wins:
    """The share of its pairs that each system wins; a tie is half a win for both."""

    systems: list[str]
    shares: Floats
    """float64[systems]: every pair counts alike."""
    balanced: Floats
    """float64[systems]: every opponent that it met counts alike."""

    @classmethod
    def count(cls, pairs: Pairs, preferred: Floats) -> _Wins:
        names, places = np.unique(np.asarray(pairs.systems), return_inverse=True)
        first, second = places.reshape(-1, 2).T
        won = 0.5 + np.sign(preferred) / 2
        wins, met = np.zeros((2, len(names), len(names)))
        np.add.at(wins, (first, second), won)
        np.add.at(wins, (second, first), 1 - won)
        np.add.at(met, (first, second), 1.0)
        np.add.at(met, (second, first), 1.0)
        against = np.divide(wins, met, out=np.zeros_like(wins), where=met > 0)
        return cls(
            names.tolist(),
            np.asarray(wins.sum(axis=1) / met.sum(axis=1), np.float64),
            np.asarray(against.sum(axis=1) / np.count_nonzero(met, axis=1), np.float64),
        )

    def name_shares(self) -> dict[str, float]:
        """Return `wins_SYSTEM` and `balanced_SYSTEM` of all systems."""
        plain = dict(zip(self.systems, self.shares.tolist(), strict=True))
        balanced = dict(zip(self.systems, self.balanced.tolist(), strict=True))
        return {f"wins_{name}": share for name, share in plain.items()} | {
            f"balanced_{name}": share for name, share in balanced.items()
        }


def judge_systems(
    systems: Systems,
    metrics: MetricsByLabel,
    settings: Settings,
    scorer: CaptionScorer,  # noqa: ARG001
) -> dict[str, Verdict]:
    """Correlation of leaderboard scores with human scores of systems, question by question."""
    count = settings.references or max(systems.scores)
    if count not in systems.scores:
        known = " or ".join(map(str, sorted(systems.scores)))
        raise SettingError(f"{systems.name} has scores with {known} references, not {count}")
    known_scores = systems.scores[count]
    verdicts = {}
    for label in metrics:
        if label not in known_scores:
            raise SettingError(
                f"{systems.name} has no captions to score, only the leaderboard's "
                f"{', '.join(known_scores)}; {label} is not among them"
            )
        scores = known_scores[label]
        further: dict[str, float] = {"systems": len(systems)}
        for question, human in systems.human.items():
            verdict = correlate_systems(scores, human, {})
            further[f"pearson_{question}"] = verdict.statistics["pearson"]
            further[f"pearson_{question}_p"] = verdict.statistics["pearson_p"]
        first = next(iter(systems.human.values()))
        signature = systems.signatures.get(label, label)
        verdicts[label] = correlate_systems(scores, first, further, signature)
    return verdicts
