"""The app's wings, as their Django apps name themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.conf import settings
from django.urls import reverse


@dataclass(frozen=True)
class Wing:
    """A part of the app with a page to begin at."""

    heading: str
    summary: str
    path: str


def wings() -> list[Wing]:
    """Return the wings; each one's AppConfig has `heading`, `summary` and `start`, a URL name."""
    configs: list[Any] = [apps.get_app_config(name.rpartition(".")[2]) for name in settings.WINGS]
    return [Wing(c.heading, c.summary, reverse(c.start)) for c in configs]


def wings_for_templates(_request: Any) -> dict[str, Any]:
    """Give every template the wings, for the navigation."""
    return {"wings": wings()}
