"""Compiled data in the user's cache directory: built at first use, checked at every use."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Generic, Literal, TypeVar

from cidery.errors import DataError, DataWarning
from cidery.runtime import ProgressCallback, current_progress
from cidery.storage.atomic import write_atomically

T = TypeVar("T")


def cache_directory() -> Path:
    """Return the cache directory: `CIDERY_CACHE`, or that of the user."""
    chosen = os.environ.get("CIDERY_CACHE")
    if chosen:
        return Path(chosen)
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("cidery", appauthor=False))


def _need_nothing() -> None:
    """Do nothing, for resources without sources."""


@dataclass(frozen=True)
class Resource(Generic[T]):
    """Data that are compiled once from another package, and cached as one file."""

    name: str
    version: int
    """Version of the file format; other versions are ignored."""
    purpose: str
    build: Callable[[ProgressCallback], bytes]
    """Function that returns the content of the file."""
    open: Callable[[Path | bytes], T]
    """Function that checks and opens a file or its content; raises a DataError."""
    find_sources: Callable[[], object] = _need_nothing
    """Function that raises an error if sources are missing."""

    @property
    def path(self) -> Path:
        """Path of the file."""
        return cache_directory() / f"{self.name}-v{self.version}.table"


@dataclass(frozen=True)
class Status:
    """State of data in the cache directory."""

    name: str
    purpose: str
    path: Path
    state: Literal["ready", "missing", "damaged", "empty"]
    size: int = 0
    """Size in bytes."""
    problem: str = ""
    """Problem, if the state is `damaged`."""


def load(resource: Resource[T]) -> T:
    """Return a resource from its file; build it if there is none.

    Of several processes, one builds and the others wait. A damaged file is replaced. If the cache
    directory is not writable, the resource is built in memory. Both cause a DataWarning.
    """
    loaded: T = _load_from(resource, resource.path)
    return loaded


@lru_cache(maxsize=8)
def _load_from(resource: Resource[T], path: Path) -> T:
    with suppress(OSError, DataError):  # the problem is reported below
        return resource.open(path)
    resource.find_sources()  # before the lock, which makes the cache directory
    with ExitStack() as stack:
        obstacle = _try(lambda: stack.enter_context(locked(path)))
        damage: Exception | None = None
        try:
            return resource.open(path)  # another process may have built it meanwhile
        except (FileNotFoundError, NotADirectoryError):
            pass
        except (OSError, DataError) as error:
            damage = error
        content = resource.build(current_progress())
        obstacle = obstacle or _try(lambda: write_atomically(path, content))
    if damage or obstacle:
        _warn(resource, path, damage, obstacle)
    return resource.open(content if obstacle else path)


def build(resource: Resource[T]) -> Path:
    """Build the resource again, and return its file."""
    path = resource.path
    resource.find_sources()
    with locked(path):
        write_atomically(path, resource.build(current_progress()))
    resource.open(path)
    _load_from.cache_clear()
    return path


def verify(resource: Resource[T]) -> Status:
    """Check the whole file against its checksum."""
    path = resource.path
    try:
        resource.open(path)
        size = path.stat().st_size
    except (FileNotFoundError, NotADirectoryError):
        return Status(resource.name, resource.purpose, path, "missing")
    except (OSError, DataError) as error:
        return Status(resource.name, resource.purpose, path, "damaged", problem=str(error))
    return Status(resource.name, resource.purpose, path, "ready", size)


def remove(resource: Resource[T]) -> list[Path]:
    """Remove the resource's files, including other versions, and return their paths."""
    found = sorted(cache_directory().glob(f"{resource.name}-v*.table"))
    for path in found:
        path.unlink(missing_ok=True)
    _load_from.cache_clear()
    return found


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file, which the system releases if the process dies."""
    # filelock rather than fcntl, which Windows lacks.
    from filelock import FileLock

    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path.with_suffix(".lock"))
    # A file system may know no locks; then, at worst, several processes write the same file.
    with suppress(NotImplementedError):
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _try(action: Callable[[], object]) -> OSError | None:
    try:
        action()
    except OSError as error:
        return error
    return None


def _reason(error: OSError) -> str:
    return os.strerror(error.errno) if error.errno else str(error)


def _warn(
    resource: Resource[T], path: Path, damage: Exception | None, obstacle: OSError | None
) -> None:
    sentences = []
    if damage:
        sentences.append(f"{damage}; it was built again")
    if obstacle:
        sentences.append(
            f"{path} cannot be written ({_reason(obstacle)}), so the data of "
            f"{resource.name} were built in memory, again in every process; set "
            "CIDERY_CACHE to a directory that can be written"
        )
    warnings.warn(". ".join(sentences), DataWarning, stacklevel=2)
