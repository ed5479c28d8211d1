"""Quality rules: answers that do not count, and warnings for the owner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import timedelta
from statistics import median

from django.db import transaction
from django.db.models import F, QuerySet

from cidery_server.studies.models import Assignment, Judge, Study
from cidery_server.studies.moderation import exclude_judge, restore_judge
from cidery_server.studies.slots import ANSWERED, free_slots
from cidery_server.web.templatetags.words import written
from cidery_server.web.translation import translate as _

FAST_MEDIAN_SECONDS = 1.0
"""Minimum plausible median time per answer, in seconds."""
FEW_ANSWERS = 5
MANY_ANSWERS = 20
SAME_SHARE = 0.95
"""Share from which identical answers are suspicious."""
BY_RULE = "by rule: "
"""Prefix of reasons of automatic exclusions."""


def find_flags(
    seconds: Sequence[float], right: int, checks: int, answers: Sequence[float], fast: int
) -> Iterator[str]:
    """Yield flags for suspicious answers of one judge.

    Args:
        seconds: that each answer took.
        right: attention checks answered right.
        checks: attention checks answered.
        answers: as the judge's buttons showed them: ratings, or 1 and -1 for the two sides.
        fast: answers that were too fast to count.
    """
    if len(seconds) >= FEW_ANSWERS and (usual := median(seconds)) < FAST_MEDIAN_SECONDS:
        yield _("median {seconds} s").format(seconds=written(f"{usual:.1f}"))
    if fast:
        yield _("{count} too fast").format(count=fast)
    if checks >= 2 and right < checks / 2:
        yield _("{right} of {count} checks right").format(right=right, count=checks)
    if len(answers) >= MANY_ANSWERS:
        ((_answer, most),) = Counter(answers).most_common(1)
        if most >= SAME_SHARE * len(answers):
            yield _("always the same answer")


def apply_to_answer(judge: Judge, ticket: int) -> None:
    """Apply a study's rules to the answer that a judge has just given; inside a transaction."""
    study = judge.study
    if study.fewest_seconds:
        given = judge.assignments.filter(ticket=ticket, state=ANSWERED)
        _leave_out_fast(list(_find_fast(study, given)))
    if study.fewest_checks_right is not None and not judge.excluded:
        _exclude_by_checks(judge)


def apply_to_study(study: Study) -> None:
    """Apply a study's rules to all its answers, after the rules have changed."""
    with transaction.atomic():
        given = Assignment.objects.filter(study=study, state=ANSWERED, item__known_answer=None)
        fast = {one.pk: one for one in _find_fast(study, given)} if study.fewest_seconds else {}
        slow = given.filter(too_fast=True).exclude(pk__in=fast)
        slow.update(too_fast=False)
        _leave_out_fast([one for one in fast.values() if not one.too_fast])
        for judge in study.judges.all():
            if judge.excluded and judge.reason.startswith(BY_RULE):
                restore_judge(judge.pk)
                judge.refresh_from_db()
            if study.fewest_checks_right is not None and not judge.excluded:
                judge.study = study
                _exclude_by_checks(judge)


def _find_fast(study: Study, given: QuerySet[Assignment]) -> QuerySet[Assignment]:
    fewest = timedelta(seconds=study.fewest_seconds or 0)
    found = given.filter(item__known_answer=None, answered__lt=F("given") + fewest)
    return found.select_for_update(of=("self",))


def _leave_out_fast(fast: list[Assignment]) -> None:
    Assignment.objects.filter(pk__in=[one.pk for one in fast]).update(too_fast=True)
    free_slots(fast)


def _exclude_by_checks(judge: Judge) -> None:
    study = judge.study
    checks = judge.assignments.filter(
        state=ANSWERED, item__known_answer__isnull=False, item__training=False
    )
    right, count = checks.filter(value=F("item__known_answer")).count(), checks.count()
    if count >= study.checks_before and right < (study.fewest_checks_right or 0) * count:
        exclude_judge(judge.pk, f"{BY_RULE}{right} of {count} checks right")
        judge.excluded = True
