"""How often something may be tried; the rates are in `settings.RATES`."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

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
