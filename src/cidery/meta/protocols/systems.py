"""Protocols `wins` and `systems`: correlation of human and metric scores of systems."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cidery.errors import SettingError
from cidery.meta.judgments import Pairs, Systems
from cidery.meta.protocols.base import (
    HUMAN,
    MetricsByLabel,
    Verdict,
    get_bounds,
    get_main_votes,
)
from cidery.meta.scoring import CaptionScorer
from cidery.meta.settings import Settings
from cidery.statistics import (
    Correlation,
    Floats,
    correlation_p,
    draw_sums,
    pearson_rows,
    pool_pearson,
)


def correlate_systems(
    scores: Floats, human: Floats, further: dict[str, float], signature: str = ""
) -> Verdict:
    """Return the correlation of metric and human scores of systems, with p-values."""
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


def draw_system_correlations(drawn: Floats) -> dict[str, Floats]:
    """Return coefficients in samples, float64[samples, 2, systems] of metric and human scores.

    NaN if a sample lacks a system.
    """
    names = ("pearson", "spearman", "tau_b")
    found = np.full((len(drawn), len(names)), np.nan)
    for place, (ours, people) in enumerate(drawn):
        if np.isfinite(ours).all() and np.isfinite(people).all():
            coefficients = Correlation.build(ours, people)()
            found[place] = [coefficients[name] for name in names]
    return dict(zip(names, found.T, strict=True)) if len(drawn) else {}


def judge_wins(
    pairs: Pairs, metrics: MetricsByLabel, settings: Settings, scorer: CaptionScorer
) -> dict[str, Verdict]:
    """Return the shares of wins of systems, by people and by metrics, and their correlation.

    A `balanced` share is the mean of the shares against each opponent.
    """
    if not pairs.systems:
        raise SettingError(f"{pairs.name} does not contain the systems of the captions")
    scored = scorer.score(pairs.judged, metrics)
    human = _Wins.count(pairs, get_main_votes(pairs).astype(np.float64))
    verdicts = {HUMAN: Verdict(human.name_shares(settings))}
    for label, scores in scored.each.items():
        ours = _Wins.count(pairs, scores[pairs.first] - scores[pairs.second])
        balanced = Correlation.build(ours.balanced, human.balanced)()
        further = {f"{name}_balanced": balanced[name] for name in ("pearson", "spearman")}
        if settings.resamples:
            pairs_of = zip(ours.draw(settings), human.draw(settings), strict=True)
            plain, even = (draw_system_correlations(np.stack(both, axis=1)) for both in pairs_of)
            del even["tau_b"]
            further |= get_bounds(plain)
            further |= get_bounds({f"{name}_balanced": drawn for name, drawn in even.items()})
        further |= ours.name_shares(settings)
        signature = scored.signatures[label]
        verdicts[label] = correlate_systems(ours.shares, human.shares, further, signature)
    return verdicts


@dataclass(frozen=True, eq=False)
class _Wins:
    """Wins of systems; a tie is half a win for both."""

    systems: list[str]
    rows: Floats
    """float64[images, 2·systems²]: wins of one over another, and numbers of pairs."""

    @classmethod
    def count(cls, pairs: Pairs, preferred: Floats) -> _Wins:
        names, places = np.unique(np.asarray(pairs.systems), return_inverse=True)
        first, second = places.reshape(-1, 2).T
        images = pairs.judged.image_of_caption[pairs.first]
        won = 0.5 + np.sign(preferred) / 2
        height = int(images.max()) + 1
        wins, met = np.zeros((2, height, len(names), len(names)))
        np.add.at(wins, (images, first, second), won)
        np.add.at(wins, (images, second, first), 1 - won)
        np.add.at(met, (images, first, second), 1.0)
        np.add.at(met, (images, second, first), 1.0)
        return cls(names.tolist(), np.stack([wins, met], axis=1).reshape(height, -1))

    @property
    def shares(self) -> Floats:
        """float64[systems]: equal weights of pairs."""
        return self._pool(self.rows.sum(axis=0))[0]

    @property
    def balanced(self) -> Floats:
        """float64[systems]: equal weights of opponents."""
        return self._pool(self.rows.sum(axis=0))[1]

    def _pool(self, sums: Floats) -> tuple[Floats, Floats]:
        """Return both kinds of shares, float64[…, systems]; NaN for a system without pairs."""
        count = len(self.systems)
        wins, met = np.moveaxis(sums.reshape(*sums.shape[:-1], 2, count, count), -3, 0)
        against = np.divide(wins, met, out=np.zeros_like(wins), where=met > 0)
        with np.errstate(invalid="ignore"):
            plain = wins.sum(axis=-1) / met.sum(axis=-1)
            balanced = against.sum(axis=-1) / np.count_nonzero(met, axis=-1)
        return plain, balanced

    def draw(self, settings: Settings) -> tuple[Floats, Floats]:
        """Return both kinds of shares in bootstrap samples of images, float64[samples, systems]."""
        return self._pool(draw_sums(self.rows, settings.resamples, settings.seed))

    def name_shares(self, settings: Settings) -> dict[str, float]:
        """Return `wins_SYSTEM` and `balanced_SYSTEM` of all systems, with their bounds."""
        drawn = self.draw(settings) if settings.resamples else (np.zeros((0, 0)),) * 2
        named: dict[str, float] = {}
        for kind, shares, samples in zip(
            ("wins", "balanced"), (self.shares, self.balanced), drawn, strict=True
        ):
            for place, system in enumerate(self.systems):
                named[f"{kind}_{system}"] = float(shares[place])
                if len(samples):
                    named |= get_bounds({f"{kind}_{system}": samples[:, place]})
        return named


def judge_systems(
    systems: Systems,
    metrics: MetricsByLabel,
    settings: Settings,
    scorer: CaptionScorer,  # noqa: ARG001
) -> dict[str, Verdict]:
    """Return the correlation of leaderboard scores with human scores, for each question."""
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
