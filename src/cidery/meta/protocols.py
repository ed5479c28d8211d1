"""Protocols: from scores and human judgments to statistics of agreement.

| protocol     | judgments | question                                                              |
|--------------|-----------|-----------------------------------------------------------------------|
| `consensus`  | pairs     | is the caption preferred that people find more like the references?   |
| `preference` | pairs     | is the caption preferred that people find better?                     |
| `references` | pairs     | how does that depend on the number of references?                     |
| `human`      | triplets  | how well do people predict each other's consensus, and how well do    |
|              |           | metrics?                                                              |
| `wins`       | pairs     | do systems win as often by the metric as by people?                   |
| `ratings`    | ratings   | do scores go with ratings, of captions and of systems?                |
| `systems`    | systems   | do systems' scores go with people's?                                  |
| `diversity`  | sets      | do measures of diversity go with ratings of sets?                     |
| `gaming`     | any       | is an intact caption preferred to a spoilt one?                       |

`references`, `human` and `gaming` have modules of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from cidery.errors import SettingError
from cidery.meta.judgments import Indexes, Pairs, Ratings, Sets, Systems
from cidery.meta.scoring import CaptionScorer
from cidery.metrics import Metric
from cidery.statistics import (
    Correlation,
    Floats,
    Pool,
    bootstrap_interval,
    correlation_p,
    pearson_rows,
    pool_pearson,
    pool_share,
    sum_by_group,
)

Metrics: TypeAlias = Mapping[str, Metric]
RESAMPLES = 200
"""Fewer than elsewhere: a sample of 50,000 ratings takes a hundredth of a second."""
HUMAN = "human"
"""The label of what people themselves reach."""


@dataclass(frozen=True)
class Settings:
    """How metrics are judged; whatever changes a result is here."""

    protocol: str = "consensus"
    references: int | None = None
    """How many per image; None: all."""
    draw: Literal["own", "random", "first"] | None = None
    """Which: `own` is the draw that comes with each pair, where there is one; None: that, where it
    has as many as asked for, otherwise `random`."""
    seed: int = 0
    concatenate: bool = False
    """Join an image's references into one (Yi, Deng, Hu 2020, Table 2)."""
    undecided: Literal["wrong", "half", "drop"] = "wrong"
    """What a pair counts to which a metric gives equal scores. Pairs on which people are tied are
    always dropped, and counted."""
    kind: str | None = None
    """Keep pairs of this kind only."""
    sample: int | None = None
    """Judge only so many pairs, ratings or sets, drawn by the seed."""
    resamples: int = RESAMPLES
    """Bootstrap samples of images, for 95 % intervals; 0: no intervals."""
    points: tuple[int, ...] = ()
    """Numbers of references for the protocol `references`; empty: a grid up to 48."""
    draws: int = 5
    """How many draws of references for `references`, of halves for `human`."""
    tokenizer: str = "ptb"
    frequencies: str = "references"


@dataclass(frozen=True, eq=False)
class Verdict:
    """What one metric reached."""

    statistics: dict[str, float]
    rows: Floats | None = None
    """float64[images, k], summed and pooled to the statistic on which metrics are compared."""
    pool: Pool | None = None
    scores: Floats | None = None
    """Beside `human`, for Williams' test."""
    human: Floats | None = None


Protocol: TypeAlias = Callable[[Any, Metrics, Settings, CaptionScorer], dict[str, Verdict]]


def agree(preferred: Floats, votes: Indexes, undecided: str) -> tuple[Floats, Floats]:
    """Return hits and trials of each pair, float64[pairs], for a metric's preferences.

    Args:
        preferred: score of the first minus score of the second.
        votes: of people; 0 is a tie, and no trial.
        undecided: what equal scores count: `wrong`, `half`, or no trial at all (`drop`).
    """
    if undecided not in ("wrong", "half", "drop"):
        raise SettingError(f"undecided is wrong, half or drop, not {undecided!r}")
    trials = (votes != 0).astype(np.float64)
    hits = (np.sign(preferred) == np.sign(votes)) * trials
    equal = preferred == 0
    if undecided == "half":
        hits = np.where(equal, trials / 2, hits)
    elif undecided == "drop":
        trials = np.where(equal, 0.0, trials)
    return hits, trials


def share_of(hits: Floats, trials: Floats) -> float:
    """Return the share, nan of nothing."""
    total = trials.sum()
    return float(hits.sum() / total) if total else float("nan")


def judge_pairs(
    pairs: Pairs, metrics: Metrics, settings: Settings, scorer: CaptionScorer
) -> dict[str, Verdict]:
    """Accuracy of preferences, over all pairs and by kind of pair."""
    votes = get_votes(pairs, settings.protocol)
    each = scorer(pairs.judged, metrics)
    images = pairs.judged.image_of_caption[pairs.first]
    verdicts = {}
    for label, scores in each.items():
        preferred = scores[pairs.first] - scores[pairs.second]
        hits, trials = agree(preferred, votes, settings.undecided)
        rows = sum_by_group(np.stack([hits, trials], axis=1), images, int(images.max()) + 1)
        statistics = {"accuracy": share_of(hits, trials)}
        if settings.resamples:
            statistics |= _bounds("accuracy", rows, pool_share, settings)
        for kind in dict.fromkeys(sorted(pairs.kinds)):
            chosen = np.asarray([found == kind for found in pairs.kinds])
            statistics[f"accuracy_{kind}"] = share_of(hits[chosen], trials[chosen])
        statistics |= {
            "pairs": int(np.count_nonzero(votes)),
            "correct": float(hits.sum()) if settings.undecided == "half" else int(hits.sum()),
            "tied": int(np.count_nonzero(votes == 0)),
            "undecided": int(np.count_nonzero((preferred == 0) & (votes != 0))),
        }
        verdicts[label] = Verdict(statistics, rows, pool_share)
    return verdicts


def get_votes(pairs: Pairs, question: str) -> Indexes:
    """Return people's answers to the question, or say which were asked."""
    if question not in pairs.votes:
        known = ", ".join(pairs.votes)
        raise SettingError(f"{pairs.name} has no votes on {question!r}; it has: {known}")
    return pairs.votes[question]


def _bounds(name: str, rows: Floats, pool: Pool, settings: Settings) -> dict[str, float]:
    interval = bootstrap_interval(rows, pool, resamples=settings.resamples, seed=settings.seed)
    return {f"{name}_low": interval.low, f"{name}_high": interval.high}


def judge_wins(
    pairs: Pairs,
    metrics: Metrics,
    settings: Settings,  # noqa: ARG001
    scorer: CaptionScorer,
) -> dict[str, Verdict]:
    """Share of its pairs that each system wins, by people and by metrics, and their correlation."""
    if not pairs.systems:
        raise SettingError(f"{pairs.name} does not say which systems wrote the captions")
    votes = get_votes(pairs, "consensus" if "consensus" in pairs.votes else "preference")
    each = scorer(pairs.judged, metrics)
    human = _count_wins(pairs, votes.astype(np.float64))
    verdicts = {HUMAN: Verdict({f"wins_{system}": share for system, share in human.items()})}
    people = np.asarray(list(human.values()))
    for label, scores in each.items():
        wins = _count_wins(pairs, scores[pairs.first] - scores[pairs.second])
        ours = np.asarray([wins[system] for system in human])
        verdicts[label] = _judge_systems(
            ours, people, {f"wins_{system}": share for system, share in wins.items()}
        )
    return verdicts


def _count_wins(pairs: Pairs, preferred: Floats) -> dict[str, float]:
    """Return system -> share of its pairs won; a tie is half a win for both."""
    won: dict[str, list[float]] = {}
    for (first, second), difference in zip(pairs.systems, preferred, strict=True):
        share = 0.5 + np.sign(difference) / 2
        won.setdefault(first, []).append(float(share))
        won.setdefault(second, []).append(float(1 - share))
    return {system: float(np.mean(won[system])) for system in sorted(won)}


def _judge_systems(scores: Floats, human: Floats, further: dict[str, float]) -> Verdict:
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
    return Verdict(statistics | further, rows, pool_pearson, scores, human)


def judge_ratings(
    ratings: Ratings, metrics: Metrics, settings: Settings, scorer: CaptionScorer
) -> dict[str, Verdict]:
    """Correlation of scores and ratings, ranking of captions of one image, and of systems."""
    each = scorer(ratings.judged, metrics)
    images = ratings.judged.image_of_caption[ratings.rows]
    mean = _mean_rating(ratings)
    verdicts = {}
    for label, scores in each.items():
        rated = scores[ratings.rows]
        correlation = Correlation.build(rated, ratings.ratings)
        statistics = correlation() | _correlation_bounds(correlation, images, settings)
        statistics["ranking"] = rank_within(scores, mean, ratings.judged.image_of_caption)
        statistics |= _judge_rated_systems(ratings, scores, mean)
        statistics |= {"captions": len(scores), "ratings": len(ratings)}
        rows = pearson_rows(rated, ratings.ratings, images)
        verdicts[label] = Verdict(statistics, rows, pool_pearson, rated, ratings.ratings)
    return verdicts


def _correlation_bounds(
    correlation: Correlation, images: Indexes, settings: Settings
) -> dict[str, float]:
    if not settings.resamples:
        return {}
    found = correlation.intervals(images, resamples=settings.resamples, seed=settings.seed)
    bounds: dict[str, float] = {}
    for name, interval in found.items():
        bounds |= {f"{name}_low": interval.low, f"{name}_high": interval.high}
    return bounds


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
    verdict = _judge_systems(ours, people, {})
    return {f"system_{name}": value for name, value in verdict.statistics.items()}


def judge_systems(
    systems: Systems,
    metrics: Metrics,
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
        further: dict[str, float] = {"systems": len(systems)}
        for question, human in systems.human.items():
            verdict = _judge_systems(known_scores[label], human, {})
            further[f"pearson_{question}"] = verdict.statistics["pearson"]
            further[f"pearson_{question}_p"] = verdict.statistics["pearson_p"]
        first = next(iter(systems.human.values()))
        verdicts[label] = _judge_systems(known_scores[label], first, further)
    return verdicts


def judge_sets(
    sets: Sets, metrics: Mapping[str, Any], settings: Settings, scorer: CaptionScorer
) -> dict[str, Verdict]:
    """Correlation of measures of diversity with ratings of sets (Wang and Chan 2019, Table 2).

    A measure is one of `cidery.diversity`, or a function `f(captions) -> diversity`.
    """
    images = np.unique(list(sets.images), return_inverse=True)[1].astype(np.int64)
    verdicts = {}
    for label, scores in _measure_sets(sets, metrics, settings, scorer).items():
        correlation = Correlation.build(scores, sets.ratings)
        statistics = correlation() | _correlation_bounds(correlation, images, settings)
        statistics["spearman_per_image"] = _mean_spearman(scores, sets.ratings, images)
        statistics["sets"] = len(sets)
        rows = pearson_rows(scores, sets.ratings, images)
        verdicts[label] = Verdict(statistics, rows, pool_pearson, scores, sets.ratings)
    return verdicts


def _measure_sets(
    sets: Sets, metrics: Mapping[str, Any], settings: Settings, scorer: CaptionScorer
) -> dict[str, Floats]:
    from cidery.diversity import Measure, measure_diversity

    named = [metric for metric in metrics.values() if isinstance(metric, Measure)]
    each: dict[str, Floats] = {}
    if named:
        counted_on = settings.frequencies
        table = measure_diversity(
            [list(captions) for captions in sets.captions],
            named,
            frequencies="coco-train2014" if counted_on == "references" else counted_on,
            tokenizer=settings.tokenizer,
        )
        each.update(table.each)
    for label, metric in metrics.items():
        if isinstance(metric, Measure):
            continue
        scores = np.empty(len(sets))
        for place, captions in enumerate(sets.captions):
            scores[place] = metric(list(captions))
            scorer.progress(f"measuring {label}", place + 1, len(sets))
        each[label] = scores
    return {label: each[label] for label in metrics}


def label_measures(measures: Any) -> dict[str, Any]:
    """Return measures of diversity by label; a function goes by its name."""
    from cidery.diversity import Measure, get_measures

    if measures is None or isinstance(measures, str | Measure) or callable(measures):
        measures = [] if measures is None else [measures]
    named = [measure for measure in measures if isinstance(measure, str | Measure)]
    labelled: dict[str, Any] = dict(get_measures(named or None)) if named or not measures else {}
    for function in measures:
        if not isinstance(function, str | Measure):
            labelled[getattr(function, "__name__", type(function).__name__)] = function
    return labelled


def _mean_spearman(scores: Floats, human: Floats, groups: Indexes) -> float:
    """Return the mean over groups in which both sides vary."""
    found = [
        Correlation.build(scores[groups == group], human[groups == group])()["spearman"]
        for group in np.unique(groups)
    ]
    kept = [value for value in found if np.isfinite(value)]
    return float(np.mean(kept)) if kept else float("nan")
