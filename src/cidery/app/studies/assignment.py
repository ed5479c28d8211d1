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
from django.db.models import Exists, F, Max, OuterRef, QuerySet, Value
from django.db.models.functions import Greatest
from django.utils import timezone
from django.utils.crypto import salted_hmac

from cidery.app.studies.models import Assignment, Item, Judge, Study, Visit
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
    """How many items this judge has answered in this visit, attention checks included."""
    assignment: Assignment | None
    """None: there is nothing to do, now or for good."""
    can_undo: bool

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
        answered=Greatest(F("given"), Value(timezone.now())),
        sentence=sentence,
        review=Assignment.Review.PENDING,
    )
    return bool(taken)


def undo_answer(judge_key: int) -> Task:
    """Give a judge's last answer back to them, and return it as what to do next."""
    with transaction.atomic():
        judge = lock_judge(judge_key)
        # A reviewer may be deciding on it.
        last = _find_undoable(judge).order_by("-answered").select_for_update().first()
        if last is None:
            raise RefusedAnswerError("There is no answer to take back.")
        last.state, last.given = GIVEN, timezone.now()
        last.answered = last.value = None
        last.review = Assignment.Review.NONE
        last.save(update_fields=["state", "given", "answered", "value", "review"])
        return _get_task(judge)


def _find_undoable(judge: Judge) -> QuerySet[Assignment]:
    """Return the answers of this visit that were given since the code, if there was one."""
    if not judge.study.is_open or judge.excluded:
        return Assignment.objects.none()
    decided = [Assignment.Review.ACCEPTED, Assignment.Review.REJECTED]
    found = judge.assignments.filter(state=ANSWERED, visit=judge.visit_id)
    if judge.visit and judge.visit.finished:
        found = found.filter(answered__gt=judge.visit.finished)
    return found.exclude(review__in=decided)


def _get_task(judge: Judge) -> Task:
    in_all, here = count_answered(judge)
    assignment = None
    if judge.study.is_open and not judge.excluded:
        assignment = find_given(judge) or _give_next(judge, in_all, here)
    if assignment is None:
        _finish_visit(judge)
    return Task(judge, here, assignment, here > 0 and _can_undo(judge, assignment))


def _can_undo(judge: Judge, assignment: Assignment | None) -> bool:
    if judge.visit is None or judge.visit.finished is None:
        return judge.study.is_open and not judge.excluded
    return assignment is not None and _find_undoable(judge).exists()


def _finish_visit(judge: Judge) -> None:
    """Give the visit its code, which answers to items earn, and attention checks alone do not."""
    visit = judge.visit
    if visit is None or judge.excluded:
        return
    work = judge.assignments.filter(state=ANSWERED, visit=visit, item__known_answer=None)
    newest = work.aggregate(newest=Max("answered"))["newest"]
    if newest is None or (visit.finished and newest <= visit.finished):
        return
    visit.finished, visit.code = max(newest, timezone.now()), make_code(visit)
    visit.save(update_fields=["finished", "code"])


def make_code(visit: Visit) -> str:
    """Return what a judge tells the crowdsourcing site: the study's code, or this visit's own."""
    study = visit.judge.study
    if study.completion_code:
        return study.completion_code
    named = f"{study.pk}-{visit.judge_id}-{visit.assignment}"
    return salted_hmac("cidery.studies.code", named, algorithm="sha256").hexdigest()[:10].upper()


def _give_next(judge: Judge, in_all: int, here: int) -> Assignment | None:
    study = judge.study
    if study.items_per_judge and here >= study.items_per_judge:
        return None
    free = find_free(judge)
    if free is None and return_overdue(study):
        free = find_free(judge)
    if free is None and not here:  # an attention check among no items would check nothing
        return None
    if study.check_count and _is_check_due(judge, in_all):
        check = _unseen_checks(judge).first()
        if check is not None:
            return _give_check(judge, check)
    return None if free is None else give(free, judge, swapped=_toss(study))


def _toss(study: Study) -> bool:
    """Tell whether to show the second sentence of a pair first."""
    return study.is_pairwise and secrets.randbits(1) == 1


def _give_check(judge: Judge, check: Item) -> Assignment:
    return Assignment.objects.create(
        study=judge.study,
        item=check,
        judge=judge,
        visit=judge.visit,
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
