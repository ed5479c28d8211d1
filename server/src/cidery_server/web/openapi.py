"""The API's description: drf-spectacular reads the pages' serializers."""

from __future__ import annotations

from typing import Any

from drf_spectacular.openapi import AutoSchema
from rest_framework import serializers

from cidery_server.web.pages import FormPage, Page
from cidery_server.web.roles import Role

API = "/api/"
ERRORS = (400, 401, 403, 404, 406, 413, 415, 429)


class Problem(serializers.Serializer[Any]):
    """Error message."""

    detail = serializers.CharField()
    errors = serializers.DictField(  # type: ignore[assignment]  # fields leave the class
        required=False, help_text="Problems by field, if a form is not valid."
    )


def keep_endpoints(endpoints: list[Any]) -> list[Any]:
    """Describe the JSON endpoints only: pages are for people."""
    return [endpoint for endpoint in endpoints if endpoint[0].startswith(API)]


class EndpointSchema(AutoSchema):
    """Takes a page's serializers for the description of its JSON endpoint."""

    def _role(self) -> Role:
        assert isinstance(self.view, Page)
        return self.view.role if self.method == "GET" else self.view.role_to_write()

    def get_operation_id(self) -> str:
        """Name an operation by its page and method."""
        return f"{type(self.view).__name__}_{self.method.lower()}"

    def get_description(self) -> str:  # type: ignore[override]  # as in AutoSchema
        """Describe an operation by the page's first sentence and who may call it."""
        summary = (type(self.view).__doc__ or "").strip().partition("\n")[0]
        return f"{summary} Open to: {self._role().value}."

    def get_tags(self) -> list[str]:
        """Group operations by app."""
        return [type(self.view).__module__.split(".")[1]]

    def get_auth(self) -> list[dict[str, list[str]]]:
        """Return the authentication that a call requires."""
        schemes: list[dict[str, list[str]]] = [{"token": []}, {"session": []}]
        return [*schemes, {}] if self._role() is Role.ANYONE else schemes

    def map_renderers(self, attribute: str) -> list[Any]:  # noqa: ARG002
        """Return JSON as the only media type."""
        return ["application/json"]

    def map_parsers(self) -> list[Any]:
        """Return the media type of requests: multipart for files."""
        if isinstance(self.view, FormPage) and self.view.has_files:
            return ["multipart/form-data"]
        return ["application/json", "application/x-www-form-urlencoded", "multipart/form-data"]

    def get_override_parameters(self) -> list[Any]:
        """Return the parameters of the query string."""
        assert isinstance(self.view, Page)
        reads = self.method == "GET" and self.view.queries is not None
        return [self.view.queries] if reads else []

    def get_request_serializer(self) -> Any:
        """Return the form."""
        return self.view.form if isinstance(self.view, FormPage) else None

    def _map_basic_serializer(self, serializer: Any, direction: str) -> dict[str, Any]:
        """Forbid additional fields; see `FormPage.post`."""
        found: dict[str, Any] = super()._map_basic_serializer(  # type: ignore[no-untyped-call]
            serializer, direction
        )
        return found | {"additionalProperties": False} if direction == "request" else found

    def get_response_serializers(self) -> Any:
        """Return the serializers of responses and of errors."""
        errors: dict[int, Any] = dict.fromkeys(ERRORS, Problem)
        assert isinstance(self.view, Page)
        if self.method == "GET":
            return {200: self.view.shows, **errors}
        assert isinstance(self.view, FormPage)
        if self.view.accepts is None:
            return {204: None, **errors}
        return {self.view.accepted_status: self.view.accepts, **errors}
