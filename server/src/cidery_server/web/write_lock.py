"""Lock for writing to SQLite, which allows one writing transaction at a time.

SQLite has everyone else ask again after 1, 2, 5 … 100 ms, and lets in who happens to ask next: when
two hundred judges answer, some ask in vain for a second. The kernel's lock of a file wakes the next
as soon as it is free, about in the order in which they came, across threads and processes; a
process that dies gives it back. PostgreSQL needs none of this.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from django.db import connection, transaction


@contextmanager
def writing() -> Iterator[None]:
    """Run a short writing transaction under the lock."""
    with _turn() if _takes_turns() else nullcontext(), transaction.atomic():
        yield


def _takes_turns() -> bool:
    """Return True if the lock is needed: not within a transaction."""
    return connection.vendor == "sqlite" and not connection.in_atomic_block


@contextmanager
def _turn() -> Iterator[None]:
    file = _lock(f"{connection.settings_dict['NAME']}-turn")
    try:
        yield
    finally:
        if file is not None:
            os.close(file)  # which ends the turn


def _lock(path: str) -> int | None:
    """Wait for the lock and return its file; None if it cannot be created, as on a full disk.

    What is written is right without it: SQLite has a lock of its own.
    """
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
    except OSError:
        os.close(file)
        return None
    return file
