"""Accounts: the owner's, and one for each team."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.tokens import default_token_generator
from django.core.validators import RegexValidator
from django.db import models
from django.db.models.functions import Lower
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django.utils.translation import gettext_lazy

from cidery_server.web.names import normalize_name, skeleton

NAME_LENGTH = 60
PRINTABLE = RegexValidator(
    r"\A\S(.*\S)?\Z",
    gettext_lazy("A name must not contain line breaks, or begin or end with a space."),
)


class AccountManager(BaseUserManager["Account"]):
    """Creates accounts; Django's authentication requires this method name."""

    def get_by_natural_key(self, username: str | None) -> Account:
        """Find an account by its name, ignoring case."""
        return self.get(name__iexact=normalize_name(username or ""))

    def sign_up(self, name: str, password: str | None, **fields: Any) -> Account:
        """Make an account; without a password it waits for its one-time link to be used."""
        account = self.model(name=name, skeleton=skeleton(name), **fields)
        account.set_password(password)
        account.save()
        return account


class Account(AbstractBaseUser):
    """Someone who can sign in: the owner, or a team."""

    class Kind(models.TextChoices):
        """Kinds of accounts."""

        OWNER = "owner"
        TEAM = "team"

    name = models.CharField(max_length=NAME_LENGTH, unique=True, validators=[PRINTABLE])
    skeleton = models.CharField(max_length=20 * NAME_LENGTH, unique=True, null=True)
    """Skeleton of the name: equal for names that look alike. None for the second of two that were
    created before this check."""
    kind = models.CharField(max_length=10, choices=Kind.choices, default=Kind.TEAM)
    contact = models.CharField(max_length=200, blank=True)
    """Contact, shown to the owner only."""
    language = models.CharField(max_length=10, blank=True, default="", db_default="")
    """Language of its pages and e-mails, initially that of the sign-up page; empty: none."""
    is_active = models.BooleanField(default=True)
    created = models.DateTimeField(auto_now_add=True)

    objects: ClassVar[AccountManager] = AccountManager()
    USERNAME_FIELD = "name"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        """Names are unique, ignoring case, so that teams cannot imitate others."""

        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(Lower("name"), name="account_name"),
        ]

    @property
    def is_owner(self) -> bool:
        """True if this account runs the installation."""
        return self.kind == self.Kind.OWNER

    def one_time_path(self) -> str:
        """Return the path of the page that sets a new password, once and within three days."""
        return reverse(
            "set-password",
            kwargs={
                "account": urlsafe_base64_encode(force_bytes(self.pk)),
                "key": default_token_generator.make_token(self),
            },
        )


class Attempts(models.Model):
    """Times of attempts, which rate limits count.

    A table of its own: in a cache, many other attempts would evict the counts.
    """

    key = models.CharField(max_length=200, primary_key=True)
    times = models.JSONField()
    """Seconds since 1970, the newest first."""
    expires = models.DateTimeField(db_index=True)
