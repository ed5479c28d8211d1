"""HTML for notebooks and reports: pages, and captions whose words are colored by their values.

Text is escaped. Colors are transparent, for light and dark pages; every mark also has an underline
and its value as a tooltip.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Protocol

    class Mark(Protocol):
        """Part of a text with a value, such as `Span`."""

        @property
        def start(self) -> int:
            """Index of the first character."""

        @property
        def end(self) -> int:
            """Index after the last character."""

        @property
        def value(self) -> float:
            """Contribution to the score."""

        @property
        def note(self) -> str:
            """Text of the tooltip after the value."""


GREEN, RED, GREY = "0,160,80", "220,50,40", "128,128,128"


_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"})


def escape(text: str) -> str:
    """Escape text for HTML; `html.escape` imports a table of all entities.

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
    """Return a self-contained page; `body` is HTML, the title is text."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(title)}</title><style>body{{font:16px/1.6 sans-serif;max-width:60em;"
        "margin:2em auto;padding:0 1em}th,td{padding:.1em .6em}</style></head>"
        f"<body>{body}</body></html>"
    )


def mark_text(text: str, marks: Sequence[Mark], scale: float | None = None) -> str:
    """Return text as HTML with colored spans: green for positive values, red for negative ones.

    `scale` is the value with the full color; default: the largest. Spans are in order and do not
    overlap.

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
