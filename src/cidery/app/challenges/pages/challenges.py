"""Pages of challenges: the list, a challenge with its leaderboard, and its images."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from rest_framework.exceptions import ParseError

from cidery.app.challenges.forms import LeaderboardQuery
from cidery.app.challenges.models import Challenge
from cidery.app.challenges.ranking import Leaderboard, rank
from cidery.app.challenges.serializers import ChallengePageData, ChallengesData, ImagesData
from cidery.app.web.pages import Page
from cidery.app.web.roles import Role
from cidery.errors import SettingError


def get_challenge(page: Page) -> Challenge:
    """Return the challenge of a page's address; hidden ones do not exist."""
    visible = Challenge.objects.visible_to(page.request.user)
    return get_object_or_404(visible, slug=page.kwargs["challenge"])


def find_participation(page: Page, challenge: Challenge) -> str:
    """Return what the owner has decided on the team that asks; nothing before it has asked."""
    account = page.request.user
    found = challenge.teams.filter(team=account.pk).first() if account.is_authenticated else None
    return found.state if found else ""


class Challenges(Page):
    """Lists challenges."""

    role = Role.ANYONE
    template_name = "challenges/challenges.html"
    shows = ChallengesData

    def show(self) -> Any:
        """Return the newest first."""
        listed = Challenge.objects.listed_for(self.request.user).defer(
            "packed_images", "packed_slices"
        )
        return {"challenges": listed.order_by("-created")}


class ChallengePage(Page):
    """Shows a challenge and its leaderboard."""

    role = Role.ANYONE
    template_name = "challenges/challenge.html"
    shows = ChallengePageData
    queries = LeaderboardQuery

    def show(self) -> Any:
        """Return the rules and, where it is open, the leaderboard."""
        challenge = get_challenge(self)
        shown = challenge.shows_leaderboard_to(self.request.user)
        leaderboard = self._show_leaderboard(challenge) if shown else None
        return {
            "challenge": challenge,
            "participation": find_participation(self, challenge),
            "leaderboard": leaderboard,
        }

    def _show_leaderboard(self, challenge: Challenge) -> dict[str, Any]:
        query = self.read_query()
        name, _, metric = query.get("sort", "").partition(".")
        descending = query["order"] == "desc"
        try:
            sort = (name, metric) if name else None
            found = rank(
                challenge,
                sort,
                descending=descending,
                slice=query["slice"],
                account=self.request.user,
            )
        except SettingError as error:
            raise ParseError(str(error)) from None
        return describe_leaderboard(found)


def describe_leaderboard(leaderboard: Leaderboard) -> dict[str, Any]:
    """Return a leaderboard in the shape of its data."""
    return {
        "columns": [
            {"reference_set": name, "metric": metric, "key": f"{name}.{metric}"}
            for name, metric in leaderboard.columns
        ],
        "sort": ".".join(leaderboard.sort),
        "descending": leaderboard.descending,
        "slice": leaderboard.slice,
        "precision": leaderboard.precision,
        "entries": leaderboard.entries,
    }


class ChallengeImages(Page):
    """Lists the ids of the images that a submission must describe."""

    role = Role.ANYONE
    template_name = "challenges/images.html"
    shows = ImagesData

    def show(self) -> Any:
        """Return the ids, as the references have them."""
        return {"images": get_challenge(self).images}
