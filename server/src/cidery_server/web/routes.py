"""All routes with their roles, read from the URL patterns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

from cidery_server.web.roles import Role


@dataclass(frozen=True)
class Route:
    """An address, with its parameters as `<slug:challenge>`."""

    path: str
    name: str
    reads: Role
    writes: Role | None
    """None where nothing is written."""


def routes() -> list[Route]:
    """Return every route of the app, pages and JSON endpoints."""
    return list(_walk(get_resolver().url_patterns, "/"))


def _walk(patterns: list[Any], prefix: str) -> Iterator[Route]:
    for pattern in patterns:
        path = f"{prefix}{pattern.pattern}"
        if isinstance(pattern, URLResolver):
            yield from _walk(pattern.url_patterns, path)
        elif isinstance(pattern, URLPattern):
            view: Any = pattern.callback.view_class  # type: ignore[attr-defined]
            writes = view.role_to_write() if hasattr(view, "post") else None
            yield Route(path, pattern.name or "", view.role, writes)
