"""Work shared with helper processes, for packages that use one core: spaCy, segmenters.

The processes are those of loky, which are not forked: no lock is copied, and scripts need no
`if __name__ == "__main__"`. They are reused, and end after `IDLE_SECONDS` without work, or together
with this process.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from cidery.errors import ProcessError
from cidery.runtime.parent_process import end_with_parent

if TYPE_CHECKING:
    from loky import ProcessPoolExecutor

T = TypeVar("T")
R = TypeVar("R")

IDLE_SECONDS = 20
"""Idle time after which a helper process ends."""

# Processes hold no results, so the key is all that a pool depends on: this process (a fork of it
# must not use its pools) and the number of processes.
_pools: dict[tuple[int, int], ProcessPoolExecutor] = {}
_opening = Lock()


@dataclass(frozen=True)
class Runner:
    """Alternative to helper processes, such as a cluster."""

    run: Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[Any]]
    """Runs a function on tasks, and yields results in any order."""
    workers: int
    """Number of tasks that run at a time."""


_runner: ContextVar[Runner | None] = ContextVar("runner", default=None)


@contextmanager
def run_with(runner: Runner) -> Iterator[None]:
    """Use a runner instead of helper processes inside the block."""
    token = _runner.set(runner)
    try:
        yield
    finally:
        _runner.reset(token)


def current_runner() -> Runner | None:
    """Return the runner of the innermost `run_with`."""
    return _runner.get()


def count_workers(wanted: int) -> int:
    """Return the number of workers: `wanted` processes, or those of the runner and this one."""
    runner = current_runner()
    if runner is not None:
        return runner.workers + 1
    return wanted if can_start_processes() else 1


def _run_numbered(function: Callable[[T], R], task: tuple[int, T]) -> tuple[int, R]:
    return task[0], function(task[1])


def _run_in_order(runner: Runner, function: Callable[[T], R], chunks: Sequence[T]) -> Iterator[R]:
    done: dict[int, R] = {}
    number = 0
    for place, result in runner.run(partial(_run_numbered, function), list(enumerate(chunks))):
        done[place] = result
        while number in done:
            yield done.pop(number)
            number += 1


def can_start_processes() -> bool:
    """Return False in frozen programs and daemonic processes."""
    frozen = not sys.executable or getattr(sys, "frozen", False)
    return not frozen and not multiprocessing.current_process().daemon


def count_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def share_work(
    chunks: Sequence[T], here: Callable[[T], R], there: Callable[[T], R], helpers: int
) -> Iterator[R]:
    """Yield the result of each chunk in order, computed by this process or by a helper process.

    Inside `run_with`, the runner computes all of them.

    Args:
        chunks: Tasks.
        here: Function that computes a result in this process.
        there: Picklable function that computes it in a helper process.
        helpers: Number of helper processes.

    Raises the errors of helpers, and a ProcessError if a helper was killed.
    """
    if not helpers:
        yield from map(here, chunks)
        return
    runner = current_runner()
    if runner is not None:
        yield from _run_in_order(runner, there, chunks)
        return
    from concurrent.futures.process import BrokenProcessPool

    try:
        yield from _share(chunks, here, there, helpers)
    except BrokenProcessPool as error:
        _close_pool(helpers)
        raise _explain("a helper process was killed", error) from error
    except KeyboardInterrupt:
        _close_pool(helpers)
        raise


def _share(
    chunks: Sequence[T], here: Callable[[T], R], there: Callable[[T], R], helpers: int
) -> Iterator[R]:
    pool = _open_pool(helpers)
    try:
        futures = [pool.submit(there, chunk) for chunk in chunks]
    except OSError as error:
        _close_pool(helpers)
        raise _explain("a helper process could not be started", error) from error
    try:
        unclaimed = iter(range(len(chunks)))
        done: dict[int, R] = {}
        for number, future in enumerate(futures):
            while number not in done and not future.done():
                # Tasks that no helper has started can be canceled.
                mine = next((n for n in unclaimed if futures[n].cancel()), None)
                if mine is None:
                    break
                done[mine] = here(chunks[mine])
            yield done.pop(number) if number in done else future.result()
    finally:
        for future in futures:
            future.cancel()


def _open_pool(helpers: int) -> ProcessPoolExecutor:
    from loky import ProcessPoolExecutor

    key = os.getpid(), helpers
    with _opening:
        if key not in _pools:
            _pools[key] = ProcessPoolExecutor(helpers, timeout=IDLE_SECONDS, initializer=_start)
        return _pools[key]


def _close_pool(helpers: int) -> None:
    """Kill the processes; the next call starts new ones."""
    with _opening:
        pool = _pools.pop((os.getpid(), helpers), None)
    if pool is not None:
        # loky would print errors about canceled tasks.
        waiting = pool._pending_work_items
        for number in [n for n, item in list(waiting.items()) if item.future.cancelled()]:
            waiting.pop(number, None)
        pool.shutdown(wait=True, kill_workers=True)


@atexit.register
def _forget_pools() -> None:
    """Release the pools while the modules that they need are still loaded."""
    for key in [key for key in _pools if key[0] == os.getpid()]:
        del _pools[key]


def _start() -> None:
    """Initialize a helper process."""
    # Ctrl-C reaches all processes of a terminal; the first process ends its helpers itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # loky would wait forever for the rest of what a killed process was sending.
    end_with_parent()


def _explain(problem: str, error: Exception) -> ProcessError:
    reason = (str(error).strip() or type(error).__name__).splitlines()[0]
    return ProcessError(
        f"{problem}, perhaps for lack of memory ({reason}); pass threads=1 (--threads 1) to use "
        "no helper processes"
    )
