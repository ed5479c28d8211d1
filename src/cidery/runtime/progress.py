"""Progress callbacks: one protocol for the whole library."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

ProgressCallback: TypeAlias = Callable[[str, float], None]
"""Function of the name of a step and the share of it that is done, 0 to 1."""


def ignore_progress(step: str, share: float) -> None:
    """Ignore progress."""


_progress: ContextVar[ProgressCallback] = ContextVar("progress", default=ignore_progress)


@contextmanager
def use_progress(callback: ProgressCallback) -> Iterator[None]:
    """Call a function with the progress of every long step inside the block.

    ```python
    with use_progress(lambda step, share: print(f"{step}: {share:.0%}")):
        cidery.score(candidates, references, metrics="meteor")
    ```
    """
    token = _progress.set(callback)
    try:
        yield
    finally:
        _progress.reset(token)


def current_progress() -> ProgressCallback:
    """Return the callback of the innermost `use_progress`, or `ignore_progress`."""
    return _progress.get()
