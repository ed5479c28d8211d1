"""The owner's pages of challenges: a new one, its settings, its teams, and scoring it again."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

from django.http import HttpResponseBase
from django.shortcuts import get_object_or_404
from rest_framework import serializers, status

from cidery.corpus import is_grouping
from cidery.errors import CideryError, LanguageWarning, SettingError, SliceWarning
from cidery.files import read_references, read_slices
from cidery_server.challenges.creation import add_phase, create_challenge
from cidery_server.challenges.definition import NamedSlices, ReferencesByImage
from cidery_server.challenges.forms import (
    NewChallengeForm,
    NewPhaseForm,
    ProbeDecision,
    SettingsForm,
    TeamDecision,
)
from cidery_server.challenges.management import decide_on_probe, decide_on_team, rescore_challenge
from cidery_server.challenges.models import Challenge, Participation, Submission
from cidery_server.challenges.pages.challenges import get_challenge
from cidery_server.challenges.serializers import ChallengeData, OwnersSubmission, TeamsData
from cidery_server.web.accounts import NoFields
from cidery_server.web.pages import FormPage
from cidery_server.web.roles import Role
from cidery_server.web.translation import translate as _

_SHOWN_WARNINGS = (SliceWarning, LanguageWarning)
"""Message after the creation of a challenge."""


class NewChallenge(FormPage):
    """Creates a challenge from a form and files of references."""

    role = Role.OWNER
    template_name = "challenges/new_challenge.html"
    shows = NoFields
    form = NewChallengeForm
    accepts = ChallengeData
    has_files = True

    def show(self) -> Any:
        """Return no data: the page has only the form."""
        return {}

    def accept(self, values: dict[str, Any]) -> HttpResponseBase:
        """Read the references and store the challenge."""
        challenge, notes = _make(values, create_challenge)
        message = " ".join([_("The challenge is ready."), *notes])
        return self.done(challenge, challenge, message=message)


class NewPhase(FormPage):
    """Adds a phase to a challenge: references, dates and limits of its own."""

    role = Role.OWNER
    template_name = "challenges/new_phase.html"
    shows = ChallengeData
    form = NewPhaseForm
    accepts = ChallengeData
    has_files = True

    def show(self) -> Challenge:
        """Return the main challenge."""
        return get_challenge(self).main

    def accept(self, values: dict[str, Any]) -> HttpResponseBase:
        """Read the references and store the phase."""
        phase, notes = _make(values, partial(add_phase, self.show()))
        shared = ", ".join(phase.sharing.order_by("pk").values_list("phase", flat=True))
        messages = [_("The phase is ready.")]
        if shared:
            sharing = _(
                "The phase shares references with {phases}: their submissions count together."
            )
            messages.append(sharing.format(phases=shared))
        return self.done(phase, phase, message=" ".join([*messages, *notes]))


def _make(values: dict[str, Any], create: Callable[..., Challenge]) -> tuple[Challenge, list[str]]:
    """Create a challenge or a phase from a form, and return it with messages for its owner."""
    named = _read_slices(values)
    sets: dict[str, ReferencesByImage] = {}
    for field in ("references", "more_references"):
        file, name = values.pop(field, None), values.pop(f"{field}_name", "")
        if file is None:
            continue
        if name in sets or not name:
            raise serializers.ValidationError({f"{field}_name": [_("Give each set its own name.")]})
        try:
            sets[name] = read_references(file)
        except CideryError as error:
            raise serializers.ValidationError({field: [str(error)]}) from None
    with warnings.catch_warnings(record=True) as caught:
        for category in _SHOWN_WARNINGS:
            warnings.simplefilter("always", category)
        try:
            challenge = create(values, sets, named)
        except CideryError as error:
            raise serializers.ValidationError(str(error)) from None
    return challenge, [f"{note.message}." for note in caught if note.category in _SHOWN_WARNINGS]


def _read_slices(values: dict[str, Any]) -> NamedSlices | None:
    """Return the slices of a form; text never names a file of this machine."""
    text, file = values.pop("slices", ""), values.pop("slices_file", None)
    if not text and file is None:
        return None
    if file is None and is_grouping(text):
        return NamedSlices(text, text)
    source = file or values["references"]
    try:
        found = read_slices(source, text or None)
    except CideryError as error:
        field = "slices" if file is None else "slices_file"
        raise serializers.ValidationError({field: [str(error)]}) from None
    source.seek(0)
    return NamedSlices(text or source.name, found)


class ChallengeSettings(FormPage):
    """Changes a challenge: its texts, dates, limits and visibility."""

    role = Role.OWNER
    template_name = "challenges/settings.html"
    shows = ChallengeData
    form = SettingsForm
    accepts = ChallengeData
    accepted_status = status.HTTP_200_OK

    def show(self) -> Challenge:
        """Return the current settings."""
        return get_challenge(self)

    def make_form(self, data: Any = None) -> serializers.Serializer[Any]:
        """Fill the form with the current values; a program may send single fields."""
        context = {"request": self.request, "view": self}
        if data is None:
            return self.form(self.show(), context=context)
        return self.form(self.show(), data=data, partial=not self.is_html, context=context)

    def accept(self, values: dict[str, Any]) -> HttpResponseBase:
        """Save the changes."""
        challenge = self.show()
        for name, value in values.items():
            setattr(challenge, name, value)
        challenge.save(update_fields=list(values))
        return self.done(challenge, challenge, message=_("The changes are saved."))


class Rescore(FormPage):
    """Scores every submission of a challenge again; old scores are shown until then."""

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
        return self.done(
            challenge, message=_("{count} submissions are being scored again.").format(count=count)
        )


class Teams(FormPage):
    """Lists a challenge's teams, approves, invites or refuses them, and lists probes."""

    role = Role.OWNER
    template_name = "challenges/teams.html"
    shows = TeamsData
    form = TeamDecision
    accepts = TeamsData
    accepted_status = status.HTTP_200_OK

    def show(self) -> Any:
        """Return teams that wait for approval first."""
        challenge = get_challenge(self).main
        probes = Submission.objects.filter(challenge__in=challenge.family).exclude(probe="")
        probes = probes.select_related("team", "challenge", "author")
        return {
            "challenge": challenge,
            "teams": sorted(
                challenge.teams.select_related("team", "challenge"),
                key=lambda found: found.state != Participation.State.ASKED,
            ),
            "probes": probes.defer("packed_captions", "packed_fingerprint").order_by("-created"),
        }

    def accept(self, values: dict[str, Any]) -> HttpResponseBase:
        """Approve or refuse a team."""
        challenge = get_challenge(self).main
        try:
            decide_on_team(challenge, values["team"], approve=values["action"] == "approve")
        except SettingError as error:
            raise serializers.ValidationError({"team": [f"{error}."]}) from None
        return self.done("teams", self.show(), challenge=challenge.slug)


class Decision(FormPage):
    """Shows the scores of a submission that looks like a probe, or keeps them hidden."""

    role = Role.OWNER
    template_name = "challenges/decision.html"
    shows = OwnersSubmission
    form = ProbeDecision
    accepts = OwnersSubmission
    accepted_status = status.HTTP_200_OK

    def show(self) -> Submission:
        """Return the submission."""
        probes = Submission.objects.exclude(probe="").select_related("team", "challenge", "author")
        found = probes.defer("packed_captions", "packed_fingerprint")
        return get_object_or_404(found, pk=self.kwargs["submission"])

    def accept(self, values: dict[str, Any]) -> HttpResponseBase:
        """Release or keep."""
        submission = self.show()
        decide_on_probe(submission, release=values["action"] == "release")
        return self.done("teams", submission, challenge=submission.challenge.slug)
