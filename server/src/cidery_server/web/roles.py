"""Roles that may open a page. Every page has a role; a test visits them all."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

from rest_framework.permissions import SAFE_METHODS, BasePermission

if TYPE_CHECKING:
    from rest_framework.request import Request

    from cidery_server.web.pages import Page


class Role(Enum):
    """Permission that a page requires before it reads the request."""

    ANYONE = "anyone"
    MEMBER = "member"
    """Signed in: a team, or the owner."""
    OWNER = "owner"

    def admits(self, account: Any) -> bool:
        """Return True if an account, or an anonymous visitor, has this role."""
        if self is Role.ANYONE:
            return True
        if not account.is_authenticated:
            return False
        return self is Role.MEMBER or bool(account.is_owner)


class HasRole(BasePermission):
    """Permission for visitors with the page's role."""

    def has_permission(self, request: Request, view: Page) -> bool:  # type: ignore[override]
        """Check the role for reading, or the one for writing."""
        role = view.role if request.method in SAFE_METHODS else view.role_to_write()
        return role.admits(request.user)
