"""Names this app `studies`."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy


class StudiesConfig(AppConfig):
    """Human studies."""

    name = "cidery_server.studies"
    label = "studies"
    heading = gettext_lazy("Studies")
    summary = gettext_lazy(
        "Ask people which sentence is closer, better or more diverse, and count their answers."
    )
    start = "studies"
