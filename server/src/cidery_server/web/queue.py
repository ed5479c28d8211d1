"""Background jobs, on Huey: an SQLite file on one machine, PostgreSQL or Redis on several.

The queue may deliver a job twice, or lose one when a worker dies. So a job only names a row:
the database says what is to be done, jobs claim it there, and periodic jobs find what was lost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import huey
from django.conf import settings
from django.db import close_old_connections
from huey.consumer import Consumer, Scheduler
from huey.serializer import SignedSerializer


def _open_queue() -> Any:
    options = dict(settings.QUEUE)
    make = getattr(huey, options.pop("class"))
    # Jobs are pickles: a writer to the broker must not be able to run code here.
    serializer = SignedSerializer(secret=settings.SECRET_KEY, salt="cidery.queue")
    return make("cidery", results=False, serializer=serializer, **options)


queue = _open_queue()
SWEEP_SECONDS = settings.LEASE_SECONDS / 2


class WorkerScheduler(Scheduler):  # type: ignore[misc]  # Huey has no types
    """Huey's scheduler with periodic jobs twice per lease instead of every minute."""

    periodic_task_seconds = SWEEP_SECONDS


class WorkerConsumer(Consumer):  # type: ignore[misc]
    """Huey's consumer with that scheduler."""

    scheduler_class = WorkerScheduler


def sweep(function: Callable[[], None]) -> Any:
    """Make a job of a function that workers run when they start, and then twice per lease.

    Every worker queues it. While all workers are busy with long jobs, those that have waited for
    their turn too long expire, so that they do not pile up.
    """
    periodic = queue.periodic_task(lambda _now: True, expires=SWEEP_SECONDS)
    return periodic(function)


@queue.pre_execute()  # type: ignore[untyped-decorator]
def _before(_task: Any) -> None:
    close_old_connections()


@queue.post_execute()  # type: ignore[untyped-decorator]
def _after(_task: Any, _value: Any, _error: Any) -> None:
    close_old_connections()
