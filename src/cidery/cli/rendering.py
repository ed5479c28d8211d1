"""What people see: Rich tables on a terminal, plain aligned text in a pipe, messages on stderr."""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import typer

GAP = "  "


def complain(kind: Literal["error", "warning"], message: str) -> None:
    """Print one line on stderr."""
    label = typer.style(f"{kind}:", fg="red" if kind == "error" else "yellow", bold=True)
    color = False if "NO_COLOR" in os.environ else None
    typer.echo(f"{label} {' '.join(message.split())}", err=True, color=color)


def on_terminal() -> bool:
    """Tell whether people are watching stdout."""
    return sys.stdout.isatty()


def show_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, left: Sequence[int] = (0,)
) -> None:
    """Print a table; the columns in `left` hold words, the others numbers."""
    if on_terminal():
        from rich import box
        from rich.table import Table

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
        for place, name in enumerate(header):
            words = place in left
            table.add_column(
                name,
                justify="left" if words else "right",
                style="cyan" if place == 0 else "",
                no_wrap=not words or place == 0,
            )
        for row in rows:
            table.add_row(*row)
        _console().print(table)
        return
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    for row in (header, *rows):
        cells = [
            cell.ljust(width) if place in left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        typer.echo(GAP.join(cells).rstrip())


def show_title(text: str) -> None:
    """Print what the following is about."""
    if on_terminal():
        _console().print(text, style="bold", highlight=False, markup=False)
    else:
        typer.echo(text)


def show_notes(notes: Iterable[str]) -> None:
    """Print small print, a line each; on a terminal it stays in the background."""
    for note in notes:
        if on_terminal():
            _console().print(note, style="dim", highlight=False, markup=False)
        else:
            typer.echo(note)


def show_pairs(pairs: Mapping[str, str]) -> None:
    """Print names and values, a line each."""
    width = max(map(len, pairs))
    for name, value in pairs.items():
        if on_terminal():
            from rich.text import Text

            _console().print(Text.assemble((name.ljust(width), "cyan"), GAP, value))
        else:
            typer.echo(f"{name.ljust(width)}{GAP}{value}")


def show_advice(sentences: Iterable[str]) -> None:
    """Print advice, a sentence each."""
    for sentence in sentences:
        if on_terminal():
            from rich.padding import Padding
            from rich.text import Text

            _console().print(Padding(Text(sentence), (0, 0, 0, 2)))
        else:
            typer.echo(f"- {sentence}")


def show_json(content: Any) -> None:
    """Print JSON."""
    typer.echo(json.dumps(content, indent=2, ensure_ascii=False))


def show_csv(records: Sequence[Mapping[str, Any]]) -> None:
    """Print records that have the same keys as CSV, with all digits."""
    writer = csv.DictWriter(sys.stdout, list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)


def draw_bar(share: float, width: int) -> str:
    """Return a bar of eighths of blocks: `share` of `width` cells, at least a sliver if not 0."""
    eighths = max(round(share * width * 8), 1 if share > 0 else 0)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def _console() -> Any:
    from rich.console import Console

    return Console(soft_wrap=False)
