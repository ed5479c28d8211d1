"""Names this app `challenges` and introduces it on the first page."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy


class ChallengesConfig(AppConfig):
    """Challenges, submissions and leaderboards."""

    name = "cidery_server.challenges"
    label = "challenges"
    heading = gettext_lazy("Challenges")
    summary = gettext_lazy(
        "Submit captions, which are scored against hidden references, and compare them on a"
        " leaderboard."
    )
    start = "challenges"
