"""Accepting a submission: its file and the team's limits are checked, then it is stored."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from datetime import timezone as zones

from django.db import transaction
from django.utils import timezone
from django.utils.formats import date_format

from cidery.errors import InputError
from cidery_server.challenges.models import (
    Challenge,
    Submission,
    may_submit,
    pack_json,
    team_of,
)
from cidery_server.challenges.runs import check_first
from cidery_server.challenges.tasks import queue_scoring
from cidery_server.challenges.uploads import read_captions
from cidery_server.web.models import Account
from cidery_server.web.translation import translate as _


def submit(
    account: Account,
    challenge: Challenge,
    title: str,
    content: bytes,
    *,
    private: bool = False,
    run_of: int | None = None,
) -> Submission:
    """Check the file that an account sends for its team, store and queue its captions.

    Args:
        account: who sends it.
        challenge: challenge or phase.
        title: title of the submission.
        content: the file.
        private: keep it off the leaderboard.
        run_of: number of the team's submission of which it is another run.

    Raises:
        InputError: what is wrong with the file, or which limit is reached.
        RunError: it cannot be a run of that submission.
    """
    _check_limits(account, challenge)  # before the work of reading
    captions = read_captions(content, challenge.images)
    with transaction.atomic():
        # Of several at once, of the team or the account, the limits see one after the other.
        sides = {account.pk, team_of(account).pk}
        locked = Account.objects.select_for_update().filter(pk__in=sides).order_by("pk")
        account = next(one for one in locked if one.pk == account.pk)
        if team_of(account).pk not in sides:
            raise InputError(_("You have joined another team in the meantime; submit again."))
        _check_limits(account, challenge)
        team = team_of(account)
        first = None if run_of is None else check_first(run_of, team.pk, challenge.pk)
        submission = Submission.objects.create(
            challenge=challenge,
            team=team,
            author=account,
            title=title,
            packed_captions=pack_json(captions),
            is_private=private,
            run_of=first,
        )
        queue_scoring(submission)
    return submission


def _check_limits(account: Account, challenge: Challenge) -> None:
    now = timezone.now()
    if not may_submit(account):
        raise InputError(
            _("You may not submit for your team, {name}.").format(name=team_of(account).name)
        )
    if not team_of(account).is_active:
        raise InputError(_("Your team is suspended: ask the organizers."))
    if challenge.opens is not None and now < challenge.opens:
        raise InputError(
            _("The challenge opens on {when} UTC.").format(when=_write_date(challenge.opens))
        )
    if challenge.closes is not None and now >= challenge.closes:
        raise InputError(
            _("The challenge closed on {when} UTC.").format(when=_write_date(challenge.closes))
        )
    if not challenge.admits(account):
        raise InputError(
            _("Your team may not submit to this challenge yet: ask the organizers on its page.")
        )
    waiting = Submission.objects.counted(account, challenge.family)
    if waiting.filter(probe=Submission.Probe.WITHHELD).exists():
        raise InputError(
            _(
                "An earlier submission of your team differs from another one on few images,"
                " or scores 0 on most. The organizers must review it before you can submit "
                "again."
            )
        )
    quota = find_quota(account, challenge)
    if not quota.left:
        used = _("Your team has used all its {count} submissions.").format(count=quota.in_all)
        raise InputError(used + _describe_shared(quota))
    if not quota.left_today:
        tomorrow = _write_date(_start_of_day(now) + timedelta(days=1), "MONTH_DAY_FORMAT")
        used = _(
            "Your team has used its {count} submissions of today; the next is possible from "
            "{day} 00:00 UTC."
        ).format(count=quota.per_day, day=tomorrow)
        raise InputError(used + _describe_shared(quota))


def _write_date(moment: datetime, format: str = "DATETIME_FORMAT") -> str:
    return date_format(moment.astimezone(zones.utc), format)


def _describe_shared(quota: Quota) -> str:
    if not quota.shared_with:
        return ""
    message = _("Submissions to {phases} count too.").format(phases=quota.shared_with)
    return f" {message}"


@dataclass(frozen=True)
class Quota:
    """Limits of a team, and the number of submissions left."""

    per_day: int
    in_all: int
    left_today: int
    left: int
    shared_with: str = ""
    """Phases that share references; their submissions count."""


def find_quota(account: Account, challenge: Challenge) -> Quota:
    """Return the remaining quota of an account for its team.

    What it has submitted for other teams counts for it, so that no one has the submissions of
    several. Phases that have references in common count together, up to the largest of their
    limits: what one phase alone would allow.
    """
    phases = [challenge, *challenge.sharing.order_by("pk")]
    today = _start_of_day(timezone.now())
    counted = Submission.objects.counted(account, phases)
    made = list(counted.values_list("challenge", "created", "team", "author"))
    sides = (
        [(number, when) for number, when, team, _ in made if team == team_of(account).pk],
        [(number, when) for number, when, _, author in made if author == account.pk],
    )
    left_today, left = 10**9, 10**9
    for side in sides:
        for limits, times in (
            ([challenge], [when for number, when in side if number == challenge.pk]),
            (phases, [when for _number, when in side]),
        ):
            used = sum(when >= today for when in times)
            left_today = min(left_today, max(one.per_day for one in limits) - used)
            left = min(left, max(one.in_all for one in limits) - len(times))
    return Quota(
        challenge.per_day,
        challenge.in_all,
        max(0, min(left_today, left)),
        max(0, left),
        ", ".join(phase.phase for phase in phases[1:]),
    )


def _start_of_day(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)
