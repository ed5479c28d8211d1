"""Leaderboards and comparisons, from stored scores and rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from typing import Any, NamedTuple

from django.db.models import Q

from cidery.errors import SettingError
from cidery.scoring import Resampling, compare_rows, pool_counted, slice_resampling
from cidery.statistics import holm
from cidery_server.challenges.models import Challenge, Difference, Score, Submission
from cidery_server.challenges.precision import EXACT, Precision
from cidery_server.web.translation import translate as _

LEVEL = 0.05
MAX_TESTED = 30
"""Scores compared with a column's best: with a thousand permutations p is at least 0.001, and
Holm's correction for many more of them would call everything tied."""


class Column(NamedTuple):
    """A set of references, a metric, and the images: all of them, or those of a slice."""

    reference_set: str
    metric: str
    slice: str = ""


class Mark(str, Enum):
    """Comparison of a score with the best of its column."""

    BEST = "best"
    TIED = "tied"
    """No significant difference from the best was found."""
    APART = "apart"
    UNTESTED = "untested"
    """Not yet compared."""
    FAR = "far"
    """Rank too low to be compared."""


@dataclass(frozen=True)
class Cell:
    """A score on a leaderboard, with the digits that are shown."""

    value: float
    low: float
    high: float
    mark: Mark
    decimals: int
    p: float | None = None
    """P-value of the difference from the best, Holm-corrected for the column, if tested."""


@dataclass(frozen=True)
class Entry:
    """A team's best submission."""

    rank: int
    submission: Submission
    cells: Mapping[Column, Cell]

    @property
    def scores(self) -> list[Cell]:
        """The cells, in the order of the columns."""
        return list(self.cells.values())


@dataclass(frozen=True)
class Leaderboard:
    """Teams by score."""

    columns: Sequence[Column]
    sort: Column
    descending: bool
    slice: str
    """Slice that is scored, where slices are not columns; empty: all images."""
    precisions: Mapping[str, Precision]
    """Precisions by slice."""
    entries: Sequence[Entry] = field(default_factory=list)

    def key(self, column: Column) -> str:
        """Return the name of a column in addresses and files."""
        slice = column.slice if column.slice != self.slice else ""
        return ".".join(filter(None, (column.reference_set, column.metric, slice)))


def challenge_columns(challenge: Challenge, slice: str = "") -> list[Column]:
    """Return the columns of a challenge's leaderboard; the first one ranks."""
    labels = list(challenge.labeled_metrics)
    names = [found.name for found in challenge.reference_sets.defer("packed_references")]
    return [Column(name, label, slice) for name in names for label in labels]


def every_column(challenge: Challenge, metric: str = "") -> list[Column]:
    """Return the columns of all images and of every slice, side by side; of one metric or all."""
    columns = challenge_columns(challenge)
    if metric and metric not in {column.metric for column in columns}:
        raise SettingError(_("unknown metric {metric!r}").format(metric=metric))
    slices = ["", *list_slices(challenge)]
    chosen = [column for column in columns if metric in ("", column.metric)]
    return [column._replace(slice=slice) for column in chosen for slice in slices]


def list_slices(challenge: Challenge) -> list[str]:
    """Return the names of a challenge's slices."""
    slices = challenge.slices
    return list(slices.members) if slices else []


def rank(
    challenge: Challenge,
    sort: str = "",
    *,
    descending: bool = True,
    slice: str = "",
    columns: Sequence[Column] = (),
    account: Any = None,
) -> Leaderboard:
    """Return each team's best submission by the first column of all images, sorted by any.

    In a slice the same submissions are ranked by the slice's scores. Scores are rounded as the
    account sees them, all digits without one, before they are compared: equal ones share a rank,
    and an order tells nothing that the scores do not.

    Args:
        challenge: whose leaderboard it is.
        sort: the key of a column; by default the one that ranks.
        descending: the largest first.
        slice: whose images the scores are of; empty: all.
        columns: other columns, such as those of all slices side by side.
        account: who looks.
    """
    if slice and slice not in list_slices(challenge):
        raise SettingError(_("unknown slice {slice!r}").format(slice=slice))
    ranking, *others = challenge_columns(challenge, slice)
    columns = list(columns or (ranking, *others))
    precisions = {
        name: EXACT if account is None else challenge.precision(account, name)
        for name in {slice, *(column.slice for column in columns)}
    }
    board = Leaderboard(columns, ranking, descending, slice, precisions)
    keys = {board.key(column): column for column in (*columns, ranking)}
    if sort and sort not in keys:
        raise SettingError(_("unknown column {sort!r}").format(sort=sort))
    chosen = keys[sort] if sort else ranking
    table = _read_scores(find_best(challenge), precisions)
    if not table:
        return replace(board, sort=chosen)
    shown = {
        number: {column: precisions[column.slice].round(s.value) for column, s in row.items()}
        for number, row in table.items()
    }
    ranked = sorted((scores[ranking] for scores in shown.values()), reverse=True)
    places = {number: 1 + ranked.index(scores[ranking]) for number, scores in shown.items()}
    by_column = {c: {n: scores[c] for n, scores in table.items()} for c in columns}
    tested = _find_tested(min(found.values(), key=_from_the_top) for found in by_column.values())
    cells = {number: dict[Column, Cell]() for number in table}
    for column, scores in by_column.items():
        for number, cell in _judge_column(scores, tested, precisions[column.slice]):
            cells[number][column] = cell
    sign = -1 if descending else 1
    order = sorted(table, key=lambda number: (sign * shown[number][chosen], places[number], number))
    entries = [Entry(places[n], table[n][ranking].submission, cells[n]) for n in order]
    return replace(board, sort=chosen, entries=entries)


FIELDS = ("rank", "team", "submission", "title", "created")


def name_fields(board: Leaderboard) -> list[str]:
    """Return the names of a record's fields."""
    suffixes = ("", ".low", ".high", ".mark")
    return [*FIELDS, *(f"{board.key(c)}{s}" for c in board.columns for s in suffixes)]


def list_records(board: Leaderboard) -> list[dict[str, Any]]:
    """Return a record for each line of a leaderboard."""
    names = name_fields(board)
    records = []
    for entry in board.entries:
        made = entry.submission
        values = [entry.rank, made.team.name, made.pk, made.title, made.created.isoformat()]
        for column in board.columns:
            cell = entry.cells[column]
            values += [cell.value, cell.low, cell.high, cell.mark.value]
        records.append(dict(zip(names, values, strict=True)))
    return records


def find_best(challenge: Challenge) -> list[int]:
    """Return each team's best submission by the displayed first column; of ties, the first.

    Where a team has chosen another one, it is that. Private ones and those that were withdrawn are
    left out. Submissions that are being scored again have the scores that they had.
    """
    reference_set, metric, _ = challenge_columns(challenge)[0]
    ranking = (
        Score.objects.filter(
            submission__challenge=challenge,
            submission__team__is_active=True,
            submission__is_private=False,
            submission__withdrawn=None,
            reference_set__name=reference_set,
            metric=metric,
            slice="",
        )
        .exclude(submission__state=Submission.State.FAILED)
        .exclude(submission__probe__in=Submission.HIDDEN_PROBES)
        .values_list("submission__team_id", "submission_id", "value", "submission__is_chosen")
    )
    precision = EXACT if challenge.shows_all_digits else Precision.of_images(len(challenge.images))
    found = sorted(ranking, key=lambda row: (row[3], precision.round(row[2]), -row[1]))
    return list({team: submission for team, submission, *_ in found}.values())  # the last stays


def _read_scores(submissions: list[int], slices: Collection[str]) -> dict[int, dict[Column, Score]]:
    """Return the scores of submissions in some slices."""
    scores = (
        Score.objects.filter(submission__in=submissions, slice__in=list(slices))
        .select_related("submission__team", "reference_set")
        .defer(
            "submission__packed_captions",
            "submission__packed_fingerprint",
            "reference_set__packed_references",
        )
    )
    table: dict[int, dict[Column, Score]] = {}
    for score in scores:
        column = Column(score.reference_set.name, score.metric, score.slice)
        table.setdefault(score.submission_id, {})[column] = score
    return table


def _find_tested(bests: Iterable[Score]) -> dict[frozenset[int], float]:
    """Return all p-values of the columns' best scores, by the pair of scores."""
    numbers = [score.pk for score in bests]
    stored = Difference.objects.filter(Q(one__in=numbers) | Q(other__in=numbers))
    return {frozenset((one, other)): p for one, other, p in stored.values_list("one", "other", "p")}


def _judge_column(
    scores: Mapping[int, Score], tested: Mapping[frozenset[int], float], precision: Precision
) -> Iterable[tuple[int, Cell]]:
    best, *others = sorted(scores.values(), key=_from_the_top)
    near = [score.pk for score in others[:MAX_TESTED]]
    found = {n: tested[pair] for n in near if (pair := frozenset((n, best.pk))) in tested}
    adjusted = dict(zip(found, holm(list(found.values())), strict=True))
    marks = dict.fromkeys((score.pk for score in others), Mark.FAR)
    marks |= dict.fromkeys(near, Mark.UNTESTED)
    marks |= {n: Mark.TIED if p >= LEVEL else Mark.APART for n, p in adjusted.items()}
    top = precision.round(best.value)
    for number, score in scores.items():
        value, low, high = map(precision.round, (score.value, score.low, score.high))
        mark = Mark.BEST if value == top else marks[score.pk]
        p = adjusted.get(score.pk)
        yield (
            number,
            Cell(value, low, high, mark, precision.shown, p if p is None else precision.round(p)),
        )


def _from_the_top(score: Score) -> tuple[float, int]:
    """Sort the best first; of ties, the earliest."""
    return -score.value, score.pk


def _tested_against(best: Score, others: Iterable[Score]) -> dict[int, float]:
    """Return the p-values that are known, by the other score."""
    numbers = [score.pk for score in others]
    pairs = Difference.objects.filter(
        Q(one=best, other__in=numbers) | Q(other=best, one__in=numbers)
    ).values_list("one", "other", "p")
    return {other if one == best.pk else one: p for one, other, p in pairs}


def compare_with_best(challenge: Challenge) -> None:
    """Test every column's best against the other teams' best submissions, and store it."""
    for slice in ("", *list_slices(challenge)):
        table = _read_scores(find_best(challenge), [slice])
        for column in challenge_columns(challenge, slice) if table else ():
            best, *others = sorted((found[column] for found in table.values()), key=_from_the_top)
            for other in others[:MAX_TESTED]:
                find_difference(best, other)
    # Scores that came meanwhile have counted the version on; the next sweep sees it.
    Challenge.objects.filter(pk=challenge.pk).update(compared_version=challenge.scored_version)


def stored_difference(score: Score, another: Score) -> Difference | None:
    """Return how two scores of one column differ, if it has been computed."""
    one, other = sorted((score.pk, another.pk))
    return Difference.objects.filter(one=one, other=other).first()


def find_difference(score: Score, another: Score) -> Difference:
    """Return how two scores of one column differ; it is computed once."""
    known = stored_difference(score, another)
    if known is not None:
        return known
    one, other = sorted((score, another), key=lambda s: s.pk)
    challenge = one.submission.challenge
    metric = challenge.labeled_metrics[one.metric]
    sides = {
        str(s.pk): Resampling(s.rows.array, partial(pool_counted, metric)) for s in (one, other)
    }
    slices = challenge.slices
    if one.slice and slices is not None:
        sides = slice_resampling(sides, slices.members[one.slice])
    first, second = sides.values()
    test = compare_rows(first, second)
    found, _ = Difference.objects.get_or_create(
        one=one,
        other=other,
        defaults={
            "difference": test.difference,
            "low": test.low,
            "high": test.high,
            "p": test.p,
            "effect": test.effect,
            "wins": test.wins,
        },
    )
    return found


@dataclass(frozen=True)
class Contrast:
    """Difference of two submissions in one column."""

    column: Column
    first: float
    second: float
    difference: float
    low: float
    high: float
    p: float
    """Holm-corrected for all columns; those of slices together."""
    wins: float
    """Share of images on which the first is better, ties counted half."""

    def rounded(self, precision: Precision) -> Contrast:
        """Return the contrast with the digits that are shown."""
        return replace(
            self,
            first=precision.round(self.first),
            second=precision.round(self.second),
            difference=precision.round(self.difference),
            low=precision.round(self.low),
            high=precision.round(self.high),
            p=precision.round(self.p),
            wins=precision.round(self.wins),
        )


@dataclass(frozen=True)
class ShownScore:
    """A score of a submission with the digits that are shown."""

    reference_set: str
    metric: str
    slice: str
    value: float
    low: float
    high: float
    decimals: int
    signature: str


def list_scores(submission: Submission, account: Any) -> list[ShownScore]:
    """Return a submission's scores as an account sees them: all images first, then the slices."""
    if not submission.shows_scores_to(account):
        return []
    found = submission.scores.select_related("reference_set")
    found = found.defer("reference_set__packed_references").order_by("slice", "pk")
    precisions = {
        name: submission.challenge.precision(account, name)
        for name in {score.slice for score in found}
    }
    return [_show(score, precisions[score.slice]) for score in found]


def _show(score: Score, precision: Precision) -> ShownScore:
    value, low, high = map(precision.round, (score.value, score.low, score.high))
    return ShownScore(
        score.reference_set.name,
        score.metric,
        score.slice,
        value,
        low,
        high,
        precision.shown,
        score.signature,
    )


def pair_scores(first: Submission, second: Submission) -> list[tuple[Score, Score]]:
    """Return the scores of two submissions, column by column."""
    related = ("rows", "reference_set", "submission__challenge")
    hidden = ("rows__packed", "reference_set__packed_references", "submission__packed_captions")
    others = {
        (score.reference_set_id, score.metric, score.slice): score
        for score in second.scores.select_related(*related).defer(*hidden)
    }
    return [
        (score, others[score.reference_set_id, score.metric, score.slice])
        for score in first.scores.select_related(*related).defer(*hidden)
        if (score.reference_set_id, score.metric, score.slice) in others
    ]


def contrast(first: Submission, second: Submission) -> list[Contrast] | None:
    """Return how two submissions differ in every column; None until all of them are tested."""
    pairs = pair_scores(first, second)
    found = [stored_difference(one, other) for one, other in pairs]
    tested = [difference for difference in found if difference is not None]
    if len(tested) < len(pairs):
        return None
    contrasts = []
    for in_slices in (False, True):
        chosen = [
            (pair, difference)
            for pair, difference in zip(pairs, tested, strict=True)
            if bool(pair[0].slice) == in_slices
        ]
        chosen.sort(key=lambda item: item[0][0].slice)
        adjusted = holm([difference.p for _, difference in chosen])
        contrasts += [_turn(*item, p) for item, p in zip(chosen, adjusted, strict=True)]
    return contrasts


def _turn(pair: tuple[Score, Score], stored: Difference, p: float) -> Contrast:
    """Return a stored difference as seen from the first of the pair."""
    first, second = pair
    turned = stored.one_id != first.pk
    return Contrast(
        column=Column(first.reference_set.name, first.metric, first.slice),
        first=first.value,
        second=second.value,
        difference=-stored.difference if turned else stored.difference,
        low=-stored.high if turned else stored.low,
        high=-stored.low if turned else stored.high,
        p=p,
        wins=1 - stored.wins if turned else stored.wins,
    )
