"""Progress bar on stderr, if that is a terminal and work takes long enough."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from typing import Any

from cidery.runtime import RisingShare, use_progress

SWITCH = "CIDERY_PROGRESS"
"""Environment variable: `never` shows no bar, `always` shows it at once."""
DELAY = 0.4
"""Seconds before a bar appears."""
FIRST_LINE = 60.0
"""Seconds after which a line is printed where stderr is no terminal; further ones follow after
twice the time each."""
REFRESH_SECONDS = 0.1
"""Shortest time between two drawings of the same step."""
MIN_SECONDS = 3.0
"""Seconds of a step after which its end is estimated."""
BIG_FILE = 20_000_000
"""Bytes from which a bar appears at once: the JSON parser blocks the thread that draws it."""


@contextmanager
def progress(steps: int | Sequence[float], *files: str) -> Iterator[Bar]:
    """Yield a progress bar with that number of steps, or with steps of these relative durations.

    `files` are the inputs.

    The bar also shows the progress that a step reports (`cidery.runtime.use_progress`), and its
    remaining time. Where stderr is no terminal, work of more than a minute prints a line.

    ```python
    with progress(2, "references.json") as step:
        step("reading references")
        step("counting words")
    ```
    """
    switch = os.environ.get(SWITCH, "")
    bar = Bar(steps, is_quiet=switch == "never" or sys.stderr.isatty())
    timer = threading.Timer(DELAY, bar.show)
    timer.daemon = True
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


class _Clock:
    """Remaining time of a step, by the speed since its name appeared."""

    def __init__(self) -> None:
        self.begun = time.monotonic()
        self._name = ""
        self._since = (self.begun, 0.0)

    def estimate(self, name: str, done: float, end: float, now: float) -> str | None:
        """Return the time until `end`, such as `about 3 min`; None while it is unknown."""
        if name != self._name:
            self._name, self._since = name, (now, done)
        passed, gained = now - self._since[0], done - self._since[1]
        if passed < MIN_SECONDS or gained <= 0:
            return None
        return _spell_time(passed / gained * (end - done))


def _spell_time(seconds: float) -> str:
    if seconds < 90:
        return f"about {max(5, 5 * round(seconds / 5))} s"
    minutes = round(seconds / 60)
    return f"about {minutes} min" if minutes < 90 else f"about {seconds / 3600:.1f} h"


class Bar:
    """A bar that draws nothing until `show` is called, and never falls back."""

    def __init__(self, steps: int | Sequence[float], *, is_quiet: bool = True) -> None:
        durations = [1.0] * steps if isinstance(steps, int) else list(steps)
        ends = list(accumulate(durations))
        self._bounds = [0.0, *(end / ends[-1] for end in ends)]
        self._begun = -1
        self.done = 0.0
        """Share of the work that is done."""
        self.text = ""
        """Name of the step and its remaining time."""
        self._name = ""
        self._share = RisingShare()
        self._clock = _Clock()
        self._lock = threading.Lock()
        self._closed = False
        self._is_quiet = is_quiet
        self._next_line = FIRST_LINE
        self._refreshed = 0.0
        self._drawn: Any = None
        self._task: Any = None

    def __call__(self, name: str) -> None:
        """Begin the next step."""
        with self._lock:
            self._begun = min(self._begun + 1, len(self._bounds) - 2)
            self._share = RisingShare()
            self._update(name, 0.0)

    def report(self, name: str, share: float) -> None:
        """Show the progress of this step, from 0 to 1."""
        with self._lock:
            self._update(name, self._share.advance(share))

    def _update(self, name: str, share: float) -> None:
        is_new = name.partition(",")[0] != self._name.partition(",")[0]
        begin, end = self._bounds[max(self._begun, 0)], self._bounds[max(self._begun, 0) + 1]
        self._name = name
        self.done = max(self.done, begin + (end - begin) * share)
        now = time.monotonic()
        end = begin + (end - begin) * self._share.end
        left = self._clock.estimate(name.partition(",")[0], self.done, end, now)
        says_left = left is None or " left" in name  # streams say it themselves
        self.text = name if says_left else f"{name}, {left} left"
        if self._drawn is not None:
            # Drawn at once: the step may hold the interpreter until it is over.
            refresh = is_new or now - self._refreshed > REFRESH_SECONDS
            self._refreshed = now if refresh else self._refreshed
            self._drawn.update(
                self._task, description=self.text, completed=self.done, refresh=refresh
            )
        elif not self._is_quiet and now - self._clock.begun >= self._next_line:
            self._next_line *= 2
            sys.stderr.write(f"{self.done:.0%}: {self.text}\n")

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
            self._task = self._drawn.add_task(self.text, total=1.0)
            self._drawn.update(self._task, completed=max(self.done, 0))
            self._drawn.start()

    def close(self) -> None:
        """Remove the bar."""
        with self._lock:
            self._closed = True
            if self._drawn is not None:
                self._drawn.stop()
