"""Teams of several accounts, and one-time invites."""

from __future__ import annotations

import secrets
from datetime import timedelta
from hashlib import sha256

from django.db import transaction
from django.utils import timezone

from cidery.errors import InputError
from cidery_server.challenges.models import Membership, TeamInvite
from cidery_server.web.models import Account
from cidery_server.web.translation import translate as _

MAX_MEMBERS = 30
MAX_INVITES = 30
"""Maximum number of unused invites of a team."""
LIFE = timedelta(days=7)


def make_invite(team: Account) -> str:
    """Return the key of a new invite to a team, which works once within a week.

    Raises:
        InputError: an account that has joined another team, or an owner's, has no team of its own.
    """
    if team.is_owner or hasattr(team, "membership"):
        raise InputError(_("Only the account that created the team can invite members."))
    waiting = team.invites.filter(expires__gt=timezone.now()).count()
    if waiting >= MAX_INVITES or team.members.count() >= MAX_MEMBERS:
        raise InputError(
            _("A team has at most {most_members} members and {most_invites} invites.").format(
                most_members=MAX_MEMBERS, most_invites=MAX_INVITES
            )
        )
    key = secrets.token_urlsafe(24)
    team.invites.create(digest=_digest(key), expires=timezone.now() + LIFE)
    return key


def find_invite(key: str) -> TeamInvite | None:
    """Return the invite of a key, if it can still be used."""
    found = TeamInvite.objects.filter(digest=_digest(key), expires__gt=timezone.now())
    return found.filter(team__is_active=True).select_related("team").first()


def _digest(key: str) -> str:
    return sha256(key.encode()).hexdigest()


def join_team(account: Account, invite: TeamInvite) -> Membership:
    """Let an account join the team of an invite, which is used up.

    Raises:
        InputError: why it cannot.
    """
    if account.is_owner:
        raise InputError(_("The owner of the installation cannot join a team."))
    if account == invite.team:
        raise InputError(_("This is your own team; the link is for others."))
    with transaction.atomic():
        # Both, in one order: of two that join each other at once, one is refused.
        numbers = (account.pk, invite.team_id)
        locked = Account.objects.select_for_update().filter(pk__in=numbers).order_by("pk")
        found = {one.pk: one for one in locked}
        account, team = found[account.pk], found[invite.team_id]
        if hasattr(account, "membership"):
            raise InputError(
                _("You are in the team {name}; leave it first.").format(
                    name=account.membership.team.name
                )
            )
        if account.members.exists():
            raise InputError(
                _("Your team has members; accounts that have a team cannot join another.")
            )
        if hasattr(team, "membership"):
            raise InputError(_("This team has joined another one."))
        if team.members.count() >= MAX_MEMBERS:
            raise InputError(
                _("The team has {most_members} members already.").format(most_members=MAX_MEMBERS)
            )
        if not TeamInvite.objects.filter(pk=invite.pk).delete()[0]:
            raise InputError(_("The link has been used."))
        account.invites.all().delete()
        return Membership.objects.create(team=team, account=account)


def find_member(team: Account, name: str) -> Membership:
    """Return a member of a team by name."""
    found = team.members.filter(account__name=name).first()
    if found is None:
        raise InputError(_("There is no member {name!r}.").format(name=name))
    return found
