"""Accepting a submission: its file and the team's limits are checked, then it is stored."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from cidery.app.challenges.models import Challenge, Submission, pack_json
from cidery.app.challenges.tasks import queue_scoring
from cidery.app.challenges.uploads import read_captions
from cidery.app.web.models import Account
from cidery.errors import InputError


def submit(team: Account, challenge: Challenge, title: str, content: bytes) -> Submission:
    """Check a team's file, store its captions and have them scored.

    Raises:
        InputError: what is wrong with the file, or which limit is reached.
    """
    _check_limits(team, challenge)  # before the work of reading
    captions = read_captions(content, challenge.images)
    with transaction.atomic():
        # Of several at once the limits see one after the other.
        Account.objects.select_for_update().get(pk=team.pk)
        _check_limits(team, challenge)
        submission = Submission.objects.create(
            challenge=challenge, team=team, title=title, packed_captions=pack_json(captions)
        )
        queue_scoring(submission)
    return submission


def _check_limits(team: Account, challenge: Challenge) -> None:
    now = timezone.now()
    if challenge.opens is not None and now < challenge.opens:
        raise InputError(f"The challenge opens on {challenge.opens:%d %B %Y at %H:%M} UTC.")
    if challenge.closes is not None and now >= challenge.closes:
        raise InputError(f"The challenge closed on {challenge.closes:%d %B %Y at %H:%M} UTC.")
    if not challenge.admits(team):
        raise InputError(
            "Your team may not submit to this challenge yet: ask the organisers on its page."
        )
    counted = Submission.objects.counted(team, challenge)
    if counted.filter(probe=Submission.Probe.WITHHELD).exists():
        raise InputError(
            "An earlier submission of your team differs from another one on few images, or scores "
            "nothing on most. The organisers must look at it before you can submit again."
        )
    if counted.count() >= challenge.in_all:
        raise InputError(f"Your team has used all its {challenge.in_all} submissions.")
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if counted.filter(created__gte=today).count() >= challenge.per_day:
        tomorrow = today + timedelta(days=1)
        raise InputError(
            f"Your team has used its {challenge.per_day} submissions of today; "
            f"the next is possible from {tomorrow:%d %B} 00:00 UTC."
        )
