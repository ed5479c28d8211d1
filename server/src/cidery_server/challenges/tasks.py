"""Background jobs; each reads its task from the database."""

from __future__ import annotations

from django.conf import settings
from django.core.cache import cache
from django.db import transaction
from django.db.models import F, Q
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import override

from cidery_server.challenges.models import Announcement, Challenge, Participation, Submission
from cidery_server.challenges.ranking import compare_with_best, find_difference, pair_scores
from cidery_server.challenges.scorer_cache import ScorerCache
from cidery_server.challenges.scoring import (
    fail_crashing_submissions,
    find_waiting,
    score_submission,
)
from cidery_server.web.mail import address_of, send
from cidery_server.web.models import Account
from cidery_server.web.queue import queue, sweep

SCORERS = ScorerCache()
"""Scorers of this worker, whose jobs run one after the other."""


@queue.task()  # type: ignore[untyped-decorator]  # Huey has no types
def score(submission: int) -> None:
    """Score a submission, then compare it with the best."""
    score_submission(submission, SCORERS)
    waiting = Submission.objects.filter(
        challenge__submissions=submission,
        state__in=(Submission.State.QUEUED, Submission.State.SCORING),
    )
    # The last of a burst compares for all.
    if not waiting.exists():
        for challenge in Challenge.objects.filter(submissions=submission):
            compare_with_best(challenge)


@queue.task()  # type: ignore[untyped-decorator]
def compare_two(first: int, second: int) -> None:
    """Test two submissions against each other in every column."""
    numbers = {s.pk: s for s in Submission.objects.filter(pk__in=(first, second))}
    if len(numbers) == 2:  # a challenge may have been deleted meanwhile
        for one, other in pair_scores(numbers[first], numbers[second]):
            find_difference(one, other)


def is_being_compared(first: Submission, second: Submission) -> bool:
    """Return True if it was requested recently."""
    return cache.get(_comparison_key(first, second)) is not None


def ask_to_compare(first: Submission, second: Submission) -> None:
    """Queue a comparison of two submissions, unless it was requested recently."""
    if cache.add(_comparison_key(first, second), True, timeout=settings.LEASE_SECONDS):
        compare_two(first.pk, second.pk)


def _comparison_key(first: Submission, second: Submission) -> str:
    one, other = sorted((first.pk, second.pk))
    return f"compare-{one}-{other}"


def queue_scoring(submission: Submission) -> None:
    """Queue a submission once the transaction that stores it is committed."""
    transaction.on_commit(lambda: score(submission.pk), robust=True)


@queue.task()  # type: ignore[untyped-decorator]
def mail_announcement(announcement: int) -> None:
    """Mail an announcement to the teams that take part."""
    for found in Announcement.objects.filter(pk=announcement).select_related("challenge"):
        path = reverse("announcements", kwargs={"challenge": found.challenge.slug})
        for address in list_addresses(found.challenge):
            send(address, f"{found.challenge.title}: {found.title}", found.text, path)


@queue.task()  # type: ignore[untyped-decorator]
def mail_decision(participation: int) -> None:
    """Mail a team that the owner has decided on it."""
    for found in Participation.objects.filter(pk=participation).select_related("challenge", "team"):
        approved = found.state == Participation.State.APPROVED
        with override(found.team.language or settings.LANGUAGE_CODE):
            text = _("Your team may submit now.") if approved else _("Your team may not submit.")
        for address in address_of(found.team):
            send(address, found.challenge.title, text, found.challenge.get_absolute_url())


def list_addresses(challenge: Challenge) -> list[str]:
    """Return the addresses of the teams that take part, members included; each once."""
    approved = challenge.teams.filter(state=Participation.State.APPROVED)
    submitted = Submission.objects.filter(challenge__in=challenge.family)
    teams = {*approved.values_list("team", flat=True), *submitted.values_list("team", flat=True)}
    refused = challenge.teams.filter(state=Participation.State.REFUSED)
    teams -= set(refused.values_list("team", flat=True))
    people = Account.objects.filter(Q(pk__in=teams) | Q(membership__team__in=teams))
    active = people.filter(is_active=True).order_by("pk")
    return list(dict.fromkeys(a for account in active for a in address_of(account)))


@sweep
def sweep_submissions() -> None:
    """Queue lost jobs again; mark submissions that kill workers as failed."""
    fail_crashing_submissions()
    for number in find_waiting():
        score(number)


@sweep
def sweep_challenges() -> None:
    """Queue the comparisons of challenges whose scores have changed."""
    for challenge in Challenge.objects.filter(compared_version__lt=F("scored_version")):
        compare(challenge.pk)


@queue.task()  # type: ignore[untyped-decorator]
def compare(challenge: int) -> None:
    """Test a challenge's best submissions against the others."""
    for found in Challenge.objects.filter(pk=challenge, compared_version__lt=F("scored_version")):
        compare_with_best(found)
