"""HTML for notebooks and reports: pages, and captions whose words are colored by their values.

Text is data: it is escaped everywhere. Colors are transparent, so that they suit light and dark
pages alike, and every mark also has a line below it and its value as a tooltip.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Protocol

    class Mark(Protocol):
        """A piece of a text with a value: `Span` is one."""

        @property
        def start(self) -> int:
            """The first character."""

        @property
        def end(self) -> int:
            """Behind the last character."""

        @property
        def value(self) -> float:
            """What it earned (> 0) or cost (< 0)."""

        @property
        def note(self) -> str:
            """What the tooltip says after the value."""


GREEN, RED, GREY = "0,160,80", "220,50,40", "128,128,128"


_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"})


def escape(text: str) -> str:
    """Write text as HTML that shows it; `html.escape` would import a table of all characters.

    ```python
    escape("<b> & 'c'")   # "&lt;b&gt; &amp; &#x27;c&#x27;"
    ```
    """
    return text.translate(_ESCAPES)


def fold_lines(summary: str, lines: Sequence[str]) -> str:
    """Return lines of code, such as signatures, that open with a click on the summary."""
    if not lines:
        return ""
    body = "".join(f"<div><code>{escape(line)}</code></div>" for line in lines)
    return f'<details style="opacity:.7"><summary>{escape(summary)}</summary>{body}</details>'


def html_page(title: str, body: str) -> str:
    """Return a page that holds all it needs; `body` is HTML, the title is text."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(title)}</title><style>body{{font:16px/1.6 sans-serif;max-width:60em;"
        "margin:2em auto;padding:0 1em}th,td{padding:.1em .6em}</style></head>"
        f"<body>{body}</body></html>"
    )


def mark_text(text: str, marks: Sequence[Mark], scale: float | None = None) -> str:
    """Return a text in HTML with pieces colored: green where they earned, red where they cost.

    `scale` is the value that has the full color; by default the largest of these. Pieces lie in
    order and do not overlap.

    ```python
    mark_text("a <dog>", [cidery.Span(2, 7, 0.5, "in 2 of 2 references")])
    ```
    """
    largest = scale or max((abs(mark.value) for mark in marks), default=0.0)
    parts, done = [], 0
    for mark in marks:
        parts += [
            escape(text[done : mark.start]),
            _mark(text[mark.start : mark.end], mark, largest),
        ]
        done = mark.end
    return "".join([*parts, escape(text[done:])])


def _mark(text: str, mark: Mark, largest: float) -> str:
    strength = min(1.0, abs(mark.value) / largest) if largest else 0.0
    color, line = (RED, "dashed") if mark.value < 0 else (GREEN, "solid")
    style = f"border-bottom:2px {line} rgba({color},{0.3 + 0.7 * strength:.2f})"
    if mark.value:
        style += f";background:rgba({color},{0.45 * strength:.2f})"
    else:
        style = f"border-bottom:2px dotted rgba({GREY},.6)"
    title = escape(f"{mark.value:+.4f} {mark.note}".rstrip())
    return f'<span style="{style}" title="{title}">{escape(text)}</span>'
