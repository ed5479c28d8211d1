"""Charts as SVG in the colors of the page, which are light or dark as the reader's system is."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from cidery.plots import new_figure
from cidery_server.web.templatetags.words import written

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, FAINT, LINE = "#24211c", "#6a6459", "#ddd6c9"
ACCENT, SECOND, MUTED = "#9a4d00", "#1f6f8b", "#a39b8d"
"""Colors of series: main, needing attention, not counted."""
DARK = {
    INK: "#ece7de",
    FAINT: "#aaa294",
    LINE: "#453f37",
    ACCENT: "#f0a050",
    SECOND: "#6cc3dc",
    MUTED: "#7d7568",
}
"""light -> dark, as in `style.css`"""
WIDTH, HEIGHT = 480, 240
"""Size of a study's chart, in pixels of the page."""
_INCH = 100
"""Pixels of the page."""
_PAPER = {
    "font.size": 10,  # read on phones too, where charts are smaller
    "axes.labelsize": 10,
    "text.color": INK,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": FAINT,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "grid.color": LINE,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
}
_STYLES = re.compile(r'(?<= )style="[^"<>]*"')
_FONT = 'system-ui, "Segoe UI", Roboto, "Noto Sans", sans-serif'


@contextmanager
def new_chart(width: float = WIDTH, height: float = HEIGHT) -> Iterator[Figure]:
    """Yield a figure of this size in pixels, in the colors above."""
    with new_figure(width / _INCH, height / _INCH) as figure:
        import matplotlib

        with matplotlib.rc_context(_PAPER):  # type: ignore[arg-type]
            figure.set_facecolor("none")
            yield figure


def _localize(figure: Figure) -> None:
    """Write the numbers of axes as the reader's language does."""
    from matplotlib.ticker import ScalarFormatter

    class LocalFormatter(ScalarFormatter):
        def __call__(self, value: float, position: int | None = None) -> str:
            return written(super().__call__(value, position))

    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            if isinstance(axis.get_major_formatter(), ScalarFormatter):
                axis.set_major_formatter(LocalFormatter())


def to_svg(figure: Figure) -> bytes:
    """Return a chart whose colors follow the reader's light or dark theme."""
    _localize(figure)
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata={"Date": None})
    names = {light: f"--c{number}" for number, light in enumerate(DARK)}

    def name_colors(style: re.Match[str]) -> str:
        text = style[0]
        for light, name in names.items():
            text = text.replace(light, f"var({name})")
        return text

    drawn = _STYLES.sub(name_colors, file.getvalue())
    light = "".join(f"{name}:{color};" for color, name in names.items())
    dark = "".join(f"{names[color]}:{other};" for color, other in DARK.items())
    sheet = (
        f"<style>svg{{{light}}}text{{font-family:{_FONT}!important}}"
        f"@media(prefers-color-scheme:dark){{svg{{{dark}}}}}</style>"
    )
    start = drawn.index(">", drawn.index("<svg")) + 1
    return (drawn[:start] + sheet + drawn[start:]).encode()
