"""Addresses: every page at its path, and its JSON endpoint below `/api`."""

from __future__ import annotations

from importlib import import_module

from django.conf import settings
from django.urls import URLPattern, URLResolver, include, path

from cidery_server.web import accounts, home, languages

pages: list[URLPattern | URLResolver] = [
    path("", home.Home.as_view(), name="home"),
    path("health", home.Health.as_view(), name="health"),
    path("api-guide", home.ApiGuide.as_view(), name="api-guide"),
    path("language", languages.LanguagePage.as_view(), name="language"),
    path("sign-up", accounts.SignUp.as_view(), name="sign-up"),
    path("sign-in", accounts.SignIn.as_view(), name="sign-in"),
    path("sign-out", accounts.SignOut.as_view(), name="sign-out"),
    path("account", accounts.AccountPage.as_view(), name="account"),
    path("account/password", accounts.ChangePassword.as_view(), name="change-password"),
    path("account/tokens/<slug:key>/revoke", accounts.RevokeToken.as_view(), name="revoke-token"),
    path("accounts", accounts.Accounts.as_view(), name="accounts"),
    path(
        "set-password/<slug:account>/<slug:key>",
        accounts.SetPassword.as_view(),
        name="set-password",
    ),
]
for app in settings.APPS_WITH_PAGES:
    pages += import_module(f"{app}.urls").urlpatterns

urlpatterns = [
    *pages,
    path("openapi.json", home.OpenApi.as_view(), name="openapi"),
    path("api/", include((pages, "api")), {"format": "json"}),
]
handler404 = "cidery_server.web.home.not_found"
handler500 = "cidery_server.web.home.server_error"
