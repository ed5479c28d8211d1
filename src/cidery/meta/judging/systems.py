"""`wins` and `systems`: do metrics rank systems as people do?"""

from __future__ import annotations

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
    """Share of its pairs that each system wins, by people and by metrics, and their correlation."""
    if not pairs.systems:
        raise SettingError(f"{pairs.name} does not say which systems wrote the captions")
    scored = scorer.score(pairs.judged, metrics)
    human = _count_wins(pairs, get_main_votes(pairs).astype(np.float64))
    verdicts = {HUMAN: Verdict({f"wins_{system}": share for system, share in human.items()})}
    people = np.asarray(list(human.values()))
    for label, scores in scored.each.items():
        wins = _count_wins(pairs, scores[pairs.first] - scores[pairs.second])
        ours = np.asarray([wins[system] for system in human])
        shares = {f"wins_{system}": share for system, share in wins.items()}
        verdicts[label] = correlate_systems(ours, people, shares, scored.signatures[label])
    return verdicts


def _count_wins(pairs: Pairs, preferred: Floats) -> dict[str, float]:
    """Return system -> share of its pairs won; a tie is half a win for both."""
    won: dict[str, list[float]] = {}
    for (first, second), difference in zip(pairs.systems, preferred, strict=True):
        share = 0.5 + np.sign(difference) / 2
        won.setdefault(first, []).append(float(share))
        won.setdefault(second, []).append(float(1 - share))
    return {system: float(np.mean(won[system])) for system in sorted(won)}


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
