"""Functions that run on a cluster, and do there what goes wrong."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from cidery.engines import streaming


def score_and_die_once(task: Any) -> int:
    """Score a partition; the process that scores the first one is killed after it has written it.

    The mark beside the work folder says that it happened.
    """
    mark = task.folder.parent.parent / "killed"
    scored = streaming.score_partition(task)
    try:
        with mark.open("x"):
            pass
    except FileExistsError:
        return scored
    os.kill(os.getpid(), signal.SIGKILL)
    return scored


def score_slowly(task: Any) -> int:
    """Score a partition when the file beside the work folder says so."""
    import time

    gate = task.folder.parent.parent / "open"
    waiting = task.folder.parent.parent / f"waiting-{task.number}-{os.getpid()}"
    waiting.touch()
    while not gate.exists():
        time.sleep(0.05)
    return streaming.score_partition(task)


def refuse_one(candidate: str, references: list[str]) -> float:
    """Fail on one caption."""
    if candidate == "no score for this":
        raise ZeroDivisionError("a bug")
    return 1.0


def fail_here(numbers: list[int]) -> tuple[list[int], int]:
    """Stand where nothing is to be computed."""
    raise AssertionError(f"{numbers} were given to this process")


def name_process(numbers: list[int]) -> tuple[list[int], int]:
    """Return what was given, and by which process."""
    return numbers, os.getpid()


def list_waiting(folder: Path) -> list[Path]:
    """Return the marks of tasks that have begun."""
    return list(folder.glob("waiting-*"))
