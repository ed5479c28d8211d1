"""How often something may be tried (the rates are in `settings.RATES`), and how large it may be."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import TYPE_CHECKING

from django.http import HttpRequest, HttpResponse, JsonResponse
from rest_framework.permissions import SAFE_METHODS
from rest_framework.throttling import ScopedRateThrottle, SimpleRateThrottle

if TYPE_CHECKING:
    from rest_framework.request import Request
    from rest_framework.views import APIView


class WriteLimit(ScopedRateThrottle):
    """Counts what an account, or a stranger's address, sends to pages with a `throttle_scope`."""

    def allow_request(self, request: Request, view: APIView) -> bool:
        """Count what writes; reading is free."""
        return request.method in SAFE_METHODS or super().allow_request(request, view)


class AccountLimit(SimpleRateThrottle):
    """Counts attempts to sign in to one account, from wherever they come."""

    scope = "sign-in-account"

    def get_cache_key(self, request: Request, view: APIView) -> str | None:  # noqa: ARG002
        """Return a key for the name that was typed."""
        if request.method in SAFE_METHODS or not isinstance(request.data, dict):
            return None
        name = str(request.data.get("name", "")).strip().lower()
        return f"sign-in-{sha256(name.encode(errors='replace')).hexdigest()}"


MEGABYTE = 1024 * 1024
LARGEST_FILES = 55 * MEGABYTE
LARGEST_BODY = 5 * MEGABYTE


class SizeLimit:
    """Refuses what is too large before a byte of it is read or spooled."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Look at the length, without which nothing is read at all."""
        has_files = request.content_type == "multipart/form-data"
        largest = LARGEST_FILES if has_files else LARGEST_BODY
        try:
            length = int(request.headers.get("Content-Length") or 0)
        except ValueError:
            length = 0
        if length > largest:
            detail = f"This is larger than {largest // MEGABYTE} MB."
            return JsonResponse({"detail": detail}, status=413)
        return self.get_response(request)
