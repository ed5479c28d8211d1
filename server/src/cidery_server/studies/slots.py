"""Slots of items: freed after a timeout, freed for others, counted."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from django.db import transaction
from django.db.models import Count
from django.utils import timezone

from cidery_server.studies.models import Assignment, Study

FREE, GIVEN, ANSWERED = (
    Assignment.State.FREE,
    Assignment.State.GIVEN,
    Assignment.State.ANSWERED,
)
RETURNED_AT_ONCE = 100
"""Maximum number of overdue slots that one judge's request returns, so that it stays fast."""


def return_overdue(study: Study) -> int:
    """Free the slots whose time has run out, and return their number."""
    latest = timezone.now() - timedelta(minutes=study.timeout_minutes)
    with transaction.atomic():
        overdue = list(
            Assignment.objects.filter(
                study=study, state=GIVEN, slot__isnull=False, given__lt=latest
            ).select_for_update(skip_locked=True)[:RETURNED_AT_ONCE]
        )
        free_slots(overdue)
    return len(overdue)


def free_slots(assignments: Iterable[Assignment]) -> None:
    """Free the slots of these assignments for others; their judges do not see the items again."""
    left = [assignment for assignment in assignments if assignment.slot is not None]
    free = [
        Assignment(study_id=one.study_id, item_id=one.item_id, slot=one.slot, order=one.order)
        for one in left
    ]
    for one in left:
        one.slot = None
        if one.state == GIVEN:
            one.state = Assignment.State.RETURNED
    Assignment.objects.bulk_update(left, ["slot", "state"], batch_size=500)
    Assignment.objects.bulk_create(free, batch_size=500)


def count_slots(study: Study) -> dict[str, int]:
    """Return how many slots are free, given and answered."""
    counts = dict(
        Assignment.objects.filter(study=study, slot__isnull=False)
        .values_list("state")
        .annotate(count=Count("pk"))
    )
    return {state: counts.get(state, 0) for state in (FREE, GIVEN, ANSWERED)}
