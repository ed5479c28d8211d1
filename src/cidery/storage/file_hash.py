"""Hashes of files, and keys of what is read from them."""

from __future__ import annotations

import os
import time
from functools import lru_cache
from pathlib import Path

_CHUNK = 1 << 20
_RECENT = 2_000_000_000
"""Nanoseconds; two changes of a file within a few milliseconds may have the same times."""
_STATUS = 4
"""Length of the key of a file that has not changed recently."""


def identify_file(path: str | os.PathLike[str]) -> tuple[int | str, ...]:
    """Return the key of a file for caches in memory, which changes when the file does.

    It consists of size, times and number, which change when a file is written or replaced, and of
    the SHA-256 of a file that has changed recently.
    """
    path = Path(path)
    status = path.stat()
    key = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
    if time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) > _RECENT:
        return key
    return (*key, _read_digest(path))


def hash_file(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file, cached until the file changes."""
    path = Path(path)
    key = identify_file(path)
    return str(key[-1]) if len(key) > _STATUS else _hash_unchanged(path, *key)


# Weights may be gigabytes.
@lru_cache(maxsize=4096)
def _hash_unchanged(path: Path, *key: int | str) -> str:  # noqa: ARG001
    return _read_digest(path)


def _read_digest(path: Path) -> str:
    import hashlib  # loads OpenSSL, which scoring does without

    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
