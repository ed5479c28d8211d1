"""The apps that the navigation and the first page link to, as their `AppConfig` describes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.conf import settings
from django.urls import reverse


@dataclass(frozen=True)
class AppLink:
    """A link to an app's first page."""

    heading: str
    summary: str
    path: str


def app_links() -> list[AppLink]:
    """Return a link for each app with pages.

    The app's `AppConfig` has `heading`, `summary` and `start`, the URL name of its first page.
    """
    labels = (name.rpartition(".")[2] for name in settings.APPS_WITH_PAGES)
    configs: list[Any] = [apps.get_app_config(label) for label in labels]
    return [AppLink(str(c.heading), str(c.summary), reverse(c.start)) for c in configs]


def add_app_links(_request: Any) -> dict[str, Any]:
    """Give every template the links, for the navigation."""
    return {"app_links": app_links()}
