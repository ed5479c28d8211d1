"""Signing up, in and out; passwords and API tokens."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib.auth import authenticate, login, logout, update_session_auth_hash
from django.contrib.auth.password_validation import validate_password
from django.contrib.auth.tokens import default_token_generator
from django.core.exceptions import ValidationError as DjangoValidationError
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.http import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.utils.http import urlsafe_base64_decode
from django.utils.translation import get_language, gettext_lazy
from knox.models import AuthToken
from rest_framework import serializers, status
from rest_framework.exceptions import NotFound

from cidery_server.web.languages import remember_language
from cidery_server.web.limits import AccountLimit, WriteLimit
from cidery_server.web.models import NAME_LENGTH, PRINTABLE, Account
from cidery_server.web.names import check_printable, check_visible, normalize_name, skeleton
from cidery_server.web.pages import FormPage, wanted_path
from cidery_server.web.roles import Role
from cidery_server.web.translation import translate as _

PASSWORD_STYLE = {"input_type": "password"}
MAX_PASSWORD_LENGTH = 200
"""Maximum length of a password; longer ones are slow to hash."""


class NoFields(serializers.Serializer[Any]):
    """A form that is only a button, or a page that is only a form."""


class AccountData(serializers.ModelSerializer[Account]):
    """An account, as shown to itself."""

    class Meta:
        """Public fields; contact and password are not included."""

        model = Account
        fields = ("name", "kind", "created")


def name_field() -> serializers.CharField:
    """Return the field for an account's name."""
    return serializers.CharField(
        label=gettext_lazy("Name"), max_length=NAME_LENGTH, style={"autocomplete": "username"}
    )


def check_password(password: str, account: Account) -> None:
    """Refuse a weak password with Django's reasons."""
    try:
        validate_password(password, account)
    except DjangoValidationError as error:
        raise serializers.ValidationError({"password": error.messages}) from None


class SignUpForm(serializers.Serializer[Any]):
    """Form of a new team."""

    name = serializers.CharField(
        label=gettext_lazy("Team name"),
        max_length=NAME_LENGTH,
        validators=[PRINTABLE, check_visible],
        help_text=gettext_lazy("Shown on leaderboards."),
        style={"autocomplete": "username"},
    )
    password = serializers.CharField(
        label=gettext_lazy("Password"),
        max_length=MAX_PASSWORD_LENGTH,
        trim_whitespace=False,
        help_text=gettext_lazy("At least ten characters."),
        style=PASSWORD_STYLE | {"autocomplete": "new-password"},
    )
    contact = serializers.CharField(
        label=gettext_lazy("Contact"),
        max_length=200,
        required=False,
        allow_blank=True,
        validators=[check_printable],
        help_text=gettext_lazy("Contact for the organizers; not shown to others."),
    )

    def validate_name(self, value: str) -> str:
        """Normalize names; names that look the same are equal."""
        name = normalize_name(value)
        PRINTABLE(name)
        check_visible(name)
        if len(name) > NAME_LENGTH:
            raise serializers.ValidationError(
                _("A name has at most {name_length} characters.").format(name_length=NAME_LENGTH)
            )
        return name

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Refuse names that are taken, and weak passwords."""
        if Account.objects.filter(name__iexact=attrs["name"]).exists():
            raise serializers.ValidationError({"name": [_("This name is taken; choose another.")]})
        if Account.objects.filter(skeleton=skeleton(attrs["name"])).exists():
            alike = _("This name looks like another team's; choose another.")
            raise serializers.ValidationError({"name": [alike]})
        check_password(attrs["password"], Account(name=attrs["name"]))
        return attrs


class SignUp(FormPage):
    """Makes an account for a team and signs it in."""

    role = Role.ANYONE
    template_name = "web/sign_up.html"
    shows = NoFields
    form = SignUpForm
    accepts = AccountData
    throttle_classes = (WriteLimit,)
    throttle_scope = "sign-up"

    def show(self) -> Any:
        """Return no data: the page has only the form."""
        return {}

    def accept(self, values: dict[str, Any]) -> HttpResponseBase:
        """Create the account; of two concurrent requests for one name, the second is refused."""
        language = (get_language() or "") if self.is_html else ""
        try:
            with transaction.atomic():
                account = Account.objects.sign_up(**values, language=language)
        except IntegrityError:
            taken = {"name": [_("This name is taken; choose another.")]}
            raise serializers.ValidationError(taken) from None
        login(self.request, account, "django.contrib.auth.backends.ModelBackend")
        return self.done(
            "account", account, message=_("Welcome, {name}.").format(name=account.name)
        )


class SignInForm(serializers.Serializer[Any]):
    """Name and password."""

    name = name_field()
    password = serializers.CharField(
        label=gettext_lazy("Password"),
        max_length=MAX_PASSWORD_LENGTH,
        trim_whitespace=False,
        style=PASSWORD_STYLE | {"autocomplete": "current-password"},
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Check the password; the message does not reveal which of the two was wrong."""
        account = authenticate(
            self.context["request"], username=attrs["name"], password=attrs["password"]
        )
        if account is None:
            raise serializers.ValidationError(_("Name and password do not match."))
        return {"account": account}


class SignIn(FormPage):
    """Signs a team or the owner in."""

    role = Role.ANYONE
    template_name = "web/sign_in.html"
    shows = NoFields
    form = SignInForm
    accepts = AccountData
    accepted_status = status.HTTP_200_OK
    throttle_classes = (WriteLimit, AccountLimit)
    throttle_scope = "sign-in"

    def show(self) -> Any:
        """Return no data: the page has only the form."""
        return {}

    def accept(self, values: dict[str, Any]) -> HttpResponseBase:
        """Start a session with a new key, and redirect to the requested page."""
        login(self.request, values["account"])
        response = self.done(wanted_path(self.request, "home"), values["account"])
        language = values["account"].language
        if self.is_html and language not in ("", get_language()):  # of another device
            remember_language(response, language)
        return response


class SignOut(FormPage):
    """Ends the session."""

    role = Role.ANYONE
    template_name = "web/sign_out.html"
    shows = NoFields
    form = NoFields

    def show(self) -> Any:
        """Return no data: the page has only the button."""
        return {}

    def accept(self, values: dict[str, Any]) -> HttpResponseBase:  # noqa: ARG002
        """Forget the session."""
        logout(self.request)
        return self.done("home")


class TokenData(serializers.Serializer[Any]):
    """An API token as it can be shown again."""

    key = serializers.CharField(source="token_key", help_text="Its first characters.")
    created = serializers.DateTimeField()


class AccountPageData(serializers.Serializer[Any]):
    """An account and its tokens."""

    account = AccountData()
    tokens = TokenData(many=True)
    new_token = serializers.CharField(
        required=False, help_text="Shown once, in the response to the request that created it."
    )


class AccountPage(FormPage):
    """Shows one's own account; makes API tokens."""

    role = Role.MEMBER
    template_name = "web/account.html"
    shows = AccountPageData
    form = NoFields
    accepts = AccountPageData
    new_token: str | None = None

    def show(self) -> Any:
        """Return the account, its tokens and the one that was just made."""
        account = self.request.user
        tokens = AuthToken.objects.filter(user=account).order_by("created")
        shown: dict[str, Any] = {"account": account, "tokens": tokens}
        return shown | ({"new_token": self.new_token} if self.new_token else {})

    def accept(self, values: dict[str, Any]) -> HttpResponseBase:  # noqa: ARG002
        """Create a token and show it once."""
        _, self.new_token = AuthToken.objects.create(self.request.user)
        return self.render(status.HTTP_201_CREATED)


class RevokeToken(FormPage):
    """Revokes an API token."""

    role = Role.MEMBER
    template_name = "web/revoke_token.html"
    shows = TokenData
    form = NoFields

    def show(self) -> Any:
        """Return the token; raise a 404 error for those of others."""
        owned = AuthToken.objects.filter(user=self.request.user)
        return get_object_or_404(owned, token_key=self.kwargs["key"])

    def accept(self, values: dict[str, Any]) -> HttpResponseBase:  # noqa: ARG002
        """Delete the token."""
        self.show().delete()
        return self.done("account", message=_("The token is revoked."))


class PasswordForm(serializers.Serializer[Any]):
    """A new password."""

    password = serializers.CharField(
        label=gettext_lazy("Password"),
        max_length=MAX_PASSWORD_LENGTH,
        trim_whitespace=False,
        help_text=gettext_lazy("At least ten characters."),
        style=PASSWORD_STYLE | {"autocomplete": "new-password"},
    )


class SetPassword(FormPage):
    """Sets a password by a one-time link, and signs in."""

    role = Role.ANYONE
    template_name = "web/set_password.html"
    shows = AccountData
    form = PasswordForm
    accepts = AccountData
    accepted_status = status.HTTP_200_OK
    throttle_classes = (WriteLimit,)
    throttle_scope = "sign-in"

    def show(self) -> Account:
        """Return the account that the link is for."""
        return self._find(Account.objects.all())

    def _find(self, accounts: QuerySet[Account]) -> Account:
        try:
            number = int(urlsafe_base64_decode(self.kwargs["account"]))
        except ValueError:
            number = 0
        account = accounts.filter(pk=number, is_active=True).first()
        if account is None or not default_token_generator.check_token(account, self.kwargs["key"]):
            raise NotFound(_("This link has been used or has expired. Ask for a new one."))
        return account

    def accept(self, values: dict[str, Any]) -> HttpResponseBase:
        """Store the password; a link works once, also for concurrent requests."""
        check_password(values["password"], self.show())
        with transaction.atomic():
            account = self._find(Account.objects.select_for_update())
            account.set_password(values["password"])
            account.save()
        login(self.request, account, "django.contrib.auth.backends.ModelBackend")
        return self.done("home", account, message=_("Your password is set."))


class ChangePasswordForm(serializers.Serializer[Any]):
    """Form for the current and the new password."""

    current = serializers.CharField(
        label=gettext_lazy("Current password"),
        max_length=MAX_PASSWORD_LENGTH,
        trim_whitespace=False,
        style=PASSWORD_STYLE | {"autocomplete": "current-password"},
    )
    password = serializers.CharField(
        label=gettext_lazy("New password"),
        max_length=MAX_PASSWORD_LENGTH,
        trim_whitespace=False,
        help_text=gettext_lazy("At least ten characters."),
        style=PASSWORD_STYLE | {"autocomplete": "new-password"},
    )


class ChangePassword(FormPage):
    """Changes one's own password; other sessions end."""

    role = Role.MEMBER
    template_name = "web/change_password.html"
    shows = AccountData
    form = ChangePasswordForm
    accepts = AccountData
    accepted_status = status.HTTP_200_OK
    throttle_classes = (WriteLimit,)
    throttle_scope = "sign-in"

    def show(self) -> Account:
        """Return the account."""
        account = self.request.user
        assert isinstance(account, Account)  # the role sees to it
        return account

    def accept(self, values: dict[str, Any]) -> HttpResponseBase:
        """Change the password, after a check of the current one."""
        account = self.show()
        if not account.check_password(values["current"]):
            raise serializers.ValidationError({"current": [_("This is not your password.")]})
        check_password(values["password"], account)
        account.set_password(values["password"])
        account.save()
        if self.request.auth is None:  # by a session, which goes on
            update_session_auth_hash(self.request._request, account)
        return self.done("account", account, message=_("Your password is changed."))


class ListedAccount(serializers.ModelSerializer[Account]):
    """An account, as shown to the owner."""

    class Meta:
        """Everything but the password."""

        model = Account
        fields = ("id", "name", "kind", "contact", "is_active", "created", "last_login")


class AccountsData(serializers.Serializer[Any]):
    """All accounts."""

    accounts = ListedAccount(many=True)
    link = serializers.CharField(required=False, help_text="New one-time link.")


class AccountChange(serializers.Serializer[Any]):
    """Form of an action of the owner on an account."""

    CHOICES: ClassVar[tuple[str, ...]] = ("link", "suspend", "restore")
    account = serializers.IntegerField(min_value=1, max_value=2**62)
    action = serializers.ChoiceField(CHOICES)


class Accounts(FormPage):
    """Lists accounts; makes one-time password links, suspends and restores."""

    role = Role.OWNER
    template_name = "web/accounts.html"
    shows = AccountsData
    form = AccountChange
    accepts = AccountsData
    accepted_status = status.HTTP_200_OK
    link: str | None = None

    def show(self) -> Any:
        """Return all accounts, and the link that was just made."""
        shown: dict[str, Any] = {"accounts": Account.objects.order_by("name")}
        return shown | ({"link": self.link} if self.link else {})

    def accept(self, values: dict[str, Any]) -> HttpResponseBase:
        """Apply the chosen action; owners cannot suspend themselves."""
        account = get_object_or_404(Account, pk=values["account"])
        if values["action"] == "link":
            self.link = self.request.build_absolute_uri(account.one_time_path())
        elif account == self.request.user:
            raise serializers.ValidationError(_("You cannot suspend your own account."))
        else:
            account.is_active = values["action"] == "restore"
            account.save(update_fields=["is_active"])
        return self.render()
