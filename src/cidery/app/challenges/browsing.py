"""Pages of challenges: the list, a challenge with its leaderboard, and the owner's forms."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponseBase
from django.shortcuts import get_object_or_404
from rest_framework import serializers, status
from rest_framework.exceptions import ParseError

from cidery.app.challenges.data import ChallengeData, ChallengePageData, ChallengesData, ImagesData
from cidery.app.challenges.forms import LeaderboardQuery, NewChallengeForm, SettingsForm
from cidery.app.challenges.models import Challenge
from cidery.app.challenges.owning import References, create_challenge, rescore_challenge
from cidery.app.challenges.ranking import Leaderboard, rank
from cidery.app.web.accounts import NoFields
from cidery.app.web.pages import FormPage, Page
from cidery.app.web.roles import Role
from cidery.captions.formats import read_references
from cidery.errors import CideryError, SettingError


def get_challenge(page: Page) -> Challenge:
    """Return the challenge of a page's address; hidden ones do not exist."""
    visible = Challenge.objects.visible_to(page.request.user)
    return get_object_or_404(visible, slug=page.kwargs["challenge"])


class Challenges(Page):
    """Lists challenges."""

    role = Role.ANYONE
    template_name = "challenges/challenges.html"
    shows = ChallengesData

    def show(self) -> Any:
        """Return the newest first."""
        listed = Challenge.objects.listed_for(self.request.user).defer("packed_images")
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
        return {"challenge": challenge, "leaderboard": leaderboard}

    def _show_leaderboard(self, challenge: Challenge) -> dict[str, Any]:
        query = self.read_query()
        name, _, metric = query.get("sort", "").partition(".")
        descending = query["order"] == "desc"
        try:
            found = rank(challenge, (name, metric) if name else None, descending=descending)
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


class NewChallenge(FormPage):
    """Makes a challenge from a form and files of references."""

    role = Role.OWNER
    template_name = "challenges/new_challenge.html"
    shows = NoFields
    form = NewChallengeForm
    accepts = ChallengeData
    has_files = True

    def show(self) -> Any:
        """Show nothing but the form."""
        return {}

    def accept(self, values: dict[str, Any]) -> HttpResponseBase:
        """Read the references and store the challenge."""
        sets: dict[str, References] = {}
        for field in ("references", "more_references"):
            file, name = values.pop(field, None), values.pop(f"{field}_name", "")
            if file is None:
                continue
            if name in sets or not name:
                raise serializers.ValidationError(
                    {f"{field}_name": ["Give each set its own name."]}
                )
            try:
                sets[name] = read_references(file)
            except CideryError as error:
                raise serializers.ValidationError({field: [str(error)]}) from None
        try:
            challenge = create_challenge(values, sets)
        except CideryError as error:
            raise serializers.ValidationError(str(error)) from None
        return self.done(challenge, challenge, message="The challenge is ready.")


class ChallengeSettings(FormPage):
    """Changes a challenge: words, dates, limits, what is open."""

    role = Role.OWNER
    template_name = "challenges/settings.html"
    shows = ChallengeData
    form = SettingsForm
    accepts = ChallengeData
    accepted_status = status.HTTP_200_OK

    def show(self) -> Challenge:
        """Return the challenge as it is."""
        return get_challenge(self)

    def make_form(self, data: Any = None) -> serializers.Serializer[Any]:
        """Fill the form with what is there; a program may send single fields."""
        context = {"request": self.request, "view": self}
        if data is None:
            return self.form(self.show(), context=context)
        return self.form(self.show(), data=data, partial=not self.is_html, context=context)

    def accept(self, values: dict[str, Any]) -> HttpResponseBase:
        """Write the changes down."""
        challenge = self.show()
        for name, value in values.items():
            setattr(challenge, name, value)
        challenge.save(update_fields=list(values))
        return self.done(challenge, challenge, message="The changes are kept.")


class Rescore(FormPage):
    """Forgets a challenge's scores and has every submission scored again."""

    role = Role.OWNER
    template_name = "challenges/rescore.html"
    shows = ChallengeData
    form = NoFields

    def show(self) -> Challenge:
        """Return the challenge."""
        return get_challenge(self)

    def accept(self, values: dict[str, Any]) -> HttpResponseBase:  # noqa: ARG002
        """Queue them all."""
        challenge = self.show()
        count = rescore_challenge(challenge)
        return self.done(challenge, message=f"{count} submissions are being scored again.")
