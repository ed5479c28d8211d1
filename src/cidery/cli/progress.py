"""Progress on stderr for work that takes long enough to wonder, on a terminal only."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PATIENCE = 0.4
"""Seconds before a bar appears."""
BIG_FILE = 20_000_000
"""Bytes from which a bar appears at once: the parser of JSON lets no other thread draw one."""


@contextmanager
def progress(steps: int, *files: str) -> Iterator[Callable[[str], None]]:
    """Yield a function that names the next of so many steps; `files` are what will be read.

    Where a step compiles data first, the bar says so and shows how far that is.
    """
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from cidery.store import report_to

    bar = _Bar(steps)
    big = any(Path(file).is_file() and Path(file).stat().st_size > BIG_FILE for file in files)
    timer = threading.Timer(PATIENCE, bar.show)
    timer.daemon = True
    if big:
        bar.show()
    else:
        timer.start()
    try:
        with report_to(bar.report):
            yield bar.step
    finally:
        timer.cancel()
        bar.close()


class _Bar:
    """A bar that draws nothing until `show` is called."""

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self._begun = -1
        self._done = 0.0
        self._name = ""
        self._lock = threading.Lock()
        self._closed = False
        self._drawn: Any = None
        self._task: Any = None

    def step(self, name: str) -> None:
        """Begin the next step."""
        self._begun += 1
        self._update(name, self._begun)

    def report(self, name: str, share: float) -> None:
        """Show how far a part of this step is, as if it were all of it."""
        self._update(name, self._begun + share)

    def _update(self, name: str, done: float) -> None:
        with self._lock:
            self._name, self._done = name, done
            if self._drawn is not None:
                # Drawn at once: the step may hold the interpreter until it is over.
                self._drawn.update(self._task, description=name, completed=done, refresh=True)

    def show(self) -> None:
        """Begin to draw."""
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        with self._lock:
            if self._closed:
                return
            columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(30))
            console = Console(stderr=True)
            self._drawn = Progress(*columns, TimeElapsedColumn(), console=console, transient=True)
            self._task = self._drawn.add_task(self._name, total=self._steps)
            self._drawn.update(self._task, completed=max(self._done, 0))
            self._drawn.start()

    def close(self) -> None:
        """Wipe the bar away."""
        with self._lock:
            self._closed = True
            if self._drawn is not None:
                self._drawn.stop()


@contextmanager
def counted_progress() -> Iterator[Callable[[str, int, int], None]]:
    """Yield a function that says what is being done, how much of it is done, and of how much.

    Where data are compiled or captions are parsed meanwhile, the bar shows that, in percent.
    """
    if not sys.stderr.isatty():
        yield lambda _what, _done, _total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from cidery.store import report_to

    columns = (TextColumn("{task.description}"), BarColumn(30), MofNCompleteColumn())
    console = Console(stderr=True)
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as bar:
        task = bar.add_task("")

        def report(what: str, done: int, total: int) -> None:
            bar.update(task, description=what, completed=done, total=total, refresh=True)

        with report_to(lambda what, share: report(f"{what}, percent", round(100 * share), 100)):
            yield report
