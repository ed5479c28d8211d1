"""The explorer of a submission: captions and scores image by image, beside another submission."""

from __future__ import annotations

from typing import Any

from rest_framework.exceptions import NotFound, PermissionDenied

from cidery.reports import list_numbers
from cidery_server.challenges.forms import ExploreQuery
from cidery_server.challenges.models import Submission
from cidery_server.challenges.pages.submissions import (
    get_submission,
    list_columns,
    shows_images,
)
from cidery_server.challenges.serializers import ExploreData
from cidery_server.web.pages import Page
from cidery_server.web.roles import Role
from cidery_server.web.translation import translate as _


class Explore(Page):
    """Shows captions and scores image by image, if the owner has published them.

    Captions are for the team that sent them. References stay hidden, and so does what each word
    earned, which would tell them.
    """

    role = Role.MEMBER
    template_name = "challenges/explore.html"
    shows = ExploreData
    queries = ExploreQuery

    def show(self) -> Any:
        """Return the columns to a program; the HTML page loads them later."""
        submission = get_submission(self)
        if not shows_images(submission, self.request.user):
            raise PermissionDenied(_("Scores of single images are not available."))
        others = self._list_others(submission)
        number = self.read_query().get("other")
        other = next((found for found in others if found.pk == number), None)
        if number is not None and other is None:
            raise NotFound(_("There is no such submission to compare with."))
        shown = [submission] if other is None else [submission, other]
        return {
            "submission": submission,
            "others": others,
            "other": other,
            "content": None if self.is_html else self._describe(shown),
        }

    def _list_others(self, submission: Submission) -> list[Submission]:
        """Return the other scored submissions whose images one may see, the newest first."""
        visible = Submission.objects.visible_to(self.request.user).filter(
            challenge=submission.challenge, state=Submission.State.SCORED
        )
        found = visible.exclude(pk=submission.pk).select_related("challenge", "team", "author")
        ordered = found.defer("packed_captions").order_by("-created")
        return [one for one in ordered if shows_images(one, self.request.user)]

    def _describe(self, submissions: list[Submission]) -> dict[str, Any]:
        challenge = submissions[0].challenge
        slices = challenge.slices
        systems = {
            _name(one, submissions): {
                **({"captions": one.captions} if one.belongs_to(self.request.user) else {}),
                "scores": {name: list_numbers(values) for name, values in list_columns(one)},
            }
            for one in submissions
        }
        return {
            "images": challenge.images,
            "names": list(systems),
            "systems": systems,
            "slices": slices
            and {
                "by": slices.by,
                "members": {name: found.tolist() for name, found in slices.members.items()},
            },
        }


def _name(submission: Submission, shown: list[Submission]) -> str:
    same = sum(one.title == submission.title for one in shown) > 1
    return f"{submission.title} ({submission.pk})" if same else submission.title
