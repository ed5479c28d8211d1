"""Management of challenges, for pages and commands of the owner."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import Count
from django.utils import timezone

from cidery.errors import SettingError
from cidery_server.challenges.models import Challenge, Participation, Submission
from cidery_server.challenges.ranking import list_records, rank
from cidery_server.challenges.scoring import count_change
from cidery_server.challenges.tasks import mail_decision, queue_scoring
from cidery_server.web.models import Account
from cidery_server.web.names import normalize_name
from cidery_server.web.translation import translate as _


def find_challenge(slug: str) -> Challenge:
    """Return a challenge by its slug."""
    found = Challenge.objects.filter(slug=slug).first()
    if found is None:
        known = ", ".join(Challenge.objects.values_list("slug", flat=True)) or "none"
        raise SettingError(f"unknown challenge {slug!r}; known: {known}")
    return found


def list_challenges() -> list[list[Any]]:
    """Return the cells of a table, a row per challenge, the newest first."""
    lines = []
    for challenge in Challenge.objects.order_by("-created"):
        teams = challenge.submissions.values("team").distinct().count()
        opened = "yes" if challenge.is_open else "no"
        counts = [teams, challenge.submissions.count()]
        lines.append([challenge.slug, challenge.full_title, opened, challenge.visibility, *counts])
    return lines


def open_image_scores(challenge: Challenge) -> None:
    """Let teams see their own scores image by image."""
    challenge.image_scores_open = True
    challenge.save(update_fields=["image_scores_open"])


def list_teams(challenge: Challenge) -> list[list[Any]]:
    """Return the cells of a table, a row per team that participates or has requested approval."""
    found = challenge.main.teams.select_related("team")
    made = Submission.objects.filter(challenge__in=challenge.family)
    counts = dict(made.values_list("team").annotate(count=Count("pk")))
    return [[one.team.name, one.state, counts.get(one.team_id, 0)] for one in found]


def decide_on_team(challenge: Challenge, name: str, *, approve: bool) -> None:
    """Let a team submit to a challenge, even without a request, or refuse it."""
    team = Account.objects.filter(name__iexact=normalize_name(name)).first()
    if team is None:
        raise SettingError(_("there is no team {name!r}; it must sign up first").format(name=name))
    state = Participation.State.APPROVED if approve else Participation.State.REFUSED
    before = challenge.main.teams.filter(team=team, state=state).exists()
    made, _is_new = Participation.objects.update_or_create(
        challenge=challenge.main, team=team, defaults={"state": state}
    )
    if not before:
        transaction.on_commit(lambda: mail_decision(made.pk), robust=True)


def decide_on_probe(submission: Submission, *, release: bool) -> None:
    """Show the scores of a submission that looks like a probe, or keep them hidden."""
    submission.probe = Submission.Probe.RELEASED if release else Submission.Probe.KEPT
    submission.save(update_fields=["probe"])
    count_change(submission.challenge)


def close_challenge(challenge: Challenge) -> None:
    """Close the challenge to submissions."""
    challenge.closes = timezone.now()
    challenge.save(update_fields=["closes"])


def rescore_challenge(challenge: Challenge) -> int:
    """Queue every submission again, and return their number; old scores are shown until then."""
    with transaction.atomic():
        submissions = list(challenge.submissions.defer("packed_captions", "packed_fingerprint"))
        for submission in submissions:
            queue_scoring(submission)
        challenge.submissions.update(
            state=Submission.State.QUEUED,
            claim=None,
            lease_until=None,
            queued=timezone.now(),
            attempts=0,
            steps_done=0,
        )
    return len(submissions)


def export_leaderboard(challenge: Challenge, slice: str = "") -> list[dict[str, Any]]:
    """Return a record per team, with all digits, for all images or one slice."""
    return list_records(rank(challenge, slice=slice))
