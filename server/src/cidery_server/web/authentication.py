"""Authentication by API token, or by session with a CSRF token."""

from __future__ import annotations

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from knox.auth import TokenAuthentication
from rest_framework.authentication import SessionAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request


class BearerAuthentication(TokenAuthentication):  # type: ignore[misc]  # knox has no types
    """`Authorization: Bearer TOKEN`; tokens are stored as digests."""

    def authenticate_credentials(self, token: bytes) -> Any:
        """Find the token's account."""
        try:
            return super().authenticate_credentials(token)
        except ValueError:  # bytes that are not text
            raise AuthenticationFailed("Invalid token.") from None


class CheckedSessionAuthentication(SessionAuthentication):
    """A session; requests that write need the CSRF token, also without an account.

    REST framework asks it of people who are signed in only, which leaves signing in itself, and
    judges without an account, open to forged requests.
    """

    def authenticate(self, request: Request) -> tuple[Any, None] | None:
        """Return the session's account, if there is one."""
        self.enforce_csrf(request)
        account = request._request.user
        return (account, None) if account.is_active else None


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Token authentication in the OpenAPI description."""

    target_class = BearerAuthentication
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:  # noqa: ARG002
        """Return the description for OpenAPI."""
        return {"type": "http", "scheme": "bearer"}


class SessionScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Session authentication in the OpenAPI description."""

    target_class = CheckedSessionAuthentication
    name = "session"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:  # noqa: ARG002
        """Return the description for OpenAPI."""
        return {"type": "apiKey", "in": "cookie", "name": "sessionid"}
