"""Systems with several runs: submissions of a team that have one score together, their mean.

Every run is a submission as any other. One of them, the first, stands for the system; the others
name it in `run_of`. Stored tests and intervals contain the numbers of the runs' scores from which
they were computed: after any change of these they do not fit, and are computed again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from cidery.errors import InputError
from cidery.scoring import Resampling, join_resampling, pool_counted, slice_resampling
from cidery.statistics import RESAMPLES, find_interval
from cidery_server.challenges.models import RunsInterval, Score, Submission
from cidery_server.challenges.precision import Precision
from cidery_server.web.translation import translate as _

CONFIDENCE = 0.95


class Column(NamedTuple):
    """A set of references, a metric, and the images: all of them, or those of a slice."""

    reference_set: str
    metric: str
    slice: str = ""


@dataclass(frozen=True)
class SystemScore:
    """Score of a system in one column: that of its only run, or the mean of several."""

    runs: tuple[Score, ...]
    """Scores of the runs, the first submission's first."""
    interval: tuple[float, float] | None
    """Over images and, with several runs, runs; None if not yet computed."""

    @classmethod
    def of(cls, runs: Sequence[Score]) -> SystemScore:
        """Return the score of these runs, with the stored interval if it is of these."""
        first = runs[0]
        if len(runs) == 1:
            return cls((first,), (first.low, first.high))
        stored = getattr(first, "runs_interval", None)
        fits = stored is not None and stored.runs == _number_scores(runs)
        return cls(tuple(runs), (stored.low, stored.high) if stored and fits else None)

    @property
    def first(self) -> Score:
        """The score of the first run, which stands for the system."""
        return self.runs[0]

    @property
    def pk(self) -> int:
        """Number of the first run's score."""
        return self.first.pk

    @property
    def values(self) -> list[float]:
        """The scores of the runs."""
        return [score.value for score in self.runs]

    @property
    def value(self) -> float:
        """Mean of the runs' scores."""
        return float(np.mean(self.values))

    @property
    def key(self) -> str:
        """Numbers of the runs' scores; empty for a single run."""
        return _number_scores(self.runs) if len(self.runs) > 1 else ""

    @property
    def signature(self) -> str:
        """Settings of the score, with the number of runs, as `cidery.score` writes it."""
        count = len(self.runs)
        return f"{self.first.signature}|runs:{count}" if count > 1 else self.first.signature

    def show_interval(self, precision: Precision) -> tuple[float | None, float | None]:
        """Return the interval around the score as it is shown."""
        if self.interval is None:
            return None, None
        # Bounds of a mean move with its rounding: they would reveal it otherwise.
        moved = precision.mean(self.values) - self.value if len(self.runs) > 1 else 0.0
        low, high = (precision.round(bound + moved) for bound in self.interval)
        return low, high

    def resample(self) -> Resampling:
        """Return the rows of the runs, side by side, for intervals and tests."""
        challenge = self.first.submission.challenge
        pool = partial(pool_counted, challenge.labeled_metrics[self.first.metric])
        each = [{"": Resampling(score.rows.array, pool)} for score in self.runs]
        found = join_resampling(each) if len(each) > 1 else each[0]
        slices = challenge.slices if self.first.slice else None
        if slices is not None:
            found = slice_resampling(found, slices.members[self.first.slice])
        return found[""]

    def store_interval(self) -> None:
        """Compute and store the interval of several runs, unless it is there."""
        if self.interval is not None:
            return
        source = self.resample()
        scores = source.score_runs(source.draw(RESAMPLES, seed=0))
        found = find_interval(scores, len(source.rows), CONFIDENCE)
        fields = {"runs": self.key, "low": found.low, "high": found.high}
        RunsInterval.objects.update_or_create(score=self.first, defaults=fields)


def _number_scores(runs: Iterable[Score]) -> str:
    return " ".join(str(score.pk) for score in runs)


def pair_key(one: SystemScore, other: SystemScore) -> str:
    """Return the numbers of two systems' scores, in either order; empty if both have one run."""
    first, second = sorted((one, other), key=lambda system: system.pk)
    return f"{first.key}|{second.key}" if first.key or second.key else ""


def list_runs(submission: Submission) -> tuple[int, ...]:
    """Return the numbers of a submission and of its other runs that count."""
    others = Submission.objects.rankable().filter(run_of=submission.pk).order_by("pk")
    return (submission.pk, *others.values_list("pk", flat=True))


def read_systems(
    systems: Iterable[Sequence[int]], slices: Iterable[str] | None = None
) -> dict[int, dict[Column, SystemScore]]:
    """Return the scores of systems by the number of the first submission.

    Args:
        systems: numbers of the submissions of each system, the first one first.
        slices: names of slices; empty for all images. Default: all of them.
    """
    systems = list(systems)
    scores = Score.objects.filter(submission__in=[number for runs in systems for number in runs])
    if slices is not None:
        scores = scores.filter(slice__in=list(slices))
    table: dict[int, dict[Column, Score]] = {}
    found = scores.select_related("submission__team", "reference_set", "runs_interval")
    for score in found.defer(
        "submission__packed_captions",
        "submission__packed_fingerprint",
        "reference_set__packed_references",
    ).order_by("slice", "pk"):
        column = Column(score.reference_set.name, score.metric, score.slice)
        table.setdefault(score.submission_id, {})[column] = score
    return {runs[0]: _join(runs, table) for runs in systems if runs[0] in table}


def _join(
    runs: Sequence[int], table: Mapping[int, Mapping[Column, Score]]
) -> dict[Column, SystemScore]:
    scored = [table[number] for number in runs if number in table]
    return {
        column: SystemScore.of([scores[column] for scores in scored if column in scores])
        for column in table[runs[0]]
    }


class RunError(InputError):
    """A submission cannot be a run of another one."""


def check_first(number: int, team: int, challenge: int) -> Submission:
    """Return a submission of which others can be runs.

    Args:
        number: its number.
        team: number of the team of the other run.
        challenge: number of its challenge.

    Raises:
        RunError: it cannot have other runs.
    """
    mine = Submission.objects.filter(team=team, challenge=challenge)
    first = mine.defer("packed_captions", "packed_fingerprint").filter(pk=number).first()
    if first is None:
        raise RunError(
            _("Your team has no submission {number} to this challenge.").format(number=number)
        )
    if first.withdrawn:
        raise RunError(_("Submission {number} is withdrawn.").format(number=number))
    if first.run_of_id is not None:
        raise RunError(
            _("Submission {number} is itself a run of submission {first}; choose that one.").format(
                number=number, first=first.run_of_id
            )
        )
    return first
