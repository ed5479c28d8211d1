"""Work shared with other processes: spaCy and segmenters use one core, files hold many captions.

The processes are those of loky. They are started as programs are, so that no lock of a thread is
copied and scripts need no `if __name__ == "__main__"`. They are kept for the next call, and end
after `IDLE` seconds without work, or together with this process.
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

IDLE = 20
"""Seconds after which a process without work ends."""

# Processes hold no results, so the key is all that a pool depends on: this process (a fork of it
# must not use its pools) and the number of processes.
_pools: dict[tuple[int, int], ProcessPoolExecutor] = {}
_opening = Lock()


@dataclass(frozen=True)
class Runner:
    """Something other than helper processes that shares work: it runs a function on many tasks."""

    run: Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[Any]]
    """Yields results in any order."""
    workers: int
    """How many tasks run at a time."""


_runner: ContextVar[Runner | None] = ContextVar("runner", default=None)


@contextmanager
def run_with(runner: Runner) -> Iterator[None]:
    """Have what is shared inside the block run there, and not in helper processes."""
    token = _runner.set(runner)
    try:
        yield
    finally:
        _runner.reset(token)


def current_runner() -> Runner | None:
    """Return what `run_with` set."""
    return _runner.get()


def count_sharing(wanted: int) -> int:
    """Return among how many work can be shared: `wanted` processes, or a runner and this one."""
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
    """Tell whether this process may have others: frozen programs and daemonic processes may not."""
    frozen = not sys.executable or getattr(sys, "frozen", False)
    return not frozen and not multiprocessing.current_process().daemon


def count_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def share_work(
    chunks: Sequence[T], here: Callable[[T], R], there: Callable[[T], R], helpers: int
) -> Iterator[R]:
    """Yield the result of each chunk in order, computed by this process or by a helper process.

    Inside `run_with`, the runner computes all of them.

    Args:
        chunks: What to work on.
        here: Computes a result in this process.
        there: Computes the same result in another one; it must be possible to pickle it.
        helpers: How many other processes to use.

    An error of a helper is raised here; a helper that was killed is a ProcessError.
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
                # What no helper has begun can be taken back.
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
            _pools[key] = ProcessPoolExecutor(helpers, timeout=IDLE, initializer=_start)
        return _pools[key]


def _close_pool(helpers: int) -> None:
    """Kill the processes; the next call starts others."""
    with _opening:
        pool = _pools.pop((os.getpid(), helpers), None)
    if pool is not None:
        # loky would tell what was taken back that the pool ends, and print that it cannot.
        waiting = pool._pending_work_items
        for number in [n for n, item in list(waiting.items()) if item.future.cancelled()]:
            waiting.pop(number, None)
        pool.shutdown(wait=True, kill_workers=True)


@atexit.register
def _forget_pools() -> None:
    """Let go of the pools while the modules that they use at their end are still there."""
    for key in [key for key in _pools if key[0] == os.getpid()]:
        del _pools[key]


def _start() -> None:
    """Make a helper process ready."""
    # Ctrl-C reaches all processes of a terminal; the first process ends its helpers itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # loky would wait forever for the rest of what a killed process was sending.
    end_with_parent()


def _explain(problem: str, error: Exception) -> ProcessError:
    reason = (str(error).strip() or type(error).__name__).splitlines()[0]
    return ProcessError(
        f"{problem} while captions were parsed or cut, perhaps for lack of memory ({reason}); to "
        "use no helper processes, pass threads=1 (--threads 1)"
    )
