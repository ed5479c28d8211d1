"""Judges who leave: stopping keeps their answers, withdrawing erases all their data."""

from __future__ import annotations

from django.db.models import F
from django.utils import timezone

from cidery.errors import InputError
from cidery_server.studies.models import Assignment, Judge, Study, Visit
from cidery_server.studies.queries import lock_judge
from cidery_server.studies.slots import free_slots
from cidery_server.web.translation import translate as _
from cidery_server.web.write_lock import writing


def stop_visit(judge_key: int) -> None:
    """End a judge's visit; their answers stay, and open items are given to others."""
    with writing():
        judge = lock_judge(judge_key)
        open_ones = judge.assignments.filter(state=Assignment.State.GIVEN)
        free_slots(open_ones.filter(slot__isnull=False).select_for_update())
        open_ones.update(state=Assignment.State.RETURNED)
        Visit.objects.filter(pk=judge.visit_id or 0).update(stopped=timezone.now())


def go_on(judge_key: int) -> None:
    """Take a stop back."""
    with writing():
        judge = lock_judge(judge_key)
        Visit.objects.filter(pk=judge.visit_id or 0).update(stopped=None)


def forget_judge(judge_key: int) -> None:
    """Erase a judge with all their data; their items are given to other judges."""
    with writing():
        judge = lock_judge(judge_key)
        free_slots(judge.assignments.filter(slot__isnull=False).select_for_update())
        Study.objects.filter(pk=judge.study_id).update(withdrawn=F("withdrawn") + 1)
        Judge.objects.filter(pk=judge.pk).delete()


def find_judge(study: Study, worker: str) -> Judge:
    """Return a judge by the name in exports; raise an error if there is none."""
    found = study.judges.filter(worker=worker).first()
    if found is None:
        raise InputError(
            _("{name} has no judge {worker!r}; the export lists all judges").format(
                name=study.name, worker=worker
            )
        )
    return found
