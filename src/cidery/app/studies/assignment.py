"""Giving items to judges and taking their answers, exactly under any number of judges at once.

Each function is one short transaction that begins by locking the judge, so that two windows of one
judge wait for each other. Different judges meet only at free slots: PostgreSQL skips those that
another transaction is looking at, SQLite lets one writer in at a time.
"""

from __future__ import annotations

import random
import secrets
from dataclasses import dataclass

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from cidery.app.studies.models import Assignment, Item, Judge, Study
from cidery.app.studies.queries import (
    count_answered,
    draw_ticket,
    find_free,
    find_given,
    give,
    lock_judge,
    mark_answered,
)
from cidery.app.studies.slots import return_overdue
from cidery.errors import CideryError

GIVEN, ANSWERED = Assignment.State.GIVEN, Assignment.State.ANSWERED


class RefusedAnswerError(CideryError):
    """An answer cannot be taken; the message is for the judge."""


@dataclass(frozen=True)
class Task:
    """What a judge sees next."""

    judge: Judge
    answered: int
    """How many items this judge has answered, in all visits."""
    assignment: Assignment | None
    """None: there is nothing to do, now or for good."""

    @property
    def study(self) -> Study:
        """The study."""
        return self.judge.study


def get_task(judge_key: int) -> Task:
    """Return what a judge has to do, giving them an item if they have none."""
    with transaction.atomic():
        return _get_task(lock_judge(judge_key))


def take_answer(judge_key: int, ticket: int, answer: str) -> Task:
    """Take an answer, if it was not taken before, and return what to do next.

    Args:
        judge_key: who answers.
        ticket: of the item that they were given.
        answer: of a pair, `1` for the sentence shown first and `2` for the other; a step of the
            scale; or the sentence that was asked for.
    """
    with transaction.atomic():
        judge = lock_judge(judge_key)
        if not judge.study.is_open or judge.excluded:
            raise RefusedAnswerError("The study is closed; this answer came too late.")
        if judge.study.is_collection:
            taken = _take_sentence(judge, ticket, answer)
        else:
            taken = mark_answered(judge, ticket, _read_value(judge.study, answer))
        if not taken and not _was_answered(judge, ticket):
            raise RefusedAnswerError(
                "This item waited too long and went to someone else; here is the next one."
            )
        return _get_task(judge)


def _was_answered(judge: Judge, ticket: int) -> bool:
    return judge.assignments.filter(ticket=ticket, state=ANSWERED).exists()


def _read_value(study: Study, answer: str) -> float:
    """Return the rating, or 1 for the sentence that was shown first and -1 for the other."""
    if study.is_pairwise:
        if answer not in ("1", "2"):
            raise RefusedAnswerError("The answer is 1 or 2.")
        return 1.0 if answer == "1" else -1.0
    steps = study.labels
    if answer not in steps:
        raise RefusedAnswerError(f"The answer is one of {', '.join(steps)}.")
    return steps[answer]


def _take_sentence(judge: Judge, ticket: int, sentence: str) -> bool:
    """Keep a sentence for the reviewer, unless it breaks the rules or was given before."""
    mine = judge.assignments.filter(ticket=ticket)
    others = Assignment.objects.filter(study=judge.study, state=ANSWERED).exclude(pk__in=mine)
    same = others.filter(item__in=mine.values("item")) | others.filter(judge=judge)
    problem = judge.study.rules.refuse(sentence, list(same.values_list("sentence", flat=True)))
    if problem:
        raise RefusedAnswerError(f"Not accepted: {problem}.")
    taken = mine.filter(state=GIVEN).update(
        state=ANSWERED,
        answered=timezone.now(),
        sentence=sentence,
        review=Assignment.Review.PENDING,
    )
    return bool(taken)


def undo_answer(judge_key: int) -> Task:
    """Give a judge's last answer back to them, and return it as what to do next."""
    with transaction.atomic():
        judge = lock_judge(judge_key)
        decided = [Assignment.Review.ACCEPTED, Assignment.Review.REJECTED]
        last = (
            judge.assignments.filter(state=ANSWERED)
            .exclude(review__in=decided)
            .order_by("-answered")
            .select_for_update()  # a reviewer may be deciding on it
            .first()
        )
        if last is None or not judge.study.is_open or judge.excluded:
            raise RefusedAnswerError("There is no answer to take back.")
        last.state, last.given = GIVEN, timezone.now()
        last.answered = last.value = None
        last.review = Assignment.Review.NONE
        last.save(update_fields=["state", "given", "answered", "value", "review"])
        return _get_task(judge)


def _get_task(judge: Judge) -> Task:
    answered = count_answered(judge)
    if not judge.study.is_open or judge.excluded:
        return Task(judge, answered, None)
    return Task(judge, answered, find_given(judge) or _give_next(judge, answered))


def _give_next(judge: Judge, answered: int) -> Assignment | None:
    study = judge.study
    if study.items_per_judge and answered - judge.answered_before >= study.items_per_judge:
        return None
    if study.check_count and _is_check_due(judge, answered):
        check = _unseen_checks(judge).first()
        if check is not None:
            return _give_check(judge, check)
    free = find_free(judge)
    if free is None and return_overdue(study):
        free = find_free(judge)
    return None if free is None else give(free, judge, swapped=_toss(study))


def _toss(study: Study) -> bool:
    """Tell whether to show the second sentence of a pair first."""
    return study.is_pairwise and secrets.randbits(1) == 1


def _give_check(judge: Judge, check: Item) -> Assignment:
    return Assignment.objects.create(
        study=judge.study,
        item=check,
        judge=judge,
        state=GIVEN,
        given=timezone.now(),
        swapped=_toss(judge.study),
        ticket=draw_ticket(),
    )


def _is_check_due(judge: Judge, answered: int) -> bool:
    """Tell whether the next item is a check: one of each row of items, nobody knows which."""
    row, place = divmod(answered, judge.study.check_every)
    # Judges know the number in their cookie, and this code, but not the secret key.
    drawn = random.Random(f"{settings.SECRET_KEY}-{judge.pk}-{row}")
    return drawn.randrange(judge.study.check_every) == place


def _unseen_checks(judge: Judge) -> QuerySet[Item]:
    seen = Assignment.objects.filter(judge=judge, item=OuterRef("pk"))
    checks = Item.objects.filter(study=judge.study, known_answer__isnull=False)
    return checks.filter(~Exists(seen)).order_by("number")
