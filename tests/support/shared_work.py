"""Functions that worker processes run in tests; they import them from here."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cidery.runtime import can_start_processes
from cidery.storage import DiskCache

Result = tuple[int, int]
"""A square, and the process that computed it."""


class RefusedError(ValueError):
    """Error that a worker raises."""


def square(number: int) -> Result:
    return number * number, os.getpid()


def refuse(number: int) -> Result:
    raise RefusedError(f"number {number} is refused")


def exhaust(number: int) -> Result:
    raise MemoryError(f"no memory for number {number}")


def die(number: int) -> Result:
    os.kill(os.getpid(), signal.SIGKILL)
    return square(number)


@dataclass(frozen=True)
class Waiting:
    """Works in the first process, but only after a helper has begun with something."""

    begun: Path

    def __call__(self, number: int) -> Result:
        self.begun.with_suffix(".here").touch()
        while not self.begun.exists():
            time.sleep(0.01)
        return square(number)


@dataclass(frozen=True)
class Helping:
    """Works in a helper process, and tells that it has begun."""

    begun: Path
    work: Callable[[int], Result] = square
    waits: bool = False
    """Wait until the first process has begun too."""

    def __call__(self, number: int) -> Result:
        self.begun.touch()
        while self.waits and not self.begun.with_suffix(".here").exists():
            time.sleep(0.01)
        return self.work(number)


def tell_whether_it_can_have_helpers(answer: Path) -> None:
    answer.write_text(str(can_start_processes()))


def save_fifty(name: str, start: int) -> None:
    for number in range(start, start + 50):
        DiskCache(name).save({str(number).encode(): b"x"})
