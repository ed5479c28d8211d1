"""The owner's account: made from the command line, opened by a one-time link."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from cidery.errors import SettingError
from cidery_server.web.models import Account
from cidery_server.web.names import check_visible, normalize_name


def owner_exists() -> bool:
    """Return True if an owner has set a password."""
    owners = Account.objects.filter(kind=Account.Kind.OWNER, is_active=True)
    return any(owner.has_usable_password() for owner in owners)


def make_owner_link(name: str, address: str, *, new: bool = False) -> str:
    """Return a link that sets an owner's password, once.

    The account is made if it is the first owner's, or if a new one is asked for: a name that was
    mistyped makes no owner.
    """
    found = Account.objects.filter(name__iexact=normalize_name(name)).first()
    if found is not None and not found.is_owner:
        raise SettingError(
            f"the account {name!r} belongs to a team; choose another name for the owner"
        )
    if found is not None and new:
        raise SettingError(f"the owner {found.name!r} already exists; use --owner-link")
    owners = Account.objects.filter(kind=Account.Kind.OWNER).values_list("name", flat=True)
    if found is None and owners and not new:
        known = ", ".join(owners)
        raise SettingError(
            f"unknown owner {name!r}; known: {known}; to create one, use --new-owner"
        )
    owner = found or _make_owner(name)
    return address.rstrip("/") + owner.one_time_path()


def _make_owner(name: str) -> Account:
    try:
        check_visible(name)
        with transaction.atomic():
            return Account.objects.sign_up(normalize_name(name), None, kind=Account.Kind.OWNER)
    except (ValidationError, IntegrityError):
        raise SettingError(
            f"invalid name {name!r}: it has invisible characters, or looks like another name"
        ) from None
