"""Judgments, agreement, winners and statistics of judges, counted from answers.

An answer counts if its judge is not excluded, its item is neither an attention check nor training,
it was given neither in the pilot nor too fast, and, for sentences, if no reviewer has rejected it.
Everything here is computed again from the answers that count.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter as Tally
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from statistics import median
from typing import Any, TypeAlias

import numpy as np
from django.db.models import Count as Counted
from django.db.models import F, QuerySet

from cidery.errors import DataWarning
from cidery.meta import Agreement, Dataset, Record, build_judgments, evaluate
from cidery.statistics import Floats, Interval, fleiss_kappa, krippendorff_alpha
from cidery_server.studies.items import Content
from cidery_server.studies.models import Assignment, Item, Judge, Study
from cidery_server.studies.quality import find_flags
from cidery_server.studies.queries import read_vote

ANSWERED = Assignment.State.ANSWERED
Key: TypeAlias = tuple[int, int]
"""An item, and the index of a set in it; 0 for items without several sets."""


def counted_answers(study: Study) -> QuerySet[Assignment]:
    """Return the answers that count, in the order of items and of time."""
    return (
        Assignment.objects.filter(
            study=study,
            state=ANSWERED,
            pilot=False,
            too_fast=False,
            judge__excluded=False,
            item__known_answer=None,
        )
        .exclude(review=Assignment.Review.REJECTED)
        .order_by("item__number", "answered", "pk")
    )


@dataclass(frozen=True)
class Winner:
    """Result of one pair."""

    image: str
    first: str
    second: str
    votes: int
    """Votes for the first minus votes for the second: answers, or majorities of triplets."""

    @property
    def winner(self) -> str:
        """`first`, `second` or `tie`."""
        return "tie" if self.votes == 0 else "first" if self.votes > 0 else "second"


@dataclass(frozen=True)
class JudgeSummary:
    """Summary of one judge."""

    id: int
    worker: str
    assignment: str
    excluded: bool
    reason: str
    codes: list[str]
    """Completion codes of all visits, for the crowdsourcing site."""
    answers: int
    checks: int
    """Attention checks answered."""
    checks_right: int
    median_seconds: float | None
    with_majority: float | None
    """Share of answers that are the item's majority, of pairs that have one."""
    flags: list[str]
    """Warnings for the owner."""


def build_dataset(study: Study, lines: Iterable[dict[str, Any]]) -> Dataset:
    """Return lines of judgments as `cidery meta` reads them."""
    records = (Record(line, f"{study.name}, line {n}") for n, line in enumerate(lines, start=1))
    return build_judgments(records, study.name)


def _split_sets(content: Content) -> list[Content]:
    """Return an item's sets, each as in a line of judgments; other items unchanged."""
    if "sets" not in content:
        return [content]
    names = content.get("systems") or [f"set {n}" for n in range(1, len(content["sets"]) + 1)]
    return [
        {"image": content["image"], "captions": captions, "system": name}
        for captions, name in zip(content["sets"], names, strict=True)
    ]


def _list_values(
    value: float | None, ratings: dict[str, Any] | None
) -> Iterator[tuple[int, float]]:
    """Yield the place of each set that was rated, and its rating; or the one answer there is."""
    if ratings:
        yield from ((int(place), one) for place, one in ratings.items())
    elif value is not None:
        yield 0, value


def _shorten(answers: list[float]) -> list[float] | list[int]:
    whole = all(answer.is_integer() for answer in answers)
    return list(map(int, answers)) if whole else answers


def _win(content: Content, votes: int) -> Winner:
    first, second = content["pair"]
    return Winner(content["image"], first, second, votes)


class Count:
    """A study's answers, read once, with all counts.

    Of several questions one is counted, the first by default; only `judgments` has all.
    """

    def __init__(self, study: Study, question: str = "") -> None:
        self.study = study
        self.question = question

    @cached_property
    def items(self) -> dict[Key, Content]:
        """Key -> content, without attention checks; each of several sets has one of its own."""
        found = Item.objects.filter(study=self.study, known_answer=None).order_by("number")
        return {
            (item, place): content
            for item, whole in found.values_list("pk", "content")
            for place, content in enumerate(_split_sets(whole))
        }

    @cached_property
    def values(self) -> dict[Key, list[float]]:
        """Key -> the answers that count."""
        return self._group(self.question)

    def _group(self, question: str) -> dict[Key, list[float]]:
        grouped: dict[Key, list[float]] = defaultdict(list)
        for item, value, ratings in self._answers:
            if ratings is None or not self.study.questions:
                for place, one in _list_values(value, ratings):
                    grouped[item, place].append(one)
            else:
                name = question or self.study.questions[0]["name"]
                if name in ratings:
                    grouped[item, 0].append(read_vote(ratings[name]))
        return grouped

    @cached_property
    def _answers(self) -> list[tuple[int, float | None, dict[str, Any] | None]]:
        answers: Any = counted_answers(self.study)
        return list(answers.values_list("item_id", "value", "ratings"))

    @cached_property
    def ratings(self) -> Floats:
        """float64[items, answers], nan where an item has fewer."""
        most = max(map(len, self.values.values()), default=0)
        table = np.full((len(self.values), most), math.nan)
        for row, answers in enumerate(self.values.values()):
            table[row, : len(answers)] = answers
        return table

    def judgments(self) -> Iterator[dict[str, Any]]:
        """Yield lines of the judgments' format: references first, then items with their answers.

        Unjudged items have none: `cidery meta estimate` needs them.
        """
        key = "votes" if self.study.is_pairwise else "ratings"
        if self.study.design != Study.Design.TRIPLET:
            for image, references in self.study.references.items():
                yield {"image": image, "references": references}
        names = [question["name"] for question in self.study.questions]
        by_question = {name: self._group(name) for name in names}
        for item, content in self.items.items():
            if item in self.values:
                several = {
                    name: _shorten(found.get(item, [])) for name, found in by_question.items()
                }
                yield {**content, key: several or _shorten(self.values[item])}
            else:
                yield content

    def dataset(self) -> Dataset:
        """Return the judgments as `cidery meta` reads them."""
        return build_dataset(self.study, self.judgments())

    def winners(self) -> list[Winner]:
        """Return the winner of each pair by majority; a triplet's majority is one vote."""
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
        if self.question:
            settings["question"] = self.question
        with warnings.catch_warnings():
            # That some items were not judged yet is what every study shows anyway.
            warnings.simplefilter("ignore", DataWarning)
            return evaluate(self.dataset(), metrics, **settings)

    def alpha(self) -> Interval | None:
        """Krippendorff's α; None before two judges have answered one item."""
        if not self._can_agree():
            return None
        return krippendorff_alpha(self.ratings, "nominal" if self.study.is_pairwise else "ordinal")

    def kappa(self) -> Interval | None:
        """Fleiss' κ of pairs; None if it is undefined."""
        return fleiss_kappa(self.ratings) if self.study.is_pairwise and self._can_agree() else None

    def _can_agree(self) -> bool:
        return bool(self.ratings.shape[1] > 1)

    @cached_property
    def majorities(self) -> dict[Key, float]:
        """Key -> the sign of its votes."""
        return {item: float(np.sign(sum(values))) for item, values in self.values.items()}

    @cached_property
    def moments(self) -> list[tuple[datetime, datetime]]:
        """Start and end of each answer that counts."""
        answers: Any = counted_answers(self.study)
        return list(answers.values_list("given", "answered"))

    def seconds(self) -> list[float]:
        """Return how long each answer that counts took."""
        return [(answered - given).total_seconds() for given, answered in self.moments]

    def judges(self) -> list[JudgeSummary]:
        """Return the statistics of each judge, including excluded ones."""
        rows = Assignment.objects.filter(study=self.study, state=ANSWERED).values_list(
            "judge_id",
            "item_id",
            "value",
            "given",
            "answered",
            "item__known_answer",
            "swapped",
            "too_fast",
        )
        rows = rows.filter(item__training=False)
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
        checks = [(value, known) for _, value, _, _, known, *_ in rows if known is not None]
        decided = [
            value == self.majorities[item, 0]
            for item, value, _, _, known, *_ in rows
            if known is None and self.study.is_pairwise and self.majorities.get((item, 0))
        ]
        spans = [(answered - given).total_seconds() for _, _, given, answered, *_ in rows]
        right = sum(value == known for value, known in checks)
        sides = [(-value if swapped else value) for _, value, *_, swapped, _ in rows if value]
        return JudgeSummary(
            id=judge.pk,
            worker=judge.worker,
            assignment=judge.visit.assignment if judge.visit else "",
            excluded=judge.excluded,
            reason=judge.reason,
            codes=[visit.code for visit in judge.visits.all() if visit.code],
            answers=len(rows) - len(checks),
            checks=len(checks),
            checks_right=right,
            median_seconds=median(spans) if spans else None,
            with_majority=sum(decided) / len(decided) if decided else None,
            flags=list(
                find_flags(spans, right, len(checks), sides, sum(fast for *_, fast in rows))
            ),
        )


def count_choices(study: Study) -> dict[str, int]:
    """Return the numbers of responses tie, neither, skip and broken."""
    assignments = Assignment.objects.filter(study=study, pilot=False, judge__excluded=False)
    found = assignments.exclude(choice="").values_list("choice").annotate(count=Counted("pk"))
    counts = Tally(dict(found.order_by("choice")))
    if study.is_pairwise and study.questions:
        answers: Any = assignments.filter(state=ANSWERED).values_list("ratings", flat=True)
        counts.update(v for votes in answers for v in (votes or {}).values() if isinstance(v, str))
    return dict(sorted(counts.items()))


def find_broken(study: Study) -> dict[str, int]:
    """Return images that judges could not see, with the number of reports."""
    assignments = Assignment.objects.filter(study=study, choice=Assignment.Choice.BROKEN)
    images: Any = assignments.values_list("item__content__image", flat=True)
    return dict(Tally(images).most_common())


def check_accuracy(study: Study) -> tuple[int, int]:
    """Return how many attention checks were answered right, and how many in all."""
    checks = Assignment.objects.filter(
        study=study,
        state=ANSWERED,
        pilot=False,
        judge__excluded=False,
        item__known_answer__isnull=False,
        item__training=False,
    )
    return checks.filter(value=F("item__known_answer")).count(), checks.count()
