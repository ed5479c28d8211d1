"""Caches on disk: small contents by key, one SQLite file each."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from cidery.errors import DataWarning
from cidery.storage.cache import Status, cache_directory

if TYPE_CHECKING:
    import sqlite3

T = TypeVar("T")

MAX_BYTES = 2 * 1024**3
"""Default size limit of a cache."""
_TABLE = "CREATE TABLE IF NOT EXISTS contents (key BLOB PRIMARY KEY, content BLOB)"
_BATCH = 500
"""Keys per query; SQLite allows 999 and more."""
_LOCK_TIMEOUT = 30.0
"""Seconds to wait while another process writes."""


@dataclass(frozen=True)
class DiskCache:
    """A cache on disk: contents that are costly to compute and depend only on their key.

    Processes may share it. No result depends on it: a damaged file is replaced by an empty one, and
    nothing is cached where the file cannot be written; both raise a DataWarning. Above `max_bytes`
    the oldest contents are removed.
    """

    name: str
    purpose: str = ""
    folder: Path | None = None
    """Default: the user's cache directory."""
    max_bytes: int = MAX_BYTES

    @property
    def path(self) -> Path:
        """The file."""
        return (self.folder or cache_directory()) / f"{self.name}-v1.sqlite"

    def load(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """Return the contents that are cached under these keys."""
        if not self._exists():
            return {}
        return self._run(lambda connection: _select(connection, keys)) or {}

    def save(self, contents: Mapping[bytes, bytes]) -> None:
        """Add contents; a key that is cached already is not changed."""
        if not contents:
            return

        def insert(connection: sqlite3.Connection) -> None:
            connection.executemany("INSERT OR IGNORE INTO contents VALUES (?, ?)", contents.items())
            _prune(connection, self.max_bytes)

        self._run(insert)

    def check(self) -> Status:
        """Return the state and size of the file."""
        import sqlite3

        if not self._exists():
            return Status(self.name, self.purpose, self.path, "empty")
        try:
            with closing(sqlite3.connect(self.path, timeout=_LOCK_TIMEOUT)) as connection:
                connection.execute("SELECT count(*) FROM contents").fetchone()
            return Status(
                self.name, self.purpose, self.path, "ready", size=self.path.stat().st_size
            )
        except (OSError, sqlite3.Error) as error:
            problem = f"{self.path}: {error}"
            return Status(self.name, self.purpose, self.path, "damaged", problem=problem)

    def remove(self) -> list[Path]:
        """Remove the file, and return the paths removed."""
        removed = [self.path] if self._exists() else []
        for path in removed:
            path.unlink(missing_ok=True)
        return removed

    def _exists(self) -> bool:
        try:
            return self.path.is_file()
        except OSError:
            return False

    def _run(self, action: Callable[[sqlite3.Connection], T]) -> T | None:
        """Run an action as one transaction; None if the file cannot be used."""
        import sqlite3  # here, since it takes half as long to import as cidery

        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with (
                closing(sqlite3.connect(self.path, timeout=_LOCK_TIMEOUT)) as connection,
                connection,
            ):
                connection.execute(_TABLE)
                return action(connection)
        except (OSError, sqlite3.OperationalError) as error:
            self._warn(
                f"cannot be used ({error}); nothing is cached. Set CIDERY_CACHE to a directory "
                "that can be written"
            )
        except sqlite3.DatabaseError as error:
            self.path.unlink(missing_ok=True)
            self._warn(f"was damaged ({error}) and is replaced by an empty one")
        return None

    def _warn(self, problem: str) -> None:
        warnings.warn(f"{self.path} {problem}", DataWarning, stacklevel=4)


CACHES: Mapping[str, DiskCache] = MappingProxyType(
    {
        cache.name: cache
        for cache in (
            DiskCache("embeddings", "cache: vectors of captions and images (keep=yes)"),
            DiskCache("scene-graphs", "cache: scene graphs of captions, for SPICE"),
            DiskCache("agreement", "cache: scores and results of cidery meta"),
        )
    }
)
"""Caches in the user's cache directory, by name."""


def _select(connection: sqlite3.Connection, keys: Iterable[bytes]) -> dict[bytes, bytes]:
    found: dict[bytes, bytes] = {}
    remaining = iter(keys)
    while batch := list(islice(remaining, _BATCH)):
        marks = ",".join("?" * len(batch))
        found.update(
            connection.execute(f"SELECT key, content FROM contents WHERE key IN ({marks})", batch)
        )
    return found


def _prune(connection: sqlite3.Connection, max_bytes: int) -> None:
    """Remove the oldest contents of a cache that is too large, until a quarter is free."""
    size = _count_bytes(connection)
    if size <= max_bytes:
        return
    while size > 0.75 * max_bytes:
        (count,) = connection.execute("SELECT count(*) FROM contents").fetchone()
        if not count:
            return
        oldest = "SELECT rowid FROM contents ORDER BY rowid LIMIT ?"
        connection.execute(f"DELETE FROM contents WHERE rowid IN ({oldest})", [max(1, count // 4)])
        size = _count_bytes(connection)


def _count_bytes(connection: sqlite3.Connection) -> int:
    """Return the size of the pages in use; those of removed contents are used again."""
    pages, unused, page_size = (
        int(connection.execute(f"PRAGMA {name}").fetchone()[0])
        for name in ("page_count", "freelist_count", "page_size")
    )
    return (pages - unused) * page_size
