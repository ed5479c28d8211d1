"""Pages of teams: members and joining."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponseBase
from django.urls import reverse
from rest_framework import serializers, status
from rest_framework.exceptions import NotFound

from cidery.errors import InputError
from cidery_server.challenges.forms import TeamChange
from cidery_server.challenges.members import find_invite, find_member, join_team, make_invite
from cidery_server.challenges.models import TeamInvite, team_of
from cidery_server.challenges.serializers import InvitedTeam, OwnTeam
from cidery_server.web.accounts import NoFields
from cidery_server.web.limits import WriteLimit
from cidery_server.web.models import Account
from cidery_server.web.pages import FormPage
from cidery_server.web.roles import Role
from cidery_server.web.translation import translate as _


class Team(FormPage):
    """Shows the account's team; invites, removes and restricts members."""

    role = Role.MEMBER
    template_name = "challenges/team.html"
    shows = OwnTeam
    form = TeamChange
    accepts = OwnTeam
    accepted_status = status.HTTP_200_OK
    throttle_classes = (WriteLimit,)
    throttle_scope = "submit"
    link: str | None = None

    def show(self) -> Any:
        """Return the members, and the link that was just made."""
        account = _account(self)
        team = team_of(account)
        shown = {
            "team": team.name,
            "is_mine": team == account,
            "members": team.members.select_related("account"),
        }
        return shown | ({"link": self.link} if self.link else {})

    def accept(self, values: dict[str, Any]) -> HttpResponseBase:
        """Apply the chosen action."""
        account, action, name = _account(self), values["action"], values["member"]
        try:
            if action == "invite":
                path = reverse("join-team", kwargs={"key": make_invite(account)})
                self.link = self.request.build_absolute_uri(path)
            elif action == "leave":
                if team_of(account) == account:
                    raise InputError(_("This is your own team; you can remove its members."))
                account.membership.delete()
                self.request.user = Account.objects.get(pk=account.pk)
            else:
                member = find_member(account, name)
                if action == "remove":
                    member.delete()
                else:
                    member.may_submit = action == "allow"
                    member.save(update_fields=["may_submit"])
        except InputError as error:
            raise serializers.ValidationError({"action": [str(error)]}) from None
        return self.render()


class JoinTeam(FormPage):
    """Joins a team by an invite."""

    role = Role.MEMBER
    template_name = "challenges/join_team.html"
    shows = InvitedTeam
    form = NoFields
    throttle_classes = (WriteLimit,)
    throttle_scope = "join"

    def show(self) -> TeamInvite:
        """Return the invite."""
        found = find_invite(self.kwargs["key"])
        if found is None:
            raise NotFound(_("This link has been used or has expired. Ask the team for a new one."))
        return found

    def accept(self, values: dict[str, Any]) -> HttpResponseBase:  # noqa: ARG002
        """Join the team; concurrent requests cannot use an invite twice."""
        invite = self.show()
        try:
            join_team(_account(self), invite)
        except InputError as error:
            raise serializers.ValidationError(str(error)) from None
        return self.done(
            "team", message=_("You are in the team {name}.").format(name=invite.team.name)
        )


def _account(page: FormPage) -> Account:
    account = page.request.user
    assert isinstance(account, Account)  # the role sees to it
    return account
