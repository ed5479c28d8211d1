"""Local engine: processes of this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from cidery.engines.base import Engine, Pool
from cidery.errors import SettingError
from cidery.runtime import can_start_processes, count_cores, share_work

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class LocalEngine(Engine):
    """This process and helper processes."""

    processes: int = 0
    """Number of processes, including this one; 0 means one per core."""

    def __post_init__(self) -> None:
        if self.processes < 0:
            raise SettingError(f"processes must be >= 0, not {self.processes}")

    @property
    def workers(self) -> int:
        """Number of tasks that run at a time."""
        if not can_start_processes():
            return 1
        return self.processes or count_cores()

    def map(self, function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[R]:
        """Yield the results in the order of the tasks."""
        helpers = min(self.workers, len(tasks)) - 1
        return share_work(tasks, function, function, max(0, helpers))

    def open_pool(self, function: Callable[..., Any], size: int = 0) -> Pool:  # noqa: ARG002
        """Return this process; the function may use threads."""
        return LocalPool(function)


class LocalPool(Pool):
    """This process."""

    def __init__(self, function: Callable[..., Any]) -> None:
        """Store the function."""
        self._function = function
        self.size = 1

    def map(self, tasks: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return the results in order."""
        return [self._function(*task) for task in tasks]

    def close(self) -> None:
        """Do nothing."""
