"""Names this app `web`."""

from django.apps import AppConfig


class WebConfig(AppConfig):
    """Accounts, pages and the queue."""

    name = "cidery_server.web"
    label = "web"
