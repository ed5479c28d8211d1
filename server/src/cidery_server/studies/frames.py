"""Studies inside the pages of a crowdsourcing site, which shows them in a frame.

Browsers send no cookies to a page in another site's frame. There a signed token in the address says
who the judge is. It also takes the place of the CSRF token: another site cannot know it, and a
request that has one uses no cookie.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.core.signing import BadSignature, Signer
from django.urls import reverse
from django.utils.translation import override
from rest_framework.request import Request
from rest_framework.response import Response

from cidery_server.studies.queries import find_frames
from cidery_server.web.authentication import BearerAuthentication, CheckedSessionAuthentication
from cidery_server.web.pages import Page

TOKEN_PARAMETER = "as"


def make_token(study: str, judge: int) -> str:
    """Return the token that identifies the judge in an address."""
    return _signer(study).sign(str(judge))


def read_token(study: str, token: str) -> int | None:
    """Return the judge of a token, if it is one of ours, of this study."""
    try:
        return int(_signer(study).unsign(token))
    except BadSignature:
        return None


def _signer(study: str) -> Signer:
    return Signer(salt=f"cidery.studies.framed.{study}")


def task_address(study: str, token: str) -> str:
    """Return the address of a judge's items, with their token if they have one."""
    path = reverse("study-task", kwargs={"name": study})
    return f"{path}?{urlencode({TOKEN_PARAMETER: token})}" if token else path


class FramedSessionAuthentication(CheckedSessionAuthentication):
    """Session authentication without a CSRF token if no cookie identifies the judge."""

    def enforce_csrf(self, request: Request) -> None:
        """Accept requests with a token, or with an invite to a framed study."""
        view: Any = (request.parser_context or {}).get("view")
        if view is None or not view.is_framed:
            super().enforce_csrf(request)


class FramedPage(Page):
    """A page for judges that the sites named in the study may show in a frame."""

    authentication_classes = (BearerAuthentication, FramedSessionAuthentication)
    form_sites: tuple[str, ...] = ()
    """Other sites that the page's forms may send to."""

    @cached_property
    def _settings(self) -> tuple[str, str]:
        """The sites that may show the study, and its language."""
        return find_frames(self.kwargs["name"]) or ("", "en")

    @property
    def sites(self) -> list[str]:
        """The sites that may show this page."""
        return self._settings[0].split()

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the response in the language of the study."""
        self.kwargs = kwargs
        with override(self._settings[1]):
            response: Any = super().dispatch(request, *args, **kwargs)
            # It would be rendered later, in the language of the installation.
            return response.render() if hasattr(response, "render") else response

    @property
    def is_framed(self) -> bool:
        """True if no cookies are used for this request."""
        return bool(self.sites)

    def finalize_response(
        self, request: Request, response: Any, *args: Any, **kwargs: Any
    ) -> Response:
        """Set the sites that may show the page in a frame."""
        final: Any = super().finalize_response(request, response, *args, **kwargs)
        if self.sites:
            final.xframe_options_exempt = True
            final._csp_replace = {
                "frame-ancestors": ["'self'", *self.sites],
                "form-action": ["'self'", *self.form_sites],
            }
        return final  # type: ignore[no-any-return]
