"""Style, colors and markers of all figures, and writing them to files.

Colors are those of Okabe and Ito (2008), which are safe for color-blind readers; every series also
has its own marker or line style. Vector files (PDF, SVG, EPS) keep text as text.
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
"""File formats of `save_figures`."""
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
    "pdf.fonttype": 42,  # embed fonts as text
    "svg.fonttype": "none",
    "svg.hashsalt": "cidery",  # reproducible files
}
_DRAWING = RLock()
"""Lock for matplotlib's settings, which are global."""


@contextmanager
def _style() -> Iterator[None]:
    """Apply this module's style inside the block."""
    try:
        import matplotlib
    except ImportError:
        raise MissingExtraError.to("draw", package="matplotlib", extra="plots") from None
    with _DRAWING, matplotlib.rc_context(_STYLE):  # type: ignore[arg-type]
        yield


@contextmanager
def new_figure(width: float, height: float) -> Iterator[Figure]:
    """Yield a figure of this size in inches."""
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
    """Return the suffix of a figure file; raise a SettingError for unsupported formats."""
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise SettingError(
            f"{path}: unsupported figure format {suffix!r}; use {', '.join(FORMATS)}"
        )
    return suffix


def require_some(things: Mapping[str, Any]) -> None:
    """Raise an InputError if there is nothing to draw."""
    if not things:
        raise InputError("nothing to draw")


def line_styles(count: int) -> list[dict[str, Any]]:
    """Return a color, line style and marker for each line."""
    styles = zip(cycle(COLORS[:6]), cycle(LINES), cycle(_MARKERS), strict=False)
    return [
        {"color": color, "linestyle": line, "marker": marker, "markersize": 3, "linewidth": 1.1}
        for color, line, marker in islice(styles, count)
    ]


def point_styles(names: Iterable[str], humans: str | None) -> list[dict[str, Any]]:
    """Return a marker and a color for each name; `humans` is a black star.

    The first 70 combinations are distinct.
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
