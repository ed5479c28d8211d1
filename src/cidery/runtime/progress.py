"""How work that takes long says how far it is: one protocol for the whole library."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

Report: TypeAlias = Callable[[str, float], None]
"""Called with what is being done and how much of it, 0 to 1, is done."""


def no_report(what: str, share: float) -> None:
    """Report to nobody."""


_report: ContextVar[Report] = ContextVar("report", default=no_report)


@contextmanager
def report_to(report: Report) -> Iterator[None]:
    """Have everything that takes long inside the block report how far it is.

    ```python
    with report_to(lambda what, share: print(f"{what}: {share:.0%}")):
        cidery.score(candidates, references, metrics="meteor")
    ```
    """
    token = _report.set(report)
    try:
        yield
    finally:
        _report.reset(token)


def current_report() -> Report:
    """Return what `report_to` set, or a function that does nothing."""
    return _report.get()
