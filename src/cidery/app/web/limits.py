"""How often something may be tried (the rates are in `settings.RATES`), and how large it may be."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from http import HTTPStatus
from typing import TYPE_CHECKING

from django.db import connection, transaction
from django.http import HttpRequest, HttpResponse, UnreadablePostError
from rest_framework.exceptions import Throttled
from rest_framework.permissions import SAFE_METHODS
from rest_framework.throttling import (
    ScopedRateThrottle,
    SimpleRateThrottle,
    UserRateThrottle,
)

from cidery.app.web.home import fail

if TYPE_CHECKING:
    from rest_framework.request import Request
    from rest_framework.views import APIView


COUNTING = 0x63696465727901
"""The lock of PostgreSQL under which requests are counted: any number that nobody else uses."""


class AtomicThrottle(SimpleRateThrottle):
    """Counts requests one by one.

    REST framework reads the count, then writes it: of a hundred requests at once all read the same,
    and a hundred count as one.
    """

    def allow_request(self, request: Request, view: APIView) -> bool:
        """Count within a transaction, which SQLite gives to one at a time."""
        with transaction.atomic():
            if connection.vendor == "postgresql":
                with connection.cursor() as cursor:
                    cursor.execute("SELECT pg_advisory_xact_lock(%s)", [COUNTING])
            return super().allow_request(request, view)


class WriteLimit(AtomicThrottle, ScopedRateThrottle):
    """Counts what an account, or a stranger's address, sends to pages with a `throttle_scope`."""

    def allow_request(self, request: Request, view: APIView) -> bool:
        """Count what writes; reading is free."""
        return request.method in SAFE_METHODS or super().allow_request(request, view)


class AccountLimit(AtomicThrottle):
    """Counts attempts to sign in to one account, from wherever they come."""

    scope = "sign-in-account"
    name = ""

    def allow_request(self, request: Request, view: APIView) -> bool:
        """Count attempts; the request is read before, so that nobody waits for a slow sender."""
        if request.method in SAFE_METHODS or not isinstance(request.data, dict):
            return True
        self.name = str(request.data.get("name", ""))
        return super().allow_request(request, view)

    def get_cache_key(self, request: Request, view: APIView) -> str:  # noqa: ARG002
        """Return a key for the name that was typed, however it was written."""
        # Where databases compare without regard to capitals, a long s is an S, too.
        name = unicodedata.normalize("NFKC", self.name).strip().upper()
        return f"sign-in-{sha256(name.encode(errors='replace')).hexdigest()}"


class CompareLimit(AtomicThrottle, UserRateThrottle):
    """Counts the comparisons that an account, or a stranger's address, has workers do."""

    scope = "compare"

    def check(self, request: Request, view: APIView) -> None:
        """Count one, or refuse it: most requests of the page cost nothing and are not counted."""
        if not self.allow_request(request, view):
            raise Throttled(self.wait())


MEGABYTE = 1024 * 1024
LARGEST_FILES = 55 * MEGABYTE
LARGEST_BODY = 5 * MEGABYTE
LARGEST_DISCARDED = 2 * LARGEST_FILES
"""Bytes of a refused request that are read and discarded, at most."""


class SizeLimit:
    """Refuses what is too large before a byte of it is parsed or spooled.

    The body of a refused request is read to its end before the response: gunicorn closes the
    connection of a client that is still sending, which then never sees the reason.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Look at the length, without which nothing is read at all."""
        has_files = request.content_type == "multipart/form-data"
        largest = LARGEST_FILES if has_files else LARGEST_BODY
        try:
            length = int(request.headers.get("Content-Length") or 0)
        except ValueError:
            length = 0
        if length > largest:
            response = fail(request, 413, f"This is larger than {largest // MEGABYTE} MB.")
        else:
            response = self.get_response(request)
        if response.status_code >= HTTPStatus.BAD_REQUEST:
            _discard_body(request, min(length, LARGEST_DISCARDED))
        return response


def _discard_body(request: HttpRequest, length: int) -> None:
    with suppress(UnreadablePostError):  # the sender went away
        while length > 0 and (block := request.read(min(length, MEGABYTE))):
            length -= len(block)
