"""Pages of submissions: sending one, its progress and its scores."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponseBase
from django.shortcuts import get_object_or_404
from rest_framework import serializers, status
from rest_framework.exceptions import NotFound, PermissionDenied

from cidery.errors import InputError
from cidery.scoring import pool_counted
from cidery.statistics import Floats
from cidery_server.challenges.forms import ImagesQuery, StandingForm, SubmissionForm
from cidery_server.challenges.models import Challenge, Submission, may_submit, team_of
from cidery_server.challenges.pages.challenges import (
    describe,
    find_participation,
    get_challenge,
    quota_for,
)
from cidery_server.challenges.ranking import find_best, list_scores
from cidery_server.challenges.runs import RunError
from cidery_server.challenges.serializers import (
    ChallengePageData,
    ImageScoresData,
    SubmissionData,
    SubmissionPageData,
    SubmissionsData,
)
from cidery_server.challenges.submission_actions import STANDINGS, change_standing
from cidery_server.challenges.submissions import submit
from cidery_server.web.accounts import NoFields
from cidery_server.web.limits import WriteLimit, reading_upload
from cidery_server.web.models import Account
from cidery_server.web.pages import FormPage, Page
from cidery_server.web.roles import Role
from cidery_server.web.translation import translate as _

IMAGES_PER_PAGE = 100


def get_submission(page: Page) -> Submission:
    """Return the submission of a page's address; raise a 404 error if it is not visible."""
    related = Submission.objects.select_related("challenge__phase_of", "team", "author")
    found = related.defer("packed_captions", "packed_fingerprint")
    submission = get_object_or_404(found, pk=page.kwargs["submission"])
    seen = submissions_seen_by(page.request.user, submission.challenge)
    if not seen.filter(pk=submission.pk).exists():
        raise NotFound(_("There is no such submission."))
    return submission


def submissions_seen_by(account: Any, challenge: Challenge) -> QuerySet[Submission]:
    """Return an account's own submissions to a challenge, and those that the leaderboard shows."""
    own = Submission.objects.visible_to(account).filter(challenge=challenge)
    hidden = challenge.visibility == Challenge.Visibility.HIDDEN
    if hidden or not challenge.shows_leaderboard_to(account):
        return own
    return own | Submission.objects.filter(pk__in=[first for first, *_ in find_best(challenge)])


class Submissions(FormPage):
    """Lists the account's submissions to a challenge and accepts new ones."""

    role = Role.MEMBER
    template_name = "challenges/submissions.html"
    shows = SubmissionsData
    form = SubmissionForm
    accepts = SubmissionData
    has_files = True
    throttle_classes = (WriteLimit,)
    throttle_scope = "submit"

    def show(self) -> Any:
        """Return the newest first."""
        challenge, account = get_challenge(self), self._account()
        found = Submission.objects.filter(challenge=challenge)
        found = found.select_related("team", "challenge", "author")
        found = found.defer("packed_captions", "packed_fingerprint")
        if not account.is_owner:
            found = found.of(account)
        return {
            "challenge": challenge,
            "participation": find_participation(self, challenge),
            "admitted": challenge.admits(account),
            "may_submit": may_submit(account),
            "quota": quota_for(account, challenge),
            "submissions": found.order_by("-created"),
        }

    def accept(self, values: dict[str, Any]) -> HttpResponseBase:
        """Check the file at once; scoring follows in the background."""
        challenge = get_challenge(self)
        account = self._account()
        try:
            with reading_upload(account):
                submission = submit(
                    account,
                    challenge,
                    values["title"],
                    values["file"].read(),
                    private=values["private"],
                    run_of=values["run_of"],
                )
        except RunError as error:
            raise serializers.ValidationError({"run_of": [str(error)]}) from None
        except InputError as error:
            raise serializers.ValidationError({"file": [str(error)]}) from None
        return self.done(submission, submission)

    def list_own_submissions(self) -> QuerySet[Submission]:
        """Return the team's submissions to the challenge."""
        team = team_of(self._account())
        return Submission.objects.filter(challenge=get_challenge(self), team=team)

    def _account(self) -> Account:
        account = self.request.user
        assert isinstance(account, Account)  # the role sees to it
        return account


class SubmissionPage(Page):
    """Shows a submission: its progress, then its scores."""

    role = Role.ANYONE
    template_name = "challenges/submission.html"
    shows = SubmissionPageData

    def show(self) -> Any:
        """Return the submission with its scores."""
        submission = get_submission(self)
        account = self.request.user
        scores = list_scores(submission, account)
        return {
            "submission": submission,
            "challenge_title": submission.challenge.full_title,
            "scores": [score for score in scores if not score.slice],
            "slice_scores": [score for score in scores if score.slice],
            "shows_images": shows_images(submission, account),
            "can_change": can_change(submission, account),
            "other_runs": _list_other_runs(submission, account),
            "hides_scores": not submission.shows_scores_to(account),
            "warnings": submission.warnings if is_own(submission, account) else [],
        }


def _list_other_runs(submission: Submission, account: Any) -> QuerySet[Submission]:
    mine = Submission.objects.visible_to(account).filter(run_of=submission)
    found = mine.select_related("team", "challenge", "author").order_by("pk")
    return found.defer("packed_captions", "packed_fingerprint")


def can_change(submission: Submission, account: Any) -> bool:
    """Return True if an account may rank or withdraw a submission: it may submit for the team."""
    if not submission.belongs_to(account) or submission.withdrawn:
        return False
    return may_submit(account)


class Standing(FormPage):
    """Ranks a submission, makes it private, joins it to another one as a run, or withdraws it."""

    role = Role.MEMBER
    template_name = "challenges/standing.html"
    shows = SubmissionData
    form = StandingForm
    accepts = SubmissionData
    accepted_status = status.HTTP_200_OK

    def show(self) -> Submission:
        """Return the submission, to its team."""
        submission = get_submission(self)
        if not can_change(submission, self.request.user):
            raise PermissionDenied(
                _("Only the team can change this submission, and not after it is withdrawn.")
            )
        return submission

    def accept(self, values: dict[str, Any]) -> HttpResponseBase:
        """Apply the action, under a lock."""
        try:
            change_standing(self.show(), values["action"], values["run_of"])
        except RunError as error:
            raise serializers.ValidationError({"run_of": [str(error)]}) from None
        except InputError as error:
            raise serializers.ValidationError({"action": [str(error)]}) from None
        submission = get_submission(self)
        return self.done(submission, submission, message=str(STANDINGS[values["action"]]))

    def list_own_submissions(self) -> QuerySet[Submission]:
        """Return the other submissions of its team to the challenge."""
        submission = self.show()
        mine = Submission.objects.filter(challenge=submission.challenge, team=submission.team_id)
        return mine.exclude(pk=submission.pk)


def shows_images(submission: Submission, account: Any) -> bool:
    """Return True if an account may see a submission's scores image by image."""
    if not account.is_authenticated or not submission.shows_scores_to(account):
        return False
    is_theirs = submission.belongs_to(account)
    return bool(account.is_owner or (submission.challenge.opens_images and is_theirs))


def is_own(submission: Submission, account: Any) -> bool:
    """Return True if an account is the submission's team or the owner."""
    return bool(account.is_authenticated and (account.is_owner or submission.team_id == account.pk))


def list_columns(submission: Submission) -> Iterator[tuple[str, Floats]]:
    """Yield the name of each column of scores, and every image's score."""
    metrics = submission.challenge.labeled_metrics
    found = submission.scores.filter(slice="").select_related("reference_set", "rows")
    for score in found.defer("reference_set__packed_references"):
        values = pool_counted(metrics[score.metric], score.rows.array)
        yield f"{score.reference_set.name}.{score.metric}", values


class ImageScores(Page):
    """Shows a submission's scores image by image, if the owner has published them."""

    role = Role.MEMBER
    template_name = "challenges/image_scores.html"
    shows = ImageScoresData
    queries = ImagesQuery

    def show(self) -> Any:
        """Return the scores of a page of images."""
        submission = get_submission(self)
        if not shows_images(submission, self.request.user):
            raise PermissionDenied(_("Scores of single images are not available."))
        images = submission.challenge.images
        pages = -(-len(images) // IMAGES_PER_PAGE)
        number = self.read_query()["page"]
        if number > pages:
            raise NotFound(_("The page number must be between 1 and {pages}.").format(pages=pages))
        chosen = slice((number - 1) * IMAGES_PER_PAGE, number * IMAGES_PER_PAGE)
        columns = {name: values[chosen].tolist() for name, values in list_columns(submission)}
        rows = zip(images[chosen], *columns.values(), strict=True)
        return {
            "submission": submission,
            "columns": list(columns),
            "images": [{"image": image, "values": values} for image, *values in rows],
            "page": number,
            "pages": pages,
        }


class TakePart(FormPage):
    """Requests approval of a team for a challenge."""

    role = Role.MEMBER
    template_name = "challenges/take_part.html"
    shows = ChallengePageData
    form = NoFields
    throttle_classes = (WriteLimit,)
    throttle_scope = "submit"

    def show(self) -> Any:
        """Return the challenge."""
        return describe(self, get_challenge(self))

    def accept(self, values: dict[str, Any]) -> HttpResponseBase:  # noqa: ARG002
        """Store the request, once."""
        challenge = get_challenge(self)
        account = self.request.user
        assert isinstance(account, Account)  # the role sees to it
        challenge.main.teams.get_or_create(team=team_of(account))
        message = _("Your request has been sent to the organizers.")
        return self.done(challenge, message=message)
