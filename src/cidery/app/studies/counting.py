"""Counting: from answers to judgments, agreement, winners and what is known of each judge.

An answer counts if its judge is not excluded, its item is not an attention check, and, for
sentences, if no reviewer has rejected it. Everything here is computed again from the
answers that count.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from statistics import median
from typing import Any

import numpy as np
from django.db.models import F, QuerySet

from cidery.app.studies.items import Content
from cidery.app.studies.models import Assignment, Item, Judge, Study
from cidery.meta import Agreement, Dataset, evaluate
from cidery.meta.datasets import build_judgments
from cidery.meta.datasets.files import Record
from cidery.statistics import Floats, Interval
from cidery.statistics.reliability import fleiss_kappa, krippendorff_alpha

ANSWERED = Assignment.State.ANSWERED


def counted_answers(study: Study) -> QuerySet[Assignment]:
    """Return the answers that count, in the order of items and of time."""
    return (
        Assignment.objects.filter(
            study=study, state=ANSWERED, judge__excluded=False, item__known_answer=None
        )
        .exclude(review=Assignment.Review.REJECTED)
        .order_by("item__number", "answered", "pk")
    )


@dataclass(frozen=True)
class Winner:
    """What people made of one pair."""

    image: str
    first: str
    second: str
    votes: int
    """For the first minus for the second: answers, or triplets decided by their majority."""

    @property
    def winner(self) -> str:
        """`first`, `second` or `tie`."""
        return "tie" if self.votes == 0 else "first" if self.votes > 0 else "second"


@dataclass(frozen=True)
class JudgeSummary:
    """How one judge does."""

    id: int
    worker: str
    assignment: str
    excluded: bool
    reason: str
    codes: list[str]
    """What this judge was told at the end of each visit, for the crowdsourcing site."""
    answers: int
    checks: int
    """Attention checks answered."""
    checks_right: int
    median_seconds: float | None
    with_majority: float | None
    """Share of answers that are the item's majority, of pairs that have one."""


def _win(content: Content, votes: int) -> Winner:
    first, second = content["pair"]
    return Winner(content["image"], first, second, votes)


class Count:
    """A study's answers, read once and counted in every way."""

    def __init__(self, study: Study) -> None:
        self.study = study

    @cached_property
    def items(self) -> dict[int, Content]:
        """Item key -> content, without attention checks."""
        found = Item.objects.filter(study=self.study, known_answer=None).order_by("number")
        return dict(found.values_list("pk", "content"))

    @cached_property
    def values(self) -> dict[int, list[float]]:
        """Item key -> the answers that count."""
        grouped: dict[int, list[float]] = defaultdict(list)
        for item, value in counted_answers(self.study).values_list("item_id", "value"):
            if value is not None:
                grouped[item].append(value)
        return grouped

    @cached_property
    def ratings(self) -> Floats:
        """float64[items, answers], nan where an item has fewer."""
        most = max(map(len, self.values.values()), default=0)
        table = np.full((len(self.values), most), math.nan)
        for row, answers in enumerate(self.values.values()):
            table[row, : len(answers)] = answers
        return table

    def judgments(self) -> Iterator[dict[str, Any]]:
        """Yield lines of the judgments' format: references first, then items with answers."""
        key = "votes" if self.study.is_pairwise else "ratings"
        if self.study.design != Study.Design.TRIPLET:
            for image, references in self.study.references.items():
                yield {"image": image, "references": references}
        for item, content in self.items.items():
            if item in self.values:
                answers = self.values[item]
                whole = all(answer.is_integer() for answer in answers)
                yield {**content, key: list(map(int, answers)) if whole else answers}

    def dataset(self) -> Dataset:
        """Return the judgments as `cidery meta` reads them."""
        records = (
            Record(line, f"{self.study.name}, line {number}")
            for number, line in enumerate(self.judgments(), start=1)
        )
        return build_judgments(records, self.study.name)

    def winners(self) -> list[Winner]:
        """Return who won each pair, by the majority; a triplet's majority is one vote."""
        if not self.study.is_pairwise:
            return []
        answered = [(item, self.items[item]) for item in self.items if item in self.values]
        if self.study.design == Study.Design.PAIRWISE:
            return [_win(content, round(sum(self.values[item]))) for item, content in answered]
        votes: dict[tuple[str, ...], int] = defaultdict(int)
        pairs: dict[tuple[str, ...], Content] = {}
        for item, content in answered:
            key = (content["image"], *content["pair"])
            votes[key] += round(self.majorities[item])
            pairs[key] = content
        return [_win(pairs[key], count) for key, count in votes.items()]

    def evaluate(self, metrics: list[str] | None = None, **settings: Any) -> Agreement:
        """Judge metrics by the study, as `cidery meta` does."""
        return evaluate(self.dataset(), metrics, **settings)

    def alpha(self) -> Interval | None:
        """Krippendorff's α; None before two judges have answered one item."""
        if not self._can_agree():
            return None
        return krippendorff_alpha(self.ratings, "nominal" if self.study.is_pairwise else "ordinal")

    def kappa(self) -> Interval | None:
        """Fleiss' κ, of pairs; None where it means nothing."""
        return fleiss_kappa(self.ratings) if self.study.is_pairwise and self._can_agree() else None

    def _can_agree(self) -> bool:
        return bool(self.ratings.shape[1] > 1)

    @cached_property
    def majorities(self) -> dict[int, float]:
        """Item key -> the sign of its votes."""
        return {item: float(np.sign(sum(values))) for item, values in self.values.items()}

    @cached_property
    def moments(self) -> list[tuple[datetime, datetime]]:
        """When each answer that counts was asked for, and when it came."""
        answers: Any = counted_answers(self.study)
        return list(answers.values_list("given", "answered"))

    def seconds(self) -> list[float]:
        """Return how long each answer that counts took."""
        return [(answered - given).total_seconds() for given, answered in self.moments]

    def judges(self) -> list[JudgeSummary]:
        """Return how each judge does, excluded ones too."""
        rows = Assignment.objects.filter(study=self.study, state=ANSWERED).values_list(
            "judge_id", "item_id", "value", "given", "answered", "item__known_answer"
        )
        answers: dict[int, list[Any]] = defaultdict(list)
        for judge, *row in rows:
            answers[judge].append(row)
        return [
            self._summarize(judge, answers[judge.pk])
            for judge in Judge.objects.filter(study=self.study)
            .select_related("visit")
            .prefetch_related("visits")
        ]

    def _summarize(self, judge: Judge, rows: list[Any]) -> JudgeSummary:
        checks = [(value, known) for _, value, _, _, known in rows if known is not None]
        decided = [
            value == self.majorities[item]
            for item, value, _, _, known in rows
            if known is None and self.study.is_pairwise and self.majorities.get(item)
        ]
        spans = [(answered - given).total_seconds() for _, _, given, answered, _ in rows]
        return JudgeSummary(
            id=judge.pk,
            worker=judge.worker,
            assignment=judge.visit.assignment if judge.visit else "",
            excluded=judge.excluded,
            reason=judge.reason,
            codes=[visit.code for visit in judge.visits.all() if visit.code],
            answers=len(rows) - len(checks),
            checks=len(checks),
            checks_right=sum(value == known for value, known in checks),
            median_seconds=median(spans) if spans else None,
            with_majority=sum(decided) / len(decided) if decided else None,
        )


def check_accuracy(study: Study) -> tuple[int, int]:
    """Return how many attention checks were answered right, and how many in all."""
    checks = Assignment.objects.filter(
        study=study, state=ANSWERED, judge__excluded=False, item__known_answer__isnull=False
    )
    return checks.filter(value=F("item__known_answer")).count(), checks.count()
