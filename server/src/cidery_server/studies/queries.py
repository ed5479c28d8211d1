"""SQL statements that run for every answer.

Two hundred judges answer a hundred times a second. Building these queries with the ORM takes four
times as long as running them, and while SQLite's one writer builds queries, all others wait. They
are the same for SQLite and PostgreSQL, but that only the latter locks single rows.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import lru_cache
from typing import Any

from django.db import connection
from django.utils import timezone as clock

from cidery_server.studies.models import Assignment, Item, Judge, Study, Visit


@dataclass(frozen=True)
class Answer:
    """Answer of a judge to an item."""

    value: float
    """A rating; or 1 for the sentence that was shown first, -1 for the other, 0 for neither."""
    ratings: Mapping[str, float | str] | None = None
    """Several, by question or by set; votes as the item has them, `tie` and `neither`."""
    choice: str = ""
    comment: str = ""


def read_vote(vote: float | str) -> float:
    """Return a vote as a number: ties, and neither, are 0."""
    return 0.0 if isinstance(vote, str) else vote


FIND_FRAMES = "SELECT frames, language FROM studies_study WHERE name = %s"
LOCK_JUDGE = """
SELECT j.id, j.study_id, j.worker, j.excluded, s.state, s.revision, v.id, v.assignment,
    v.finished, v.code, v.submit_to, v.stopped
FROM studies_judge j JOIN studies_study s ON s.id = j.study_id
LEFT JOIN studies_visit v ON v.id = j.visit_id
WHERE j.id = %s"""
MARK_ANSWERED = """
UPDATE studies_assignment
SET state = 'answered', answered = CASE WHEN given > %s THEN given ELSE %s END,
    value = CASE WHEN swapped THEN %s ELSE %s END, ratings = %s, choice = %s, comment = %s
WHERE ticket = %s AND judge_id = %s AND state = 'given'"""
COUNT_ANSWERED = """
SELECT count(*), count(CASE WHEN visit_id = %s THEN 1 END)
FROM studies_assignment WHERE judge_id = %s AND state = 'answered'"""
FIND_GIVEN = """
SELECT a.id, a.ticket, a.item_id, a.swapped, a.sentence, i.content, i.training
FROM studies_assignment a JOIN studies_item i ON i.id = a.item_id
WHERE a.judge_id = %s AND a.state = 'given' ORDER BY a.given DESC, a.id DESC LIMIT 1"""
FIND_FREE = """
SELECT a.id, a.ticket, a.item_id, a.swapped, a.sentence, i.content, i.training
FROM studies_assignment a JOIN studies_item i ON i.id = a.item_id
WHERE a.study_id = %s AND a.state = 'free' AND NOT EXISTS (
    SELECT 1 FROM studies_assignment seen
    WHERE seen.item_id = a.item_id AND seen.judge_id = %s)
ORDER BY a."order" LIMIT 1"""
GIVE = """
UPDATE studies_assignment
SET judge_id = %s, visit_id = %s, state = 'given', given = %s, swapped = %s, ticket = %s
WHERE id = %s"""


def _execute(statement: str, *values: Any) -> Any:
    cursor = connection.cursor()
    cursor.execute(statement, values)
    return cursor


def _locking(statement: str, clause: str) -> str:
    """Add a lock of rows if the database supports it; SQLite locks the whole database."""
    return f"{statement} {clause}" if connection.features.has_select_for_update else statement


def _now() -> Any:
    return connection.ops.adapt_datetimefield_value(clock.now())


@lru_cache(maxsize=256)
def _definition(study_key: int, revision: int) -> Study:  # noqa: ARG001
    """Return a cached study; changes other than of its state make a new revision."""
    return Study.objects.defer("references").get(pk=study_key)


def find_frames(study: str) -> tuple[str, str] | None:
    """Return the sites that may show a study, and its language; None if there is no such study."""
    found: tuple[str, str] | None = _execute(FIND_FRAMES, study).fetchone()
    return found


def lock_judge(key: int) -> Judge:
    """Return a judge and their study, and lock the judge until the end of the transaction."""
    row = _execute(_locking(LOCK_JUDGE, "FOR UPDATE OF j"), key).fetchone()
    if row is None:
        raise Judge.DoesNotExist
    number, study, worker, excluded, state, revision, visit, *about = row
    judge = Judge(id=number, study_id=study, worker=worker, excluded=bool(excluded))
    judge.study = copy(_definition(study, revision))
    judge.study.state = state
    if visit is not None:
        assignment, finished, code, submit_to, stopped = about
        judge.visit = Visit(id=visit, assignment=assignment, code=code, submit_to=submit_to)
        judge.visit.judge, judge.visit.finished = judge, _read_time(finished)
        judge.visit.stopped = _read_time(stopped)
    return judge


def _read_time(stored: Any) -> datetime | None:
    """Return a time as a datetime; SQLite's driver returns text."""
    found = datetime.fromisoformat(stored) if isinstance(stored, str) else stored
    return found.replace(tzinfo=timezone.utc) if found and found.tzinfo is None else found


def draw_ticket() -> int:
    """Return a random number that JavaScript can represent exactly."""
    return 1 + secrets.randbits(52)


def mark_answered(judge: Judge, ticket: int, answer: Answer) -> bool:
    """Store an answer in the order of the item; return True if the assignment was open.

    Where another machine, whose clock is ahead, gave the item, it took no time.
    """
    now = _now()
    ratings = None if answer.ratings is None else json.dumps(answer.ratings)
    # 0 - 0 is 0, and not the -0 that a tie would else become.
    values = (now, now, 0 - answer.value, answer.value, ratings, answer.choice, answer.comment)
    return bool(_execute(MARK_ANSWERED, *values, ticket, judge.pk).rowcount)


def count_answered(judge: Judge) -> tuple[int, int]:
    """Return how many items a judge has answered, in all visits and in the current one."""
    in_all, here = _execute(COUNT_ANSWERED, judge.visit_id, judge.pk).fetchone()
    return int(in_all), int(here)


def find_given(judge: Judge) -> Assignment | None:
    """Return the open assignment of a judge; an undone one comes first."""
    return _read_assignment(judge, _execute(FIND_GIVEN, judge.pk).fetchone())


def find_free(judge: Judge) -> Assignment | None:
    """Return the next free slot of an item that the judge has not seen."""
    statement = _locking(FIND_FREE, "FOR UPDATE OF a SKIP LOCKED")
    return _read_assignment(judge, _execute(statement, judge.study_id, judge.pk).fetchone())


def _read_assignment(judge: Judge, row: Any) -> Assignment | None:
    if row is None:
        return None
    key, ticket, item, swapped, sentence, content, training = row
    found = Assignment(id=key, study=judge.study, swapped=bool(swapped), sentence=sentence)
    found.ticket = ticket
    found.item = Item(id=item, study=judge.study, content=json.loads(content))
    found.item.training = bool(training)
    return found


def give(assignment: Assignment, judge: Judge, *, swapped: bool) -> Assignment:
    """Give a free slot to a judge."""
    assignment.swapped, assignment.ticket = swapped, draw_ticket()
    values = (judge.pk, judge.visit_id, _now(), swapped, assignment.ticket, assignment.pk)
    _execute(GIVE, *values)
    return assignment
