"""Names this app `studies`."""

from django.apps import AppConfig


class StudiesConfig(AppConfig):
    """Studies with people."""

    name = "cidery.app.studies"
    label = "studies"
    heading = "Studies"
    summary = (
        "Ask people which sentence is closer, better or more diverse, and count their answers."
    )
    start = "studies"
