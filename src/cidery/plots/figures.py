"""What all figures share: their style, colors and markers, and how they are written to files.

Colors are those of Okabe and Ito (2008), which color-blind readers tell apart; every series also
has a marker or a line style of its own, so that no figure depends on color alone. Vector files
(PDF, SVG, EPS) keep text as text. Needs the extra `plots`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, Literal

from cidery.errors import InputError, MissingExtraError, SettingError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = (".pdf", ".svg", ".eps", ".png")
"""What `save_figures` can write."""
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "h")
LINES: tuple[Literal["-", "--", "-.", ":"], ...] = ("-", "--", "-.", ":")
_STYLE = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": "0.88",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "pdf.fonttype": 42,  # text stays text
    "svg.fonttype": "none",
    "svg.hashsalt": "cidery",  # the same data make the same file
}
_DRAWING = RLock()
"""matplotlib's settings belong to the process, so only one thread at a time may change them."""


@contextmanager
def _style() -> Iterator[None]:
    """Apply this module's style inside the block; matplotlib's own settings come back after it."""
    try:
        import matplotlib
    except ImportError:
        raise MissingExtraError.to("draw", package="matplotlib", extra="plots") from None
    with _DRAWING, matplotlib.rc_context(_STYLE):  # type: ignore[arg-type]
        yield


@contextmanager
def new_figure(width: float, height: float) -> Iterator[Figure]:
    """Make a figure of this size in inches; draw on it inside the block."""
    with _style():
        from matplotlib.figure import Figure

        yield Figure(figsize=(width, height), layout="constrained")


def save_figures(
    figures: Mapping[str, Figure] | Figure, path: str | os.PathLike[str]
) -> list[Path]:
    """Write figures in the format of the suffix, and return the files.

    Several figures become the pages of one PDF; in other formats each gets a file of its own, such
    as `out-tradeoff.png`.

    ```python
    save_figures({"tradeoff": plot_tradeoff(tables), "f": plot_f_scores(tables)}, "out.pdf")
    ```
    """
    target = Path(path)
    suffix = check_figure_file(path)
    named = figures if isinstance(figures, Mapping) else {"": figures}
    require_some(named)
    with _style():
        if suffix == ".pdf":
            from matplotlib.backends.backend_pdf import PdfPages

            with PdfPages(target, metadata={"CreationDate": None}) as pages:
                for figure in named.values():
                    pages.savefig(figure)
            return [target]
        metadata = {"Date": None} if suffix == ".svg" else None
        written = []
        for name, figure in named.items():
            file = target if len(named) == 1 else target.with_stem(f"{target.stem}-{name}")
            figure.savefig(file, dpi=150, metadata=metadata)
            written.append(file)
        return written


def check_figure_file(path: str | os.PathLike[str]) -> str:
    """Return the suffix of a figure's file; refuse those that `save_figures` cannot write."""
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise SettingError(
            f"{path}: the name of a figure's file ends in {', '.join(FORMATS)}, not {suffix!r}"
        )
    return suffix


def require_some(things: Mapping[str, Any]) -> None:
    """Raise an InputError where there is nothing to draw."""
    if not things:
        raise InputError("there is nothing to draw")


def line_styles(count: int) -> list[dict[str, Any]]:
    """Return a color, a dash pattern and a marker for each of so many lines."""
    styles = zip(cycle(COLORS[:6]), cycle(LINES), cycle(_MARKERS), strict=False)
    return [
        {"color": color, "linestyle": line, "marker": marker, "markersize": 3, "linewidth": 1.1}
        for color, line, marker in islice(styles, count)
    ]


def point_styles(names: Iterable[str], humans: str | None) -> list[dict[str, Any]]:
    """Return a marker and a color for each name; `humans` is a black star.

    The first 70 names get 70 different combinations.
    """
    colors, markers = cycle(COLORS), cycle(_MARKERS)
    return [
        {
            "marker": "*" if name == humans else next(markers),
            "markerfacecolor": "black" if name == humans else next(colors),
            "markersize": 12 if name == humans else 7,
            "markeredgecolor": "black",
            "markeredgewidth": 0.6,
        }
        for name in names
    ]
