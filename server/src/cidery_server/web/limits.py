"""Rate limits (the rates are in `settings.RATES`) and size limits."""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from hashlib import sha256
from http import HTTPStatus
from ipaddress import IPv4Address, ip_address, ip_network
from typing import TYPE_CHECKING, Any

from django.db import connection
from django.http import HttpRequest, HttpResponse, UnreadablePostError
from django.utils import timezone
from rest_framework.exceptions import Throttled
from rest_framework.permissions import SAFE_METHODS
from rest_framework.throttling import (
    ScopedRateThrottle,
    SimpleRateThrottle,
    UserRateThrottle,
)

from cidery_server.web.home import fail
from cidery_server.web.models import Account, Attempts
from cidery_server.web.translation import translate as _
from cidery_server.web.write_lock import writing

if TYPE_CHECKING:
    from rest_framework.request import Request
    from rest_framework.views import APIView


MAX_UPLOADS = 2
"""Files of one account that are unpacked and parsed at once."""
MAX_READING = 300
"""Seconds after which a process that was to read a file has died."""
MAX_WAIT = 60.0
POLL_SECONDS = 0.1
COUNTING = 0x63696465727901
"""The lock of PostgreSQL under which requests are counted: an arbitrary constant."""


class StoredCounts:
    """Cache of counts in the database, which stores them until they expire."""

    def get(self, key: str, default: Any) -> Any:
        """Return the times of a key's attempts."""
        found = Attempts.objects.filter(key=_fit(key), expires__gt=timezone.now()).first()
        return default if found is None else found.times

    def set(self, key: str, times: list[float], seconds: float) -> None:
        """Keep the times of a key's attempts for some seconds."""
        now = timezone.now()
        Attempts.objects.filter(expires__lte=now).delete()
        content = {"times": times, "expires": now + timedelta(seconds=seconds)}
        Attempts.objects.update_or_create(key=_fit(key), defaults=content)


def _fit(key: str) -> str:
    """Return a key that fits the column, for any address that a proxy sends."""
    return key if len(key) <= 100 and key.isprintable() else sha256(key.encode()).hexdigest()


@contextmanager
def counting() -> Iterator[None]:
    """Lock the counts; SQLite allows one writer anyway."""
    with writing():
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_xact_lock(%s)", [COUNTING])
        yield


@contextmanager
def reading_upload(account: Account, timeout: float = MAX_WAIT) -> Iterator[None]:
    """Wait for one of the few upload slots of an account, and take it."""
    key, counts, started = f"upload-{account.pk}", StoredCounts(), time.time()

    def others() -> list[float]:
        found = [one for one in counts.get(key, []) if started - one < MAX_READING]
        return [one for one in found if one != started]

    def take() -> bool:
        with counting():
            if len(others()) >= MAX_UPLOADS:
                return False
            counts.set(key, [started, *others()], MAX_READING)
            return True

    while not take():
        if time.time() - started >= timeout:
            raise Throttled(
                detail=_(
                    "Your account is sending {most_uploads} files already; wait for them."
                ).format(most_uploads=MAX_UPLOADS)
            )
        time.sleep(POLL_SECONDS)
    try:
        yield
    finally:
        with counting():
            counts.set(key, others(), MAX_READING)


class AtomicThrottle(SimpleRateThrottle):
    """Counts requests one by one.

    REST framework reads the count, then writes it: of a hundred requests at once all read the same,
    and a hundred count as one.
    """

    cache = StoredCounts()  # type: ignore[assignment]  # it has what is called of a cache

    def get_ident(self, request: Request) -> str:
        """Return the address of a visitor; of IPv6 the network that one customer has."""
        address = str(super().get_ident(request))
        try:
            found = ip_address(address.strip().strip("[]"))
        except ValueError:
            return address
        if isinstance(found, IPv4Address):
            return str(found)
        return str(found.ipv4_mapped or ip_network((found, 64), strict=False))

    def allow_request(self, request: Request, view: APIView) -> bool:
        """Count within a transaction."""
        with counting():
            return super().allow_request(request, view)


class WriteLimit(AtomicThrottle, ScopedRateThrottle):
    """Counts requests of an account, or of an address, to pages with a `throttle_scope`."""

    def allow_request(self, request: Request, view: APIView) -> bool:
        """Count requests that write; reading is not limited."""
        return request.method in SAFE_METHODS or super().allow_request(request, view)


class AccountLimit(AtomicThrottle):
    """Counts attempts to sign in to one account, from wherever they come."""

    scope = "sign-in-account"
    name = ""

    def allow_request(self, request: Request, view: APIView) -> bool:
        """Count attempts after the request is read, so that a slow sender does not block others."""
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
    """Counts the comparisons that an account, or an anonymous visitor's address, has workers do."""

    scope = "compare"

    def check(self, request: Request, view: APIView) -> None:
        """Count a comparison, or refuse it; cached ones are not counted."""
        if not self.allow_request(request, view):
            raise Throttled(self.wait())


MEGABYTE = 1024 * 1024
MAX_FILES_BYTES = 55 * MEGABYTE
MAX_BODY_BYTES = 5 * MEGABYTE
MAX_DISCARDED_BYTES = 2 * MAX_FILES_BYTES
"""Bytes of a refused request that are read and discarded, at most."""


class SizeLimit:
    """Refuses large requests before they are parsed or spooled.

    The body of a refused request is read to its end before the response: gunicorn closes the
    connection of a client that is still sending, which then never sees the reason.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Check the declared length, which is required."""
        has_files = request.content_type == "multipart/form-data"
        largest = MAX_FILES_BYTES if has_files else MAX_BODY_BYTES
        try:
            length = int(request.headers.get("Content-Length") or 0)
        except ValueError:
            length = 0
        if length > largest:
            message = _("This is larger than {largest} MB.").format(largest=largest // MEGABYTE)
            response = fail(request, 413, message)
        else:
            response = self.get_response(request)
        if response.status_code >= HTTPStatus.BAD_REQUEST:
            _discard_body(request, min(length, MAX_DISCARDED_BYTES))
        return response


def _discard_body(request: HttpRequest, length: int) -> None:
    with suppress(UnreadablePostError):  # the sender went away
        while length > 0 and (block := request.read(min(length, MEGABYTE))):
            length -= len(block)
