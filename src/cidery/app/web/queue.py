"""Background work, on Huey: an SQLite file on one machine, PostgreSQL or Redis on several.

The queue may deliver a job twice, or lose one when a worker dies. So a job is only a hint: the
database says what is to be done, jobs claim it there, and sweeps send the hint again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import huey
from django.conf import settings
from django.db import close_old_connections
from huey.serializer import SignedSerializer


def _open_queue() -> Any:
    options = dict(settings.QUEUE)
    make = getattr(huey, options.pop("class"))
    # Jobs are pickles: whoever can write to the broker must not be able to run code here.
    serializer = SignedSerializer(secret=settings.SECRET_KEY, salt="cidery.queue")
    return make("cidery", results=False, serializer=serializer, **options)


queue = _open_queue()
SWEEPS: list[Callable[[], None]] = []


def sweep(function: Callable[[], None]) -> Callable[[], None]:
    """Register a function that every worker calls when it starts and then twice per lease."""
    SWEEPS.append(function)
    return function


@queue.pre_execute()  # type: ignore[untyped-decorator]
def _before(_task: Any) -> None:
    close_old_connections()


@queue.post_execute()  # type: ignore[untyped-decorator]
def _after(_task: Any, _value: Any, _error: Any) -> None:
    close_old_connections()
