"""Progress callbacks: one protocol for the whole library."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
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


class RisingShare:
    """Share of a step that is done, which never falls.

    A step reports its share, but several may follow each other where one was expected. Then each
    gets most of what is left.

    ```python
    share = RisingShare()
    [round(share.advance(value), 2) for value in (0.5, 1.0, 0.0, 1.0)]   # [0.45, 0.9, 0.9, 0.99]
    ```
    """

    FIRST = 0.9
    """Share of the first step, since more may follow."""

    def __init__(self) -> None:
        self._begin, self._size, self._reported, self._shown = 0.0, self.FIRST, 0.0, 0.0

    @property
    def end(self) -> float:
        """Share to show at the end of this step."""
        return self._begin + self._size

    def advance(self, share: float) -> float:
        """Return the share to show for a reported one."""
        share = min(max(share, 0.0), 1.0)
        if share < self._reported:
            self._begin, self._size = self._shown, self.FIRST * (1 - self._shown)
        self._reported = share
        self._shown = max(self._shown, self._begin + self._size * share)
        return self._shown


@contextmanager
def report_part(begin: float, end: float, step: str = "") -> Iterator[None]:
    """Report progress inside the block as the part from `begin` to `end` of the surrounding step.

    ```python
    with use_progress(lambda step, share: print(f"{step}: {share:.0%}")):
        with report_part(0.0, 0.5):
            cidery.score(candidates, references, metrics="meteor")
    ```

    Args:
        begin: share at the beginning of the block.
        end: share at its end.
        step: name to report at the beginning; default: none.
    """
    outer = current_progress()
    if outer is ignore_progress:
        yield
        return
    rising = RisingShare()
    last = step

    def report(name: str, share: float) -> None:
        nonlocal last
        last = name
        outer(name, begin + (end - begin) * rising.advance(share))

    if step:
        outer(step, begin)
    with use_progress(report):
        yield
    if last:
        outer(last, end)


def split_progress(
    weights: Sequence[float], steps: Sequence[str] = ()
) -> Iterator[AbstractContextManager[None]]:
    """Yield a block for each of several parts of a step; `weights` are their relative durations.

    ```python
    for system, part in zip("ab", split_progress([1, 1]), strict=True):
        with part:
            cidery.score(candidates, references, metrics="meteor")
    ```

    Args:
        weights: relative durations.
        steps: name of each part. Default: none.
    """
    total = sum(weights) or 1.0
    begin = 0.0
    for place, weight in enumerate(weights):
        end = begin + weight
        yield report_part(begin / total, end / total, steps[place] if steps else "")
        begin = end
