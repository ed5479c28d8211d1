"""Small contents by key, in one SQLite file of the user's cache directory."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from cidery.errors import DataWarning
from cidery.storage.cache import cache_directory

if TYPE_CHECKING:
    import sqlite3

T = TypeVar("T")

_TABLE = "CREATE TABLE IF NOT EXISTS contents (key BLOB PRIMARY KEY, content BLOB)"
_AT_ONCE = 500
"""Keys in one query; SQLite takes 999 and more."""
_PATIENCE = 30.0
"""Seconds to wait while another process writes."""


@dataclass(frozen=True)
class DiskCache:
    """A cache on disk: contents that are costly to compute and depend on their key alone.

    Processes may share it. No result depends on it: a damaged file is replaced by an empty one, and
    where none can be written, nothing is kept; a DataWarning says so.
    """

    name: str

    @property
    def path(self) -> Path:
        """The file."""
        return cache_directory() / f"{self.name}-v1.sqlite"

    def load(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """Return the contents that are kept under these keys."""
        if not self.path.exists():
            return {}
        return self._run(lambda connection: _select(connection, keys)) or {}

    def save(self, contents: Mapping[bytes, bytes]) -> None:
        """Keep contents; what is there already stays."""
        if not contents:
            return
        self._run(
            lambda connection: connection.executemany(
                "INSERT OR IGNORE INTO contents VALUES (?, ?)", contents.items()
            )
        )

    def _run(self, action: Callable[[sqlite3.Connection], T]) -> T | None:
        """Do something with the file as one transaction; None where that cannot be."""
        import sqlite3  # only where something is kept: it takes as long to import as half of cidery

        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path, timeout=_PATIENCE)) as connection, connection:
                connection.execute(_TABLE)
                return action(connection)
        except (OSError, sqlite3.OperationalError) as error:
            self._warn(
                f"cannot be used ({error}), so nothing is kept there; set CIDERY_CACHE to a "
                "directory that can be written"
            )
        except sqlite3.DatabaseError as error:
            self.path.unlink(missing_ok=True)
            self._warn(f"was damaged ({error}) and is replaced by an empty one")
        return None

    def _warn(self, problem: str) -> None:
        warnings.warn(f"{self.path} {problem}", DataWarning, stacklevel=4)


def _select(connection: sqlite3.Connection, keys: Iterable[bytes]) -> dict[bytes, bytes]:
    found: dict[bytes, bytes] = {}
    remaining = iter(keys)
    while batch := list(islice(remaining, _AT_ONCE)):
        marks = ",".join("?" * len(batch))
        found.update(
            connection.execute(f"SELECT key, content FROM contents WHERE key IN ({marks})", batch)
        )
    return found
