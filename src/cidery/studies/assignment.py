"""Giving items to judges and taking their answers, exactly under any number of judges at once.

Each function is one short transaction that begins by locking the judge, so that two windows of one
judge wait for each other. Different judges meet only at free places: PostgreSQL skips those that
another transaction is looking at, SQLite lets one writer in at a time.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Count, Exists, OuterRef, QuerySet
from django.utils import timezone

from cidery.errors import CideryError
from cidery.studies.models import Assignment, Item, Judge, Study
from cidery.studies.queries import (
    count_answered,
    draw_ticket,
    find_free,
    find_given,
    give,
    lock_judge,
    mark_answered,
)

GIVEN, ANSWERED, FREE = (
    Assignment.State.GIVEN,
    Assignment.State.ANSWERED,
    Assignment.State.FREE,
)
RETURNED_AT_ONCE = 100
"""How many overdue places one judge's request returns at most: it should stay short."""


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
    steps = {f"{step:g}": step for step in study.scale}
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
        raise RefusedAnswerError(f"Not taken: {problem}.")
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


def return_overdue(study: Study, now: datetime | None = None) -> int:
    """Return items to the free ones that waited longer than the study allows; tell how many."""
    latest = (now or timezone.now()) - timedelta(minutes=study.timeout_minutes)
    with transaction.atomic():
        overdue = list(
            Assignment.objects.filter(
                study=study, state=GIVEN, place__isnull=False, given__lt=latest
            ).select_for_update(skip_locked=True)[:RETURNED_AT_ONCE]
        )
        vacate(overdue)
    return len(overdue)


def vacate(assignments: Iterable[Assignment]) -> None:
    """Free the places of these assignments for others; their judges do not see the items again."""
    left = [assignment for assignment in assignments if assignment.place is not None]
    free = [
        Assignment(study_id=one.study_id, item_id=one.item_id, place=one.place, order=one.order)
        for one in left
    ]
    for one in left:
        one.place = None
        if one.state == GIVEN:
            one.state = Assignment.State.RETURNED
    Assignment.objects.bulk_update(left, ["place", "state"], batch_size=500)
    Assignment.objects.bulk_create(free, batch_size=500)


def exclude_judge(judge_key: int, reason: str = "") -> None:
    """Count none of a judge's answers, and give their places to others."""
    with transaction.atomic():
        judge = lock_judge(judge_key)
        judge.excluded, judge.reason = True, reason
        judge.save(update_fields=["excluded", "reason"])
        vacate(judge.assignments.filter(place__isnull=False).select_for_update())


def restore_judge(judge_key: int) -> None:
    """Count a judge's answers again; they take back the places that nobody has taken since."""
    with transaction.atomic():
        judge = lock_judge(judge_key)
        judge.excluded, judge.reason = False, ""
        judge.save(update_fields=["excluded", "reason"])
        mine = {
            one.item_id: one
            for one in judge.assignments.filter(state=ANSWERED, place=None, item__known_answer=None)
            .exclude(review=Assignment.Review.REJECTED)
            .select_for_update(of=("self",))
        }
        free = Assignment.objects.filter(study=judge.study, state=FREE, item__in=mine.keys())
        for place in free.select_for_update(skip_locked=True, of=("self",)):
            one = mine.pop(place.item_id, None)
            if one is not None:
                place.delete()
                one.place = place.place
                one.save(update_fields=["place"])


def review_sentence(assignment_key: int, *, accept: bool, reason: str = "") -> None:
    """Accept a collected sentence, or reject it and ask another person for one."""
    with transaction.atomic():
        one = Assignment.objects.select_for_update().get(
            pk=assignment_key, state=ANSWERED, review__gt=Assignment.Review.NONE
        )
        one.review = Assignment.Review.ACCEPTED if accept else Assignment.Review.REJECTED
        one.reason = reason
        one.save(update_fields=["review", "reason"])
        if not accept:
            vacate([one])


def set_state(study: Study, state: Study.State) -> None:
    """Open or close a study."""
    study.state = state
    study.closed = timezone.now() if state == Study.State.CLOSED else None
    study.save(update_fields=["state", "closed"])


def set_visit(judge: Judge, assignment: str) -> None:
    """Begin a new visit of a judge whom a crowdsourcing site sends for another assignment."""
    if judge.assignment == assignment:
        return
    judge.assignment = assignment
    judge.answered_before = judge.assignments.filter(state=ANSWERED).count()
    judge.save(update_fields=["assignment", "answered_before"])


def count_places(study: Study) -> dict[str, int]:
    """Return how many places are free, given and answered."""
    counts = dict(
        Assignment.objects.filter(study=study, place__isnull=False)
        .values_list("state")
        .annotate(count=Count("pk"))
    )
    return {state: counts.get(state, 0) for state in (FREE, GIVEN, ANSWERED)}
