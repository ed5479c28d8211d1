"""Names this app `challenges` and introduces it on the first page."""

from django.apps import AppConfig


class ChallengesConfig(AppConfig):
    """Challenges, submissions and leaderboards."""

    name = "cidery.app.challenges"
    label = "challenges"
    heading = "Challenges"
    summary = (
        "Submit captions, have them scored against hidden references, and see where you stand."
    )
    start = "challenges"
