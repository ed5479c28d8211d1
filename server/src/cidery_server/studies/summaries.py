"""Summaries of studies for the owner's page and `cidery study status`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from cidery.errors import InputError
from cidery.statistics import Interval
from cidery.tables import without_nan
from cidery_server.studies.answer_counts import (
    Count,
    JudgeSummary,
    check_accuracy,
    count_choices,
    find_broken,
)
from cidery_server.studies.models import Assignment, Study
from cidery_server.studies.slots import count_slots


def find_study(name: str) -> Study:
    """Return a study by its name."""
    found = Study.objects.filter(name=name).first()
    if found is None:
        known = ", ".join(Study.objects.values_list("name", flat=True)) or "none"
        raise InputError(f"unknown study {name!r}; known: {known}")
    return found


@dataclass(frozen=True)
class ShortSummary:
    """A study in a list."""

    name: str
    title: str
    design: str
    state: str
    items: int
    judges_each: int
    answered: int
    needed: int

    @property
    def progress(self) -> str:
        """`120 of 300`."""
        return f"{self.answered} of {self.needed}"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON: a value that is not a number (nan) becomes null."""
        return dict(without_nan(asdict(self)))


@dataclass(frozen=True)
class QuestionAgreement:
    """Annotator agreement on one of several questions."""

    question: str
    alpha: Interval | None
    kappa: Interval | None


@dataclass(frozen=True)
class Summary(ShortSummary):
    """Summary of a study."""

    asked: str
    given: int
    """Number of items that judges have now."""
    free: int
    alpha: Interval | None
    """Agreement for the first question."""
    kappa: Interval | None
    agreement: list[QuestionAgreement]
    """Agreement for each question, if there are several."""
    stop_when_decided: bool
    median_seconds: float | None
    checks_right: int
    checks: int
    pending: int
    """Sentences that wait for a reviewer."""
    withdrawn: int
    """Number of judges whose answers were erased."""
    choices: dict[str, int]
    """Number of responses tie, neither, skip and broken."""
    broken: dict[str, int]
    """Images that judges could not see, with the number of reports."""
    judges: list[JudgeSummary]


def summarize_all() -> list[ShortSummary]:
    """Return all studies, the newest first."""
    studies = Study.objects.defer("references")
    return [ShortSummary(**_shorten(study, count_slots(study))) for study in studies]


def _shorten(study: Study, slots: dict[str, int]) -> dict[str, Any]:
    return {
        "name": study.name,
        "title": study.title,
        "design": study.design,
        "state": study.state,
        "items": study.item_count,
        "judges_each": study.judges_each,
        "answered": slots["answered"],
        "needed": sum(slots.values()),
    }


def summarize(study: Study) -> Summary:
    """Return all counts and statistics of a study."""
    count, slots = Count(study), count_slots(study)
    seconds = count.seconds()
    right, checks = check_accuracy(study)
    pending = Assignment.objects.filter(study=study, review=Assignment.Review.PENDING)
    return Summary(
        **_shorten(study, slots),
        asked=study.asked,
        given=slots["given"],
        free=slots["free"],
        alpha=count.alpha(),
        kappa=count.kappa(),
        agreement=[_agree(study, question["name"]) for question in study.questions],
        stop_when_decided=study.stop_when_decided,
        median_seconds=median(seconds) if seconds else None,
        checks_right=right,
        checks=checks,
        pending=pending.count(),
        withdrawn=study.withdrawn,
        choices=count_choices(study),
        broken=find_broken(study),
        judges=count.judges(),
    )


def _agree(study: Study, question: str) -> QuestionAgreement:
    count = Count(study, question)
    return QuestionAgreement(question, count.alpha(), count.kappa())
