"""The owner's account: made from the command line, opened by a one-time link."""

from __future__ import annotations

from cidery.app.web.models import Account
from cidery.errors import SettingError


def owner_exists() -> bool:
    """Tell whether an owner has set a password."""
    owners = Account.objects.filter(kind=Account.Kind.OWNER, is_active=True)
    return any(owner.has_usable_password() for owner in owners)


def make_owner_link(name: str, address: str) -> str:
    """Return a link that sets an owner's password, once; the account is made if there is none."""
    found = Account.objects.filter(name__iexact=name).first()
    owner = found or Account.objects.sign_up(name, None, kind=Account.Kind.OWNER)
    if not owner.is_owner:
        raise SettingError(f"the account {name!r} is a team's; choose another name for the owner")
    return address.rstrip("/") + owner.one_time_path()
