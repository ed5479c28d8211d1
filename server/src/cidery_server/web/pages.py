"""Pages and their JSON endpoints: one view, one set of data, two renderings.

`/challenges/x` and `/api/challenges/x` are the same view. A page says what it shows as the
fields of a serializer; its template gets these data and nothing else, so that whatever a page shows
is also in the JSON, and what the JSON may not show no template can leak.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import messages
from django.http import Http404, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import resolve_url
from django.utils.http import url_has_allowed_host_and_scheme, urlencode
from django.utils.translation import gettext_lazy
from rest_framework import status
from rest_framework.exceptions import NotAuthenticated, NotFound, ParseError, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer
from rest_framework.views import APIView, exception_handler

from cidery_server.web.roles import Role
from cidery_server.web.translation import translate as _

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

CSRF_FIELD = "csrfmiddlewaretoken"
_NOT_FOUND = re.compile(r"No (\w+) matches the given query\.")
"""Django's own message, which is for programmers."""
NO_SUCH = {
    "Account": gettext_lazy("There is no such account."),
    "Announcement": gettext_lazy("There is no such announcement."),
    "Assignment": gettext_lazy("There is no such assignment."),
    "AuthToken": gettext_lazy("There is no such auth token."),
    "Challenge": gettext_lazy("There is no such challenge."),
    "ChallengeFile": gettext_lazy("There is no such file."),
    "Item": gettext_lazy("There is no such item."),
    "Judge": gettext_lazy("There is no such judge."),
    "Study": gettext_lazy("There is no such study."),
    "Submission": gettext_lazy("There is no such submission."),
}
"""Messages in place of Django's, by the name of the model."""


class Page(APIView):
    """A page and its JSON endpoint. `show` returns what it has to say, in the shape of `shows`."""

    role: ClassVar[Role]
    writers: ClassVar[Role | None] = None
    """Role required to write, if it differs from the one to read."""
    template_name: ClassVar[str]
    shows: ClassVar[type[Serializer[Any]]]
    queries: ClassVar[type[Serializer[Any]] | None] = None
    """Serializer of the query string."""
    filled_form: Serializer[Any] | None = None
    problems: Mapping[str, Any] = MappingProxyType({})
    """Errors of the form, by field."""

    @classmethod
    def role_to_write(cls) -> Role:
        """Return the role that POST requires."""
        return cls.writers or cls.role

    @property
    def is_html(self) -> bool:
        """True for a request of a browser, not of a program."""
        return getattr(self.request.accepted_renderer, "format", "html") == "html"

    def show(self) -> Any:
        """Return an object or a mapping with the fields of `shows`; the address is in `kwargs`."""
        raise NotImplementedError

    def read_query(self) -> dict[str, Any]:
        """Return the query string, validated by `queries`."""
        assert self.queries is not None
        query = self.queries(data=self.request.query_params)
        if not query.is_valid():
            problems = (f"{field}: {' '.join(map(str, e))}" for field, e in query.errors.items())
            raise ParseError("; ".join(problems).replace("non_field_errors: ", ""))
        found: dict[str, Any] = query.validated_data
        return found

    def get(self, _request: Request, **_address: Any) -> HttpResponseBase:
        """Show the page."""
        return self.render()

    def render(self, code: int = status.HTTP_200_OK) -> Response:
        """Return the current page."""
        context = {"request": self.request, "view": self}
        return Response(self.shows(self.show(), context=context).data, status=code)

    def handle_exception(self, exc: Exception) -> Response:
        """Redirect anonymous visitors to the sign-in page."""
        if isinstance(exc, NotAuthenticated) and self._negotiated_html():
            query = urlencode({"next": self.request.path})
            redirect: Any = HttpResponseRedirect(f"{resolve_url('sign-in')}?{query}")
            return redirect  # type: ignore[no-any-return]  # any response will do
        return super().handle_exception(exc)

    def _negotiated_html(self) -> bool:
        return hasattr(self.request, "accepted_renderer") and self.is_html


@dataclass(frozen=True)
class Group:
    """Fields of a long form that belong together, as one step of it."""

    title: StrOrPromise
    rows: Sequence[Sequence[str]]
    """Names of fields; those of a row are side by side if there is space."""
    about: StrOrPromise = ""
    folded: bool = False
    """True if it is collapsed at first; all its fields have defaults."""
    only_for: str = ""
    """Values of the deciding field for which this group is shown."""


class LabeledForm(Serializer[Any]):
    """A form whose labels are defined in one place."""

    labels: ClassVar[Mapping[str, StrOrPromise]] = MappingProxyType({})
    """Labels of fields whose names are not clear."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        for name, label in self.labels.items():
            if name in self.fields:
                self.fields[name].label = label


class GroupedForm(LabeledForm):
    """A form that is shown in steps, all sent at once."""

    groups: ClassVar[Sequence[Group]]

    def shown_groups(self) -> Iterator[dict[str, Any]]:
        """Yield the steps with their fields, as templates show them; wrong ones are open."""
        for group in self.groups:
            names = [[name for name in row if name in self.fields] for row in group.rows]
            rows = [[self[name] for name in row] for row in names if row]
            if rows:
                has_errors = any(field.errors for row in rows for field in row)
                yield {
                    "group": group,
                    # Of what is there already, it does not say what is so by default.
                    "about": "" if self.instance else group.about,
                    "rows": rows,
                    "open": has_errors or not group.folded,
                }


class FormPage(Page):
    """A page with a form; the JSON endpoint takes the same fields."""

    form: ClassVar[type[Serializer[Any]]]
    accepts: ClassVar[type[Serializer[Any]] | None] = None
    """Response of the JSON endpoint to a valid form. Default: empty."""
    accepted_status: ClassVar[int] = status.HTTP_201_CREATED
    has_files: ClassVar[bool] = False

    def accept(self, values: dict[str, Any]) -> HttpResponseBase:
        """Process the form, and return `done(…)`."""
        raise NotImplementedError

    def make_form(self, data: Any = None) -> Serializer[Any]:
        """Return the form, empty or filled."""
        context = {"request": self.request, "view": self}
        if data is None:
            return self.form(context=context)
        return self.form(data=data, context=context)

    def get(self, _request: Request, **address: Any) -> HttpResponseBase:
        """Show the page with an empty form."""
        self.filled_form = self.make_form()
        return super().get(_request, **address)

    def post(self, request: Request, **_address: Any) -> HttpResponseBase:
        """Process the form, or show it again with its errors."""
        form = self.make_form(request.data)
        try:
            if not self.is_html:
                _refuse_unknown(form, request.data)
            form.is_valid(raise_exception=True)
            return self.accept(form.validated_data)
        except ValidationError as error:
            if not self.is_html:
                raise
            self.problems = _by_field(error.detail)
            form._errors = self.problems  # type: ignore[attr-defined]  # what fields show
            self.filled_form = form
            return self.render(status.HTTP_400_BAD_REQUEST)

    def done(
        self, to: Any, result: Any = None, *, message: str = "", **address: Any
    ) -> HttpResponseBase:
        """Redirect a browser to another page; send a program the result."""
        if self.is_html:
            if message:
                messages.success(self.request, message)
            return HttpResponseRedirect(resolve_url(to, **address))
        if self.accepts is None:
            return Response(status=status.HTTP_204_NO_CONTENT)
        context = {"request": self.request, "view": self}
        return Response(self.accepts(result, context=context).data, status=self.accepted_status)


def wanted_path(request: Request, otherwise: str) -> str:
    """Return the local path in `?next=`, or another page."""
    wanted: str = request.query_params.get("next", "")
    # A path: Django would take a bare word for the name of a page, which there may not be.
    ours = wanted.startswith("/") and url_has_allowed_host_and_scheme(
        wanted, allowed_hosts=None, require_https=request.is_secure()
    )
    return wanted if ours else otherwise


def explain(exc: Exception, context: Mapping[str, Any]) -> Response | None:
    """Turn errors into `{"detail": …}`, or `{"errors": {field: [messages]}}` for a form."""
    if isinstance(exc, Http404) and (unfound := _NOT_FOUND.fullmatch(str(exc))):
        exc = NotFound(NO_SUCH.get(unfound[1], gettext_lazy("There is no such page.")))
    response = exception_handler(exc, dict(context))
    if response is not None and isinstance(exc, ValidationError):
        response.data = {"detail": _("The form has errors."), "errors": _by_field(response.data)}
    return response


def _refuse_unknown(form: Serializer[Any], data: Any) -> None:
    """Raise a ValidationError for a field that the form has not.

    It may be misspelled, and what it should say, such as that a submission is private, be lost.
    """
    if isinstance(data, Mapping):
        known = [name for name, one in form.fields.items() if not one.read_only]
        unknown = [name for name in data if name not in (*known, CSRF_FIELD)]
        if unknown:
            message = f"There is no such field; there are: {', '.join(known)}."
            raise ValidationError({name: [message] for name in unknown})


def _by_field(detail: Any) -> dict[str, Any]:
    return detail if isinstance(detail, dict) else {"non_field_errors": detail}
