"""Language of pages: chosen by the reader, or else requested by the browser.

The choice is stored in a cookie, which is set only by a choice, and with an account, for its
e-mails and for other devices. JSON endpoints are in English for everyone: programs read them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.cache import patch_vary_headers
from django.utils.translation import get_language, get_language_from_request, override
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers, status

from cidery_server.web.models import Account
from cidery_server.web.pages import FormPage, wanted_path
from cidery_server.web.roles import Role

COOKIE_AGE = 365 * 24 * 60 * 60


class LanguageMiddleware:
    """Answers in the reader's language; a program's is English."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Return the response with its language."""
        is_program = request.path.startswith("/api/") or request.path == "/openapi.json"
        chosen = settings.LANGUAGE_CODE if is_program else get_language_from_request(request)
        with override(chosen):
            response = self.get_response(request)
        if not is_program and not request.path.startswith(settings.STATIC_URL):
            patch_vary_headers(response, ("Accept-Language", "Cookie"))
            response.headers.setdefault("Content-Language", chosen)
        return response


def remember_language(response: HttpResponseBase, language: str) -> None:
    """Store a reader's choice in a cookie."""
    response.set_cookie(
        settings.LANGUAGE_COOKIE_NAME,
        language,
        max_age=COOKIE_AGE,
        httponly=True,
        samesite="Lax",
        secure=settings.SESSION_COOKIE_SECURE,
    )


class LanguageForm(serializers.Serializer[Any]):
    """A language of the pages."""

    language = serializers.ChoiceField(label=_("Language"), choices=settings.LANGUAGES)


class NamedLanguage(serializers.Serializer[Any]):
    """A language by its code and its own name."""

    code = serializers.CharField()
    name = serializers.CharField()


class LanguageData(serializers.Serializer[Any]):
    """The language of the pages, and all available ones."""

    language = serializers.CharField(help_text="Language of the pages.")
    languages = NamedLanguage(many=True)


class LanguagePage(FormPage):
    """Chooses the language of the pages; JSON endpoints are in English."""

    role = Role.ANYONE
    template_name = "web/language.html"
    shows = LanguageData
    form = LanguageForm
    accepts = LanguageData
    accepted_status = status.HTTP_200_OK
    chosen = ""

    def show(self) -> Any:
        """Return the available languages."""
        chosen = self.chosen or (
            get_language() if self.is_html else get_language_from_request(self.request._request)
        )
        languages = [{"code": code, "name": name} for code, name in settings.LANGUAGES]
        return {"language": chosen, "languages": languages}

    def accept(self, values: dict[str, Any]) -> HttpResponseBase:
        """Store the choice and return to the previous page."""
        self.chosen = values["language"]
        account = self.request.user
        if isinstance(account, Account):
            account.language = self.chosen
            account.save(update_fields=["language"])
        response = self.done(wanted_path(self.request, "home"), self.show())
        remember_language(response, self.chosen)
        return response
