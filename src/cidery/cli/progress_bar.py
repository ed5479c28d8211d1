"""Progress bar on stderr, if that is a terminal and work takes long enough."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SWITCH = "CIDERY_PROGRESS"
"""Environment variable: `never` shows no bar, `always` shows it at once."""
DELAY = 0.4
"""Seconds before a bar appears."""
BIG_FILE = 20_000_000
"""Bytes from which a bar appears at once: the JSON parser blocks the thread that draws it."""


@contextmanager
def progress(steps: int, *files: str) -> Iterator[Bar]:
    """Yield a progress bar with that number of steps; `files` are the inputs.

    The bar also shows the progress that a step reports (`cidery.runtime.use_progress`).

    ```python
    with progress(2, "references.json") as step:
        step("reading references")
        step("counting words")
    ```
    """
    from cidery.runtime import use_progress

    bar = Bar(steps)
    timer = threading.Timer(DELAY, bar.show)
    timer.daemon = True
    switch = os.environ.get(SWITCH, "")
    if switch != "never" and sys.stderr.isatty():
        if switch == "always" or any(map(_is_big, files)):
            bar.show()
        else:
            timer.start()
    try:
        with use_progress(bar.report):
            yield bar
    finally:
        timer.cancel()
        bar.close()


def _is_big(file: str) -> bool:
    path = Path(file)
    return path.is_file() and path.stat().st_size > BIG_FILE


class Bar:
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

    def __call__(self, name: str) -> None:
        """Begin the next step."""
        self._begun += 1
        self._update(name, self._begun)

    def report(self, name: str, share: float) -> None:
        """Show the progress of this step, from 0 to 1."""
        self._update(name, max(self._begun, 0) + share)

    def _update(self, name: str, done: float) -> None:
        with self._lock:
            self._name, self._done = name, done
            if self._drawn is not None:
                # Drawn at once: the step may hold the interpreter until it is over.
                self._drawn.update(self._task, description=name, completed=done, refresh=True)

    def show(self) -> None:
        """Start drawing."""
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            Progress,
            SpinnerColumn,
            TaskProgressColumn,
            TextColumn,
            TimeElapsedColumn,
        )

        with self._lock:
            if self._closed:
                return
            columns = (
                SpinnerColumn(),
                TextColumn("{task.description}"),
                BarColumn(30),
                TaskProgressColumn(),
                TimeElapsedColumn(),
            )
            self._drawn = Progress(*columns, console=Console(stderr=True), transient=True)
            self._task = self._drawn.add_task(self._name, total=self._steps)
            self._drawn.update(self._task, completed=max(self._done, 0))
            self._drawn.start()

    def close(self) -> None:
        """Remove the bar."""
        with self._lock:
            self._closed = True
            if self._drawn is not None:
                self._drawn.stop()
