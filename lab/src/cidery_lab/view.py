"""A live view of training on a terminal."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

MAX_ROWS = 12
"""Maximum number of rows of the table."""
COLUMNS = ("system", "seed", "stage", "epoch", "loss", "reward", "cider-d", "seconds")
REFRESH_SECONDS = 0.25


class LiveView:
    """Table of the last epochs and the current progress; lines of text without a terminal.

    ```python
    with LiveView() as callback:
        train(card, data, stages, callback=callback)
    ```
    """

    def __init__(self) -> None:
        from rich.console import Console

        self._console = Console(stderr=True)
        self._live: Any = None
        self._rows: list[dict[str, Any]] = []
        self._now: dict[str, Any] = {}
        self._drawn = 0.0

    def __enter__(self) -> LiveView:
        if sys.stderr.isatty():
            from rich.live import Live

            self._live = Live(self._table(), console=self._console, auto_refresh=False)
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._now = {}
            self._live.update(self._table(), refresh=True)
            self._live.stop()
        if kind is KeyboardInterrupt:
            self._console.print("Interrupted. Rerun the same command to resume.")

    def __call__(self, row: dict[str, Any]) -> None:
        """Show a row of the log, or the progress of an epoch."""
        if "cider-d" in row:
            self._rows.append(row)
            self._now = {}
            if self._live is None:
                self._console.print(_format_row(row), highlight=False, soft_wrap=True)
        else:
            self._now = row
        if self._live is not None and time.monotonic() - self._drawn > REFRESH_SECONDS:
            self._drawn = time.monotonic()
            self._live.update(self._table(), refresh=True)

    def _table(self) -> Any:
        from rich.table import Table

        shown = self._rows[-MAX_ROWS:]
        if self._now:
            shown = [*shown, {**self._now, "seconds": f"{self._now['share']:.0%}"}]
        names = [name for name in COLUMNS if any(name in row for row in shown)]
        table = Table(box=None, header_style="bold")
        for name in names:
            table.add_column(name, justify="left" if name in ("system", "stage") else "right")
        for row in shown:
            table.add_row(*(_cell(row.get(name, "")) for name in names))
        return table


def _cell(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _format_row(row: dict[str, Any]) -> str:
    before = " ".join(f"{row[name]}" for name in ("system", "seed") if name in row)
    figures = ", ".join(
        f"{name} {_cell(value)}"
        for name, value in row.items()
        if name not in ("system", "seed", "stage", "epoch")
    )
    return f"{before + ': ' if before else ''}{row['stage']}, epoch {row['epoch']}: {figures}"
