"""Output: colors on a terminal, plain aligned text in a pipe, messages on stderr."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal

import typer

from cidery.tables import (
    GAP,
    Table,
    Tabular,
    measure_width,
    one_line,
    show_controls,
    to_json,
)

BAR_WIDTH = 40


def show_message(kind: Literal["error", "warning", "note"], message: str) -> None:
    """Print one line on stderr."""
    colors = {"error": "red", "warning": "yellow", "note": "cyan"}
    label = typer.style(f"{kind}:", fg=colors[kind], bold=True)
    color = False if "NO_COLOR" in os.environ else None
    text = show_controls(" ".join(message.split()))
    typer.echo(f"{label} {text}", err=True, color=color)


@contextmanager
def resumable() -> Iterator[None]:
    """Print after Ctrl-C that the same command resumes."""
    try:
        yield
    except KeyboardInterrupt:
        show_message("warning", "interrupted; rerun the same command to resume")
        raise


def on_terminal() -> bool:
    """Return True if stdout is a terminal."""
    return sys.stdout.isatty()


def show_table(table: Table) -> None:
    """Print a table with its title, notes and signatures."""
    if on_terminal():
        if table.title:
            show_title(table.title)
        shown, hidden = _fit(table)
        _print(_rich_table(shown))
        notes = [f"too wide for this terminal, in other formats: {', '.join(hidden)}"]
        notes = [*filter(None, [table.caption]), *table.all_notes, *(notes if hidden else [])]
        if notes:
            show_notes(*notes)
        for other in table.below:
            typer.echo()
            show_table(other)
    else:
        typer.echo(table.to_text())
    if table.signatures:
        show_signatures(table.signatures)


def _fit(table: Table) -> tuple[Table, list[str]]:
    """Return the table without details that do not fit, and the titles of those."""
    from rich.console import Console

    if sum(_measure_columns(table)) + len(GAP) * (len(table.columns) - 1) <= Console().width:
        return table, []
    kept = [column for column in table.columns if not column.detail]
    hidden = [column.title for column in table.columns if column.detail]
    return replace(table, columns=kept), hidden


def _measure_columns(table: Table) -> list[int]:
    """Return the widths of the columns without line breaks."""
    lines = zip(table.header, *table.plain_cells, strict=True)
    return [max(measure_width(show_controls(one_line(cell))) for cell in cells) for cells in lines]


def _wrap_columns(columns: Sequence[Sequence[str]], width: int) -> list[list[str]]:
    """Break lines of the widest columns, at blanks and signs, until they fit or cannot be broken.

    Columns of text come first, numbers last.

    Args:
        columns: title and cells of each column.
        width: width of all columns together.
    """
    widths = [max(map(measure_width, cells)) for cells in columns]
    least = [
        max(measure_width(part) for cell in cells for part in _split_parts(cell))
        for cells in columns
    ]
    while sum(widths) > width:
        places = [place for place, own in enumerate(widths) if own > least[place]]
        if not places:
            break
        texts = [place for place in places if not all(map(_NUMBER.fullmatch, columns[place][1:]))]
        widths[max(texts or places, key=widths.__getitem__)] -= 1
    return [
        [_wrap(cell, own) for cell in cells] for cells, own in zip(columns, widths, strict=True)
    ]


_PART = re.compile(r"[^\s_\-:,/|]*[\s_\-:,/|]+|[^\s_\-:,/|]+")
"""A word with the signs and blanks after which a line may end."""
_NUMBER = re.compile(r"[<>=+\-±\[\]().,%\d\s]+")


def _split_parts(cell: str) -> list[str]:
    parts = cell.split() if _NUMBER.fullmatch(cell) else _PART.findall(cell)
    return parts or [cell]


def _wrap(cell: str, width: int) -> str:
    if measure_width(cell) <= width:
        return cell
    lines = [""]
    for part in _split_parts(cell):
        blank = " " if _NUMBER.fullmatch(cell) and lines[-1] else ""
        if lines[-1] and measure_width(lines[-1] + blank + part.rstrip()) > width:
            lines.append(part)
        else:
            lines[-1] += blank + part
    return "\n".join(line.rstrip() for line in lines)


def _rich_table(table: Table) -> Any:
    from rich import box
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    grid = RichTable(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
        header_style="bold",
    )
    lines = [table.header, *table.plain_cells]
    cells = [[show_controls(one_line(line[n])) for line in lines] for n in range(len(lines[0]))]
    gaps = len(GAP) * (len(cells) - 1)
    wrapped = _wrap_columns(cells, Console().width - gaps)
    header, *rows = zip(*wrapped, strict=True)
    for place, (name, left) in enumerate(zip(header, table.aligned_left, strict=True)):
        grid.add_column(
            Text(name),
            justify="left" if left else "right",
            style="cyan" if place == 0 else "",
            overflow="fold",  # a narrow terminal must not swallow digits
        )
    for values, row in zip(table.rows, rows, strict=True):
        marks = [column.bold is not None and column.bold(values) for column in table.columns]
        grid.add_row(
            *(Text(cell, "bold" if mark else "") for cell, mark in zip(row, marks, strict=True))
        )
    return grid


def show_marked(text: str, marks: Iterable[tuple[int, int, float]], before: str = "") -> None:
    """Print a text with colored spans, (start, end, strength from -1 to 1)."""
    from rich.text import Text

    shown = Text.assemble((before, "dim"), text)
    for start, end, strength in marks:
        if strength:
            style = "green" if strength > 0 else "red"
            style += " bold" if abs(strength) > 0.5 else " dim" if abs(strength) < 0.15 else ""
            shown.stylize(
                style + (" underline" if strength < 0 else ""),
                len(before) + start,
                len(before) + end,
            )
    _print(shown, soft_wrap=True)


def show_tree(branches: Iterable[tuple[str, Sequence[str]]]) -> None:
    """Print names, each with its lines below."""
    for name, leaves in branches:
        _show_text(name, "bold cyan")
        for place, leaf in enumerate(leaves, 1):
            _show_text(f"{'├' if place < len(leaves) else '└'}─ {leaf}", "")


def show_histogram(title: str, bars: Sequence[tuple[str, int]]) -> None:
    """Print counts as bars, a line each."""
    most = max(count for _, count in bars)
    label_width = max(len(title), *(len(label) for label, _ in bars))
    lines = [(title.rjust(label_width), "", "")]
    lines += [
        (label.rjust(label_width), draw_bar(count / most, BAR_WIDTH), f"{count:,}")
        for label, count in bars
    ]
    for label, bar, count in lines:
        if on_terminal():
            from rich.text import Text

            style = "cyan" if count else "bold"
            _print(Text.assemble((label, style), GAP, (bar, "green"), " " if bar else "", count))
        else:
            typer.echo(f"{label}{GAP}{bar} {count}".rstrip())


def draw_bar(share: float, width: int) -> str:
    """Return a bar of `share` of `width` cells in eighths, at least one eighth unless 0."""
    eighths = max(round(share * width * 8), 1 if share > 0 else 0)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def show_title(text: str) -> None:
    """Print a title and a blank line."""
    _show_text(text, "bold")
    typer.echo()


def show_notes(*notes: str) -> None:
    """Print a blank line and notes, which are dim on a terminal."""
    typer.echo()
    for note in notes:
        _show_text(note, "dim")


def _show_text(text: str, style: str) -> None:
    text = show_controls(text)
    if on_terminal():
        from rich.text import Text

        _print(Text(text, style=style))
    else:
        typer.echo(text)


def show_signatures(signatures: Iterable[str]) -> None:
    """Print signatures, a line each, which the terminal may wrap, so that they can be copied."""
    typer.echo()
    for signature in signatures:
        if on_terminal():
            from rich.text import Text

            _print(Text(signature, style="dim"), soft_wrap=True)
        else:
            typer.echo(signature)


def show_pairs(pairs: Mapping[str, str]) -> None:
    """Print names and values, a line each, and a blank line."""
    width = max(map(len, pairs))
    for name, shown in pairs.items():
        value = show_controls(shown)
        if on_terminal():
            from rich.text import Text

            _print(Text.assemble((name.ljust(width), "cyan"), GAP, value))
        else:
            typer.echo(f"{name.ljust(width)}{GAP}{value}")
    typer.echo()


def show_advice(sentences: Iterable[str]) -> None:
    """Print a blank line and advice, a sentence each."""
    typer.echo()
    for sentence in sentences:
        if on_terminal():
            from rich.table import Table
            from rich.text import Text

            grid = Table.grid(padding=(0, 1))
            grid.add_row(Text("→", style="yellow"), Text(sentence))
            _print(grid)
        else:
            typer.echo(f"→ {sentence}")


def show_result(
    result: Table | Tabular,
    format: str,
    *,
    title: str = "",
    notes: Sequence[str] = (),
    content: Any = None,
) -> None:
    """Print a result as JSON, CSV, Markdown, LaTeX, or as a table with a title and more notes.

    `content` is what JSON has, where it is not the result's `to_dict`.
    """
    table = result if isinstance(result, Table) else result.table()
    if format == "json":
        show_json(result.to_dict() if content is None else content)
    elif format == "csv":
        typer.echo(table.to_csv(), nl=False)
    elif format == "markdown":
        typer.echo(result.to_markdown())
    elif format == "latex":
        typer.echo(result.to_latex())
    else:
        show_table(replace(table, title=title or table.title, notes=[*table.notes, *notes]))


def show_json(content: Any) -> None:
    """Print JSON."""
    typer.echo(to_json(content))


def _print(content: Any, *, soft_wrap: bool = False) -> None:
    from rich.console import Console

    Console().print(content, soft_wrap=soft_wrap)
