"""Decisions of the owner: excluded judges, accepted sentences, state of the study."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from cidery.errors import SettingError
from cidery_server.studies.models import Assignment, Study
from cidery_server.studies.queries import lock_judge
from cidery_server.studies.slots import ANSWERED, FREE, free_slots
from cidery_server.web.translation import translate as _


def exclude_judge(judge_key: int, reason: str = "") -> None:
    """Exclude a judge: their answers do not count, and their slots are given to others."""
    with transaction.atomic():
        judge = lock_judge(judge_key)
        judge.excluded, judge.reason = True, reason
        judge.save(update_fields=["excluded", "reason"])
        free_slots(judge.assignments.filter(slot__isnull=False).select_for_update())


def restore_judge(judge_key: int) -> None:
    """Count a judge's answers again; they get back slots that are still free."""
    with transaction.atomic():
        judge = lock_judge(judge_key)
        judge.excluded, judge.reason = False, ""
        judge.save(update_fields=["excluded", "reason"])
        mine = {
            one.item_id: one
            for one in judge.assignments.filter(
                state=ANSWERED, slot=None, pilot=False, too_fast=False, item__known_answer=None
            ).exclude(review=Assignment.Review.REJECTED)
        }
        free = Assignment.objects.filter(study=judge.study, state=FREE, item__in=mine.keys())
        for slot in free.select_for_update(skip_locked=True, of=("self",)):
            one = mine.pop(slot.item_id, None)
            if one is not None:
                slot.delete()
                one.slot = slot.slot
                one.save(update_fields=["slot"])


def review_sentence(assignment_key: int, *, accept: bool, reason: str = "") -> None:
    """Accept a collected sentence, or reject it and ask another person for one."""
    with transaction.atomic():
        one = Assignment.objects.select_for_update().get(
            pk=assignment_key, review=Assignment.Review.PENDING
        )
        one.review = Assignment.Review.ACCEPTED if accept else Assignment.Review.REJECTED
        one.reason = reason
        one.save(update_fields=["review", "reason"])
        if not accept:
            free_slots([one])


def set_state(study: Study, state: Study.State) -> None:
    """Open or close a study, or start a pilot.

    What was answered in a pilot stays, but counts no longer when it ends; others are asked instead.
    """
    with transaction.atomic():
        answers = Assignment.objects.filter(study=study, state=ANSWERED, pilot=False)
        if study.state == Study.State.PILOT and state != Study.State.PILOT:
            tried = list(answers.select_for_update())
            free_slots(tried)
            Assignment.objects.filter(pk__in=[one.pk for one in tried]).update(pilot=True)
        elif state == Study.State.PILOT and study.state != state and answers.exists():
            raise SettingError(
                _("a pilot comes before the first answer that counts; copy the study")
            )
        if study.state == Study.State.DECIDED and state == Study.State.OPEN:
            study.stop_when_decided = False  # it is decided: it would close again
            study.revision += 1
        study.state = state
        over = state in (Study.State.DECIDED, Study.State.CLOSED)
        study.closed = (study.closed or timezone.now()) if over else None
        study.save(update_fields=["state", "closed", "stop_when_decided", "revision"])
