"""Keeps pages out of caches."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse


class NoStoreMiddleware:
    """Forbids browsers and proxies to store a page, unless the page itself allows it.

    A proxy would show a team's scores to the next visitor; a browser would show them after the team
    has signed out.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Add the header to responses that have none."""
        response = self.get_response(request)
        response.headers.setdefault("Cache-Control", "no-store, private")
        return response
