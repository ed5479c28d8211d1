"""The first page, the health check and the page that describes the API."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from datetime import timedelta
from functools import cache
from typing import Any

from django.conf import settings
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import override
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.views import SpectacularJSONAPIView
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from cidery_server.web.models import Attempts
from cidery_server.web.navigation import app_links
from cidery_server.web.pages import Page
from cidery_server.web.roles import Role
from cidery_server.web.translation import translate as _

HEALTH_SECONDS = 5
log = logging.getLogger(__name__)


class AppData(serializers.Serializer[Any]):
    """An app."""

    heading = serializers.CharField()
    summary = serializers.CharField()
    path = serializers.CharField()


class HomeData(serializers.Serializer[Any]):
    """The apps."""

    apps = AppData(many=True)


class Home(Page):
    """Shows the apps."""

    role = Role.ANYONE
    template_name = "web/home.html"
    shows = HomeData

    def show(self) -> Any:
        """Return a link to each app."""
        return {"apps": app_links()}


class HealthData(serializers.Serializer[Any]):
    """True if the app works."""

    status = serializers.CharField()


class Health(Page):
    """Health check for load balancers: the app responds and its database is writable."""

    role = Role.ANYONE
    template_name = "web/health.html"
    shows = HealthData
    problem = ""

    def get(self, _request: Request, **_address: Any) -> HttpResponseBase:
        """Answer with 503 if a load balancer should send no requests."""
        self.problem = find_problem()
        return self.render(503 if self.problem else 200)

    def show(self) -> Any:
        """Return the status of the app."""
        return {"status": self.problem or "ok"}


def find_problem() -> str:
    """Return the reason if the database is not writable, such as a full disk."""
    # A write of a few seconds ago is enough: anyone may send requests.
    try:
        if not Attempts.objects.filter(key="health", expires__gt=timezone.now()).exists():
            content = {"times": [], "expires": timezone.now() + timedelta(seconds=HEALTH_SECONDS)}
            Attempts.objects.update_or_create(key="health", defaults=content)
    except DatabaseError as error:
        log.error("the database cannot be written to: %s", error)
        return _("the database is not writable")
    return ""


class Operation(serializers.Serializer[Any]):
    """A call of the API."""

    method = serializers.CharField()
    path = serializers.CharField()
    description = serializers.CharField()
    inputs = serializers.ListField(child=serializers.DictField())


class ApiGuideData(serializers.Serializer[Any]):
    """The API's calls, by app."""

    apps = serializers.DictField(child=Operation(many=True))


class ApiGuide(Page):
    """Describes the API to people; `/openapi.json` describes it to programs."""

    role = Role.ANYONE
    template_name = "web/api_guide.html"
    shows = ApiGuideData

    def show(self) -> Any:
        """Return the operations of the description, grouped."""
        schema = describe_api()
        apps: dict[str, list[dict[str, Any]]] = {}
        for path, methods in schema["paths"].items():
            for method, operation in methods.items():
                apps.setdefault(operation["tags"][0], []).append(
                    {
                        "method": method.upper(),
                        "path": path,
                        "description": operation["description"],
                        "inputs": list(_list_inputs(operation, schema)),
                    }
                )
        return {"apps": apps}


def _list_inputs(operation: Any, schema: Any) -> Iterator[dict[str, Any]]:
    """Yield the fields of an operation's form, if it has one."""
    content = operation.get("requestBody", {}).get("content", {})
    for media in list(content.values())[:1]:
        name = media["schema"].get("$ref", "").rpartition("/")[2]
        form = schema["components"]["schemas"].get(name, {})
        for field, described in form.get("properties", {}).items():
            yield {
                "name": field,
                "required": field in form.get("required", ()),
                "description": described.get("description", ""),
            }


@cache
def describe_api() -> Any:
    """Return the description of the API, which is cached for the life of the process."""
    with override(settings.LANGUAGE_CODE):
        described = SchemaGenerator().get_schema(public=True)  # type: ignore[no-untyped-call]
        # Its texts are looked up when they are written, in whichever language that is.
        return json.loads(json.dumps(described, default=str))


class OpenApi(SpectacularJSONAPIView):
    """The description of the API, for programs."""

    role = Role.ANYONE
    permission_classes = ()
    authentication_classes = ()

    def get(self, _request: Request) -> Response:
        """Send the cached description."""
        return Response(describe_api())


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001
    """Answer a request for a page that does not exist."""
    return fail(request, 404, _("There is no such page."))


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer after a failure, without details: the log has the traceback."""
    return fail(request, 500, _("An error occurred on the server. It has been logged."))


def fail(request: HttpRequest, status: int, detail: str) -> HttpResponse:
    """Return an error response: JSON for programs, a page for people."""
    if request.path.startswith("/api/"):
        return JsonResponse({"detail": detail}, status=status)
    context = {"status": status, "detail": detail}
    return render(request, "web/error.html", context, status=status)
