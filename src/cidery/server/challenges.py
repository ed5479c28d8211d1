"""Pages."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from cidery.web.pages import Page
from cidery.web.roles import Role


class ChallengesData(serializers.Serializer[Any]):
    """X."""

    challenges = serializers.ListField()


class Challenges(Page):
    """Lists challenges."""

    role = Role.ANYONE
    template_name = "server/challenges.html"
    shows = ChallengesData

    def show(self) -> Any:
        """X."""
        return {"challenges": []}
