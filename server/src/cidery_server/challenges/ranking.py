"""Leaderboards and comparisons, from stored scores and rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from django.db.models import Q

from cidery.errors import SettingError
from cidery.scoring import compare_rows
from cidery.statistics import holm
from cidery_server.challenges.models import Challenge, Difference, Score, Submission
from cidery_server.challenges.precision import EXACT, Precision
from cidery_server.challenges.runs import Column, SystemScore, list_runs, pair_key, read_systems
from cidery_server.web.translation import translate as _

LEVEL = 0.05
MAX_TESTED = 30
"""Scores compared with a column's best, to limit the workers' time: a test takes about 0.1 s with
5,000 images, 0.5 s with 40,000, in every column of every slice, and more with several runs."""


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
    """Mean, with several runs."""
    low: float | None
    high: float | None
    """None until the interval of several runs is computed."""
    mark: Mark
    decimals: int
    sd: float | None
    """Standard deviation over runs; None for a single run."""
    p: float | None = None
    """P-value of the difference from the best, Holm-corrected for the column, if tested."""


@dataclass(frozen=True)
class Entry:
    """A team's best submission, or its best system with several runs."""

    rank: int
    submission: Submission
    """The first run."""
    cells: Mapping[Column, Cell]
    runs: int = 1

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
    table = read_systems(find_best(challenge), precisions)
    if not table:
        return replace(board, sort=chosen)
    shown = {
        number: {column: precisions[column.slice].mean(s.values) for column, s in row.items()}
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
    entries = []
    for number in order:
        runs = table[number][ranking].runs
        entries.append(Entry(places[number], runs[0].submission, cells[number], len(runs)))
    return replace(board, sort=chosen, entries=entries)


FIELDS = ("rank", "team", "submission", "title", "created", "runs")


def name_fields(board: Leaderboard) -> list[str]:
    """Return the names of a record's fields."""
    suffixes = ("", ".sd", ".low", ".high", ".mark")
    return [*FIELDS, *(f"{board.key(c)}{s}" for c in board.columns for s in suffixes)]


def list_records(board: Leaderboard) -> list[dict[str, Any]]:
    """Return a record for each line of a leaderboard."""
    names = name_fields(board)
    records = []
    for entry in board.entries:
        made = entry.submission
        values: list[Any] = [entry.rank, made.team.name, made.pk, made.title]
        values += [made.created.isoformat(), entry.runs]
        for column in board.columns:
            cell = entry.cells[column]
            values += [cell.value, cell.sd, cell.low, cell.high, cell.mark.value]
        records.append(dict(zip(names, values, strict=True)))
    return records


def find_best(challenge: Challenge) -> list[tuple[int, ...]]:
    """Return each team's best system by the displayed first column; of ties, the first.

    A system is the numbers of its runs, mostly one submission; the first run stands for it. Where a
    team has chosen another one, it is that. Private ones and those that were withdrawn are left
    out, and runs of these. Submissions that are being scored again have the scores that they had.
    """
    reference_set, metric, _ = challenge_columns(challenge)[0]
    submissions = Submission.objects.rankable().filter(challenge=challenge, team__is_active=True)
    ranking = (
        Score.objects.filter(
            submission__in=submissions, reference_set__name=reference_set, metric=metric, slice=""
        )
        .order_by("submission")
        .values_list("submission__team_id", "submission_id", "value", "submission__is_chosen")
    )
    run_of = dict(submissions.exclude(run_of=None).values_list("pk", "run_of"))
    rows = {number: row for row in ranking if (number := row[1]) not in run_of}
    runs: dict[int, list[int]] = {number: [number] for number in rows}
    values = {number: [row[2]] for number, row in rows.items()}
    for _team, number, value, _chosen in ranking:
        first = run_of.get(number)
        if first in runs:
            runs[first].append(number)
            values[first].append(value)
    precision = EXACT if challenge.shows_all_digits else Precision.of_images(len(challenge.images))
    order = sorted(rows, key=lambda n: (rows[n][3], precision.mean(values[n]), -n))
    best = {rows[number][0]: tuple(runs[number]) for number in order}  # the last stays
    return list(best.values())


Tested = Mapping[frozenset[int], tuple[str, float]]
"""Numbers of two scores -> runs that were tested, and p."""


def _find_tested(bests: Iterable[SystemScore]) -> Tested:
    """Return all p-values of the columns' best scores, by the pair of scores."""
    numbers = [score.pk for score in bests]
    stored = Difference.objects.filter(Q(one__in=numbers) | Q(other__in=numbers))
    return {
        frozenset((one, other)): (runs, p)
        for one, other, runs, p in stored.values_list("one", "other", "runs", "p")
    }


def _judge_column(
    scores: Mapping[int, SystemScore], tested: Tested, precision: Precision
) -> Iterable[tuple[int, Cell]]:
    best, *others = sorted(scores.values(), key=_from_the_top)
    near = others[:MAX_TESTED]
    found = {}
    for score in near:
        runs, p = tested.get(frozenset((score.pk, best.pk)), (None, 1.0))
        if runs == pair_key(score, best):
            found[score.pk] = p
    adjusted = dict(zip(found, holm(list(found.values())), strict=True))
    marks = dict.fromkeys((score.pk for score in others), Mark.FAR)
    marks |= dict.fromkeys((score.pk for score in near), Mark.UNTESTED)
    marks |= {n: Mark.TIED if p >= LEVEL else Mark.APART for n, p in adjusted.items()}
    # The mean of rounded scores of runs may be higher for another one than for the best.
    marks[best.pk] = Mark.TIED
    shown = {number: precision.mean(score.values) for number, score in scores.items()}
    top = max(shown.values())
    for number, score in scores.items():
        low, high = score.show_interval(precision)
        adjusted_p = adjusted.get(score.pk)
        yield (
            number,
            Cell(
                value=shown[number],
                low=low,
                high=high,
                mark=Mark.BEST if shown[number] == top else marks[score.pk],
                decimals=precision.shown,
                sd=precision.spread(score.values),
                p=None if adjusted_p is None else precision.round(adjusted_p),
            ),
        )


def _from_the_top(score: SystemScore) -> tuple[float, int]:
    """Sort the best first; of ties, the earliest."""
    return -score.value, score.pk


def compare_with_best(challenge: Challenge) -> None:
    """Test every column's best against the other teams' best submissions, and store it.

    Intervals of several runs are stored, too.
    """
    for slice in ("", *list_slices(challenge)):
        table = read_systems(find_best(challenge), [slice])
        for column in challenge_columns(challenge, slice) if table else ():
            scores = [found[column] for found in table.values()]
            for score in scores:
                score.store_interval()
            best, *others = sorted(scores, key=_from_the_top)
            for other in others[:MAX_TESTED]:
                find_difference(best, other)
    # Scores that came meanwhile have counted the version on; the next sweep sees it.
    Challenge.objects.filter(pk=challenge.pk).update(compared_version=challenge.scored_version)


def stored_difference(score: SystemScore, another: SystemScore) -> Difference | None:
    """Return how two scores of one column differ, if it has been computed for these runs."""
    one, other = sorted((score.pk, another.pk))
    runs = pair_key(score, another)
    return Difference.objects.filter(one=one, other=other, runs=runs).first()


def find_difference(score: SystemScore, another: SystemScore) -> Difference:
    """Return how two scores of one column differ; it is computed once for the same runs."""
    known = stored_difference(score, another)
    if known is not None:
        return known
    one, other = sorted((score, another), key=lambda s: s.pk)
    test = compare_rows(one.resample(), other.resample())
    found, _ = Difference.objects.update_or_create(
        one=one.first,
        other=other.first,
        defaults={
            "difference": test.difference,
            "low": test.low,
            "high": test.high,
            "p": test.p,
            "effect": test.effect,
            "wins": test.wins,
            "runs": pair_key(one, other),
        },
    )
    return found


@dataclass(frozen=True)
class Contrast:
    """Difference of two submissions in one column."""

    column: Column
    first_runs: Sequence[float]
    """Scores of the first one's runs; mostly one."""
    second_runs: Sequence[float]
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
        first, second = precision.mean(self.first_runs), precision.mean(self.second_runs)
        # As means of runs, their difference must not reveal more than the rounded scores do.
        is_mean = len(self.first_runs) > 1 or len(self.second_runs) > 1
        moved = first - second - self.difference if is_mean else 0.0
        return replace(
            self,
            first=first,
            second=second,
            difference=precision.round(self.difference + moved),
            low=precision.round(self.low + moved),
            high=precision.round(self.high + moved),
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
    low: float | None
    high: float | None
    decimals: int
    signature: str
    sd: float | None
    runs: int


def list_scores(submission: Submission, account: Any) -> list[ShownScore]:
    """Return a submission's scores as an account sees them: all images first, then the slices.

    Those who see it on the leaderboard only see the mean of its runs, as there.
    """
    if not submission.shows_scores_to(account):
        return []
    is_own = Submission.objects.visible_to(account).filter(pk=submission.pk).exists()
    runs = (submission.pk,) if is_own else list_runs(submission)
    found = read_systems([runs]).get(submission.pk, {})
    precisions = {
        name: submission.challenge.precision(account, name)
        for name in {column.slice for column in found}
    }
    return [_show(column, score, precisions[column.slice]) for column, score in found.items()]


def _show(column: Column, score: SystemScore, precision: Precision) -> ShownScore:
    low, high = score.show_interval(precision)
    return ShownScore(
        *column,
        value=precision.mean(score.values),
        low=low,
        high=high,
        decimals=precision.shown,
        signature=score.signature,
        sd=precision.spread(score.values),
        runs=len(score.runs),
    )


def pair_scores(first: Submission, second: Submission) -> list[tuple[SystemScore, SystemScore]]:
    """Return the scores of two submissions, column by column; the means of several runs."""
    both = read_systems([list_runs(first), list_runs(second)])
    mine, others = both.get(first.pk, {}), both.get(second.pk, {})
    return [(score, others[column]) for column, score in mine.items() if column in others]


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
            if bool(pair[0].first.slice) == in_slices
        ]
        adjusted = holm([difference.p for _, difference in chosen])
        contrasts += [_turn(*item, p) for item, p in zip(chosen, adjusted, strict=True)]
    return contrasts


def _turn(pair: tuple[SystemScore, SystemScore], stored: Difference, p: float) -> Contrast:
    """Return a stored difference as seen from the first of the pair."""
    first, second = pair
    turned = stored.one_id != first.pk
    return Contrast(
        column=Column(first.first.reference_set.name, first.first.metric, first.first.slice),
        first_runs=first.values,
        second_runs=second.values,
        first=first.value,
        second=second.value,
        difference=-stored.difference if turned else stored.difference,
        low=-stored.high if turned else stored.low,
        high=-stored.low if turned else stored.high,
        p=p,
        wins=1 - stored.wins if turned else stored.wins,
    )
