"""Assignment of items to judges and recording of answers, safe with many judges at once.

Each function is one short transaction that begins by locking the judge, so that two windows of one
judge wait for each other. Different judges meet only at free slots: PostgreSQL skips those that
another transaction is looking at, SQLite lets one writer in at a time, by turns.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace

from django.conf import settings
from django.db.models import Exists, F, Max, OuterRef, QuerySet, Value
from django.db.models.functions import Greatest
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _

from cidery.errors import CideryError
from cidery_server.studies.models import Assignment, Item, Judge, Study, Visit, write_number
from cidery_server.studies.quality import apply_to_answer
from cidery_server.studies.queries import (
    Answer,
    count_answered,
    draw_ticket,
    find_free,
    find_given,
    give,
    lock_judge,
    mark_answered,
    read_vote,
)
from cidery_server.studies.slots import free_slots, return_overdue
from cidery_server.web.write_lock import writing

GIVEN, ANSWERED = Assignment.State.GIVEN, Assignment.State.ANSWERED
PASSED_ON = (Assignment.Choice.SKIP, Assignment.Choice.BROKEN)
"""Choices that give the item to another judge."""


class RefusedAnswerError(CideryError):
    """An answer cannot be accepted; the message is for the judge."""


@dataclass(frozen=True)
class Task:
    """Next item of a judge, or the end."""

    judge: Judge
    answered: int
    """Number of items answered in this visit, including attention checks."""
    assignment: Assignment | None
    """None: there is nothing to do."""
    can_undo: bool
    feedback: str = ""
    """Feedback on the training item that was just answered."""

    @property
    def study(self) -> Study:
        """The study."""
        return self.judge.study

    @property
    def is_stopped(self) -> bool:
        """True if the judge has stopped before the end."""
        return self.judge.visit is not None and self.judge.visit.stopped is not None


def get_task(judge_key: int) -> Task:
    """Return the task of a judge, assigning an item if they have none."""
    with writing():
        return _get_task(lock_judge(judge_key))


def record_answer(
    judge_key: int,
    ticket: int,
    answer: str = "",
    *,
    ratings: Mapping[str, str] | None = None,
    choice: str = "",
    comment: str = "",
) -> Task:
    """Record an answer, unless it was recorded before, and return the next task.

    Args:
        judge_key: who answers.
        ticket: of the item that they were given.
        answer: of a pair, `1` for the sentence shown first and `2` for the other; a step of the
            scale; or the sentence that was asked for.
        ratings: where several are asked for: question, or number of the set as shown -> step.
        choice: instead of an answer: `tie`, `neither`, `skip` or `broken`.
        comment: what else the judge has to say.
    """
    with writing():
        judge = lock_judge(judge_key)
        if not _may_answer(judge):
            raise RefusedAnswerError(_("The study is closed; this answer came too late."))
        if judge.visit is not None and judge.visit.stopped:
            raise RefusedAnswerError(_("You have stopped; continue judging first."))
        if choice and choice not in judge.study.choices:
            raise RefusedAnswerError(_("This study does not offer that answer."))
        comment = comment if judge.study.ask_comment else ""
        if choice in PASSED_ON:
            taken = _pass_on(judge, ticket, choice, comment)
        elif judge.study.is_collection:
            taken = _record_sentence(judge, ticket, answer, comment)
        elif judge.study.design == Study.Design.RATING or judge.study.questions:
            mine = judge.assignments.filter(ticket=ticket, state=GIVEN).select_related("item")
            given = mine.first()
            taken = given is not None and mark_answered(
                judge,
                ticket,
                replace(_read_ratings(judge.study, given, answer, ratings or {}), comment=comment),
            )
        else:
            value = 0.0 if choice else _read_value(judge.study, answer)
            taken = mark_answered(judge, ticket, Answer(value, choice=choice, comment=comment))
        if not taken and not _was_answered(judge, ticket):
            raise RefusedAnswerError(
                _(
                    "The time for this item has run out, and it was given to another judge; "
                    "here is the next one."
                )
            )
        if judge.study.has_rules:
            apply_to_answer(judge, ticket)
        return _get_task(judge)


def _may_answer(judge: Judge) -> bool:
    """Return True if the study accepts this judge's answers; a decided one, in open visits only."""
    if judge.excluded:
        return False
    is_here = judge.visit is not None and judge.visit.finished is None
    return judge.study.is_open or (judge.study.state == Study.State.DECIDED and is_here)


def _was_answered(judge: Judge, ticket: int) -> bool:
    return judge.assignments.filter(ticket=ticket, state=ANSWERED).exists()


def _pass_on(judge: Judge, ticket: int, choice: str, comment: str) -> bool:
    """Give an item that a judge cannot answer to someone else."""
    mine = judge.assignments.filter(ticket=ticket, state=GIVEN).first()
    if mine is None or mine.given is None:
        return judge.assignments.filter(ticket=ticket, choice=choice).exists()
    mine.choice, mine.comment = choice, comment
    mine.state, mine.answered = Assignment.State.RETURNED, max(mine.given, timezone.now())
    mine.save(update_fields=["choice", "comment", "state", "answered"])
    free_slots([mine])
    return True


def shown_order(assignment: Assignment) -> list[int]:
    """Return the order in which a judge sees the sets of an item; it differs between judges."""
    places = list(range(len(assignment.item.content["sets"])))
    random.Random(assignment.ticket).shuffle(places)
    return places


def _read_ratings(
    study: Study, given: Assignment, answer: str, ratings: Mapping[str, str]
) -> Answer:
    """Return a rating, or several: of questions, or of sets in the order that they were shown."""
    if "sets" in given.item.content:
        order = shown_order(given)
        found = _read_each(study, [str(n) for n in range(1, len(order) + 1)], ratings)
        by_set = {str(order[int(number) - 1]): value for number, value in found.items()}
        return Answer(sum(found.values()) / len(found), by_set)
    names = [question["name"] for question in study.questions]
    if study.is_pairwise:
        votes = {n: _read_part(study, a) for n, a in _find_each(names, ratings).items()}
        turned = {n: _turn(vote) if given.swapped else vote for n, vote in votes.items()}
        return Answer(read_vote(votes[names[0]]), turned)
    if names:
        found = _read_each(study, names, ratings)
        return Answer(next(iter(found.values())), found)
    return Answer(_read_value(study, answer))


def _read_part(study: Study, answer: str) -> float | str:
    """Return the vote on one of several questions; `tie` and `neither` are unchanged."""
    return answer if answer in study.part_choices else _read_value(study, answer)


def _turn(vote: float | str) -> float | str:
    """Return a vote as the item has it, where the judge saw the second sentence first."""
    return vote if isinstance(vote, str) else -vote


def _read_each(study: Study, wanted: list[str], ratings: Mapping[str, str]) -> dict[str, float]:
    return {name: _read_value(study, one) for name, one in _find_each(wanted, ratings).items()}


def _find_each(wanted: list[str], ratings: Mapping[str, str]) -> dict[str, str]:
    missing = next((name for name in wanted if name not in ratings), None)
    if missing is not None:
        raise RefusedAnswerError(
            _("Please answer everything: {part} has no answer yet.").format(part=missing)
        )
    return {name: ratings[name] for name in wanted}


def _read_value(study: Study, answer: str) -> float:
    """Return the rating, or 1 for the sentence that was shown first and -1 for the other."""
    if study.is_pairwise:
        if answer not in ("1", "2"):
            raise RefusedAnswerError(_("The answer is 1 or 2."))
        return 1.0 if answer == "1" else -1.0
    steps = study.labels
    if answer not in steps:
        raise RefusedAnswerError(_("The answer is one of {steps}.").format(steps=", ".join(steps)))
    return steps[answer]


def _record_sentence(judge: Judge, ticket: int, sentence: str, comment: str) -> bool:
    """Keep a sentence for the reviewer, unless it breaks the rules or was given before."""
    mine = judge.assignments.filter(ticket=ticket)
    others = Assignment.objects.filter(study=judge.study, state=ANSWERED).exclude(pk__in=mine)
    same = others.filter(item__in=mine.values("item")) | others.filter(judge=judge)
    problem = judge.study.rules.refuse(sentence, list(same.values_list("sentence", flat=True)))
    if problem:
        raise RefusedAnswerError(_("Not accepted: {problem}.").format(problem=problem))
    taken = mine.filter(state=GIVEN).update(
        state=ANSWERED,
        answered=Greatest(F("given"), Value(timezone.now())),
        sentence=sentence,
        comment=comment,
        review=Assignment.Review.PENDING,
    )
    return bool(taken)


def undo_answer(judge_key: int) -> Task:
    """Undo a judge's last answer, and return its item as the next task."""
    with writing():
        judge = lock_judge(judge_key)
        # A reviewer may be deciding on it.
        last = _find_undoable(judge).order_by("-answered").select_for_update().first()
        if last is None:
            raise RefusedAnswerError(_("There is no answer to undo."))
        last.state, last.given = GIVEN, timezone.now()
        last.answered = last.value = last.ratings = None
        last.review, last.choice = Assignment.Review.NONE, Assignment.Choice.NONE
        last.too_fast = False
        fields = ["state", "given", "answered", "value", "ratings", "review", "choice", "too_fast"]
        last.save(update_fields=fields)
        return _get_task(judge)


def _find_undoable(judge: Judge) -> QuerySet[Assignment]:
    """Return the answers of this visit that were given since the code, if there was one."""
    if not _may_answer(judge):
        return Assignment.objects.none()
    decided = [Assignment.Review.ACCEPTED, Assignment.Review.REJECTED]
    found = judge.assignments.filter(state=ANSWERED, visit=judge.visit_id)
    if judge.visit and judge.visit.finished:
        found = found.filter(answered__gt=judge.visit.finished)
    return found.exclude(review__in=decided)


def _get_task(judge: Judge) -> Task:
    in_all, here = count_answered(judge)
    assignment = None
    has_stopped = judge.visit is not None and judge.visit.stopped is not None
    if _may_answer(judge) and not has_stopped:
        assignment = find_given(judge) or _give_next(judge, in_all, here)
    if assignment is None and not has_stopped:
        _finish_visit(judge)
    feedback = _find_feedback(judge) if judge.study.training_count and not here else ""
    return Task(judge, here, assignment, here > 0 and _can_undo(judge, assignment), feedback)


def _find_feedback(judge: Judge) -> str:
    """Return the explanation of the last training item, if it was the judge's last answer."""
    answered = judge.assignments.filter(state=ANSWERED).select_related("item")
    last = answered.order_by("-answered", "-pk").first()
    if last is None or not last.item.training or last.item.known_answer is None:
        return ""
    if last.value == last.item.known_answer:
        verdict = _("Correct: this is the expected answer.")
    else:
        right = _show_answer(last, last.item.known_answer)
        verdict = _("The expected answer is {answer}.").format(answer=right)
    asked = f"{last.study.questions[0]['text']} " if last.study.questions else ""
    return f"{asked}{verdict} {last.item.explanation}".strip()


def _show_answer(assignment: Assignment, value: float) -> str:
    """Return an answer as the judge's buttons show it."""
    if not assignment.study.is_pairwise:
        return write_number(value)
    return letters_of(assignment.study)[(value > 0) == assignment.swapped]


def letters_of(study: Study) -> str:
    """Return the labels of the two sentences of a pair; A is a triplet's reference."""
    if not study.is_pairwise:
        return ""
    return "BC" if study.design == Study.Design.TRIPLET else "AB"


def _can_undo(judge: Judge, assignment: Assignment | None) -> bool:
    if judge.visit is None or judge.visit.finished is None:
        return _may_answer(judge)
    return assignment is not None and _find_undoable(judge).exists()


def _finish_visit(judge: Judge) -> None:
    """Give the visit its code, unless only attention checks were answered."""
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
    """Return the completion code for the crowdsourcing site: the study's, or this visit's own."""
    study = visit.judge.study
    if study.completion_code:
        return study.completion_code
    named = f"{study.pk}-{visit.judge_id}-{visit.assignment}"
    return salted_hmac("cidery.studies.code", named, algorithm="sha256").hexdigest()[:10].upper()


def _give_next(judge: Judge, in_all: int, here: int) -> Assignment | None:
    study = judge.study
    if in_all < study.training_count:
        lesson = _unseen(judge).filter(training=True).first()
        if lesson is not None:
            return _give_known(judge, lesson)
    if study.items_per_judge and here >= study.items_per_judge:
        return None
    if not study.is_open and not study.items_per_judge:
        return None  # the visit would be all that there is, of which no more is needed
    free = find_free(judge)
    if free is None and return_overdue(study):
        free = find_free(judge)
    if free is None and not here:  # an attention check among no items would check nothing
        return None
    if study.check_count and _is_check_due(judge, in_all):
        check = _unseen(judge).filter(training=False).first()
        if check is not None:
            return _give_known(judge, check)
    return None if free is None else give(free, judge, swapped=_toss(study))


def _toss(study: Study) -> bool:
    """Return True if the second sentence of a pair is shown first."""
    return study.is_pairwise and secrets.randbits(1) == 1


def _give_known(judge: Judge, item: Item) -> Assignment:
    """Give an attention check or a training item, which has no slots; training does not count."""
    return Assignment.objects.create(
        study=judge.study,
        item=item,
        judge=judge,
        visit=None if item.training else judge.visit,
        state=GIVEN,
        given=timezone.now(),
        swapped=_toss(judge.study),
        ticket=draw_ticket(),
    )


def _is_check_due(judge: Judge, answered: int) -> bool:
    """Return True if the next item is a check: one in each run of items, at a random place."""
    row, place = divmod(answered, judge.study.check_every)
    # Judges know the number in their cookie, and this code, but not the secret key.
    drawn = random.Random(f"{settings.SECRET_KEY}-{judge.pk}-{row}")
    return drawn.randrange(judge.study.check_every) == place


def _unseen(judge: Judge) -> QuerySet[Item]:
    """Return attention checks and training that the judge has not seen."""
    seen = Assignment.objects.filter(judge=judge, item=OuterRef("pk"))
    known = Item.objects.filter(study=judge.study, known_answer__isnull=False)
    return known.filter(~Exists(seen)).order_by("number")
