"""Leaderboards and comparisons, from stored scores and rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

from django.db.models import Q

from cidery.errors import SettingError
from cidery.evaluation import pool_counted
from cidery.metrics import get_metrics
from cidery.server.models import Challenge, Difference, Score, Submission
from cidery.statistics import holm, paired_test

LEVEL = 0.05
Column: TypeAlias = tuple[str, str]
"""A set of references and a metric."""


@dataclass(frozen=True)
class Cell:
    """A score on a leaderboard."""

    score: Score
    is_best: bool = False
    p: float | None = None
    """Of the difference from the best, Holm-corrected for the column; None until it is tested."""

    @property
    def mark(self) -> str:
        """`best`, `tied` where no difference from the best was found, `apart`, or `untested`."""
        if self.is_best:
            return "best"
        if self.p is None:
            return "untested"
        return "tied" if self.p >= LEVEL else "apart"


@dataclass(frozen=True)
class Entry:
    """A team's best submission."""

    rank: int
    submission: Submission
    cells: Mapping[Column, Cell]


@dataclass(frozen=True)
class Leaderboard:
    """Teams by score."""

    columns: Sequence[Column]
    sort: Column
    descending: bool
    entries: Sequence[Entry] = field(default_factory=list)


def challenge_columns(challenge: Challenge) -> list[Column]:
    """Return the columns of a challenge's leaderboard; the first one ranks."""
    labels = list(get_metrics(challenge.metrics))
    return [(s.name, label) for s in challenge.reference_sets.all() for label in labels]


def rank(
    challenge: Challenge, sort: Column | None = None, *, descending: bool = True
) -> Leaderboard:
    """Return each team's best submission by the first column, sorted by any."""
    columns = challenge_columns(challenge)
    chosen = sort or columns[0]
    if chosen not in columns:
        raise SettingError(f"there is no column {'.'.join(chosen)!r} to sort by")
    table = _best_of_teams(challenge, columns[0])
    places = {
        number: place
        for place, number in enumerate(
            sorted(table, key=lambda n: -table[n][columns[0]].value), start=1
        )
    }
    cells = {number: dict[Column, Cell]() for number in table}
    for column in columns:
        for number, cell in _judge_column({n: scores[column] for n, scores in table.items()}):
            cells[number][column] = cell
    order = sorted(
        table,
        key=lambda n: ((-1 if descending else 1) * table[n][chosen].value, places[n]),
    )
    entries = [Entry(places[n], table[n][columns[0]].submission, cells[n]) for n in order]
    return Leaderboard(columns, chosen, descending, entries)


def _best_of_teams(challenge: Challenge, main: Column) -> dict[int, dict[Column, Score]]:
    """Return the scores of each team's best submission; of equals, the earliest."""
    scores = (
        Score.objects.filter(
            submission__challenge=challenge,
            submission__state=Submission.State.SCORED,
            submission__team__is_active=True,
        )
        .select_related("submission__team", "reference_set")
        .defer("submission__packed_captions", "reference_set__packed_references")
        .order_by("submission_id", "pk")
    )
    by_submission: dict[int, dict[Column, Score]] = {}
    for score in scores:
        column = (score.reference_set.name, score.metric)
        by_submission.setdefault(score.submission_id, {})[column] = score
    best: dict[int, int] = {}
    for number, found in by_submission.items():
        team = found[main].submission.team_id
        if team not in best or found[main].value > by_submission[best[team]][main].value:
            best[team] = number
    return {number: by_submission[number] for number in best.values()}


def _judge_column(scores: Mapping[int, Score]) -> Iterable[tuple[int, Cell]]:
    if not scores:
        return
    best = max(scores.values(), key=lambda score: (score.value, -score.pk))
    others = {number: score for number, score in scores.items() if score.pk != best.pk}
    tested = _tested_against(best, others.values())
    known = [number for number, score in others.items() if score.pk in tested]
    adjusted = dict(zip(known, holm([tested[others[n].pk] for n in known]), strict=True))
    for number, score in scores.items():
        yield number, Cell(score, score.pk == best.pk, adjusted.get(number))


def _tested_against(best: Score, others: Iterable[Score]) -> dict[int, float]:
    """Return the p-values that are known, by the other score."""
    numbers = [score.pk for score in others]
    pairs = Difference.objects.filter(
        Q(one=best, other__in=numbers) | Q(other=best, one__in=numbers)
    ).values_list("one", "other", "p")
    return {other if one == best.pk else one: p for one, other, p in pairs}


def compare_with_best(challenge: Challenge) -> None:
    """Test every column's best against the other teams' best submissions, and store it."""
    columns = challenge_columns(challenge)
    table = _best_of_teams(challenge, columns[0])
    for column in columns:
        scores = [found[column] for found in table.values()]
        if scores:
            best = max(scores, key=lambda score: (score.value, -score.pk))
            for other in scores:
                if other.pk != best.pk:
                    find_difference(best, other)
    # Scores that came meanwhile have counted the version on; the next sweep sees it.
    Challenge.objects.filter(pk=challenge.pk).update(compared_version=challenge.scored_version)


def find_difference(score: Score, another: Score) -> Difference:
    """Return how two scores of one column differ; it is computed once."""
    one, other = sorted((score, another), key=lambda s: s.pk)
    known = Difference.objects.filter(one=one, other=other).first()
    if known is not None:
        return known
    challenge = one.submission.challenge
    metric = get_metrics(challenge.metrics)[one.metric]
    pool = partial(pool_counted, metric)
    first, second = one.rows.array, other.rows.array
    test = paired_test(first, second, pool, (pool(first), pool(second)))
    found, _ = Difference.objects.get_or_create(
        one=one,
        other=other,
        defaults={
            "difference": test.difference,
            "low": test.low,
            "high": test.high,
            "p": test.p_permutation,
            "effect": test.effect,
            "wins": test.wins,
        },
    )
    return found


@dataclass(frozen=True)
class Contrast:
    """How the first of two submissions differs from the second in one column."""

    column: Column
    first: Score
    second: Score
    difference: float
    low: float
    high: float
    p: float
    """Holm-corrected for all columns."""
    wins: float
    """Share of images on which the first is better, ties counted half."""


def contrast(first: Submission, second: Submission) -> list[Contrast]:
    """Compare two submissions of one challenge in every column."""
    others = {(s.reference_set_id, s.metric): s for s in second.scores.select_related("rows")}
    pairs = [
        (score, others[score.reference_set_id, score.metric])
        for score in first.scores.select_related("rows", "reference_set", "submission__challenge")
        if (score.reference_set_id, score.metric) in others
    ]
    found = [find_difference(one, other) for one, other in pairs]
    adjusted = holm([difference.p for difference in found])
    contrasts = []
    for (one, other), difference, p in zip(pairs, found, adjusted, strict=True):
        turned = difference.one_id != one.pk
        low, high = difference.low, difference.high
        contrasts.append(
            Contrast(
                column=(one.reference_set.name, one.metric),
                first=one,
                second=other,
                difference=-difference.difference if turned else difference.difference,
                low=-high if turned else low,
                high=-low if turned else high,
                p=p,
                wins=1 - difference.wins if turned else difference.wins,
            )
        )
    return contrasts
