"""Pictures of diversity, for print: vector (PDF, SVG, EPS) or PNG.

Colours are those of Okabe and Ito (2008), which colour-blind readers tell apart; every series has a
marker or a line style of its own as well, so that nothing rests on colour alone. Functions return a
matplotlib `Figure`; `save_figures` writes them. Needs the extra `plots`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from cidery.diversity import CaptionMap, LatentSemantics, WordFrequencies
from cidery.errors import InputError, MissingExtraError, SettingError
from cidery.scoring.tables import ScoreTable
from cidery.statistics import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection
    from matplotlib.figure import Figure

HUMANS = "humans"
"""The system that is marked as human wherever it occurs."""
FORMATS = (".pdf", ".svg", ".eps", ".png")

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "h")
_LINES: tuple[Literal["-", "--", "-.", ":"], ...] = ("-", "--", "-.", ":")
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
"""matplotlib's settings are the whole process's: of two threads one would restore the other's."""


def plot_tradeoff(
    tables: Mapping[str, ScoreTable], measure: str = "self-cider", *, humans: str = HUMANS
) -> Figure:
    """Draw systems by accuracy and diversity, with intervals: figure 4 of Wang and Chan 2019.

    The tables come from `diversity(..., references=…)`; the one called `humans` is a black star.

    ```python
    plot_tradeoff({"ours": ours, "humans": humans})
    ```
    """
    _check_tables(tables, measure, "accuracy")
    with new_figure(5.2, 3.9) as figure:
        axes = figure.add_subplot()
        axes.grid(True)
        points = []
        for (name, table), style in zip(tables.items(), _point_styles(tables, humans), strict=True):
            across, up = table.interval("accuracy"), table.interval(measure)
            axes.errorbar(
                across.score,
                up.score,
                xerr=[[across.score - across.low], [across.high - across.score]],
                yerr=[[up.score - up.low], [up.high - up.score]],
                fmt="none",
                ecolor="0.65",
                elinewidth=0.8,
                zorder=2,
            )
            axes.plot(across.score, up.score, linestyle="none", zorder=3, **style)
            points.append((across, up, name))
        axes.margins(0.16)
        axes.set_xlabel(f"accuracy (mean {_accuracy_metric(tables)} with the references)")
        axes.set_ylabel(f"diversity ({_spell(measure)})")
        _label_points(figure, axes, points)
    return figure


def plot_f_scores(tables: Mapping[str, ScoreTable], *, humans: str = HUMANS) -> Figure:
    """Draw the F measure of systems as bars, the best on top: figure 5 of Wang and Chan 2019.

    ```python
    plot_f_scores({"ours": ours, "humans": humans})
    ```
    """
    _check_tables(tables, "f")
    ordered = sorted(tables, key=lambda name: tables[name].corpus["f"])
    with new_figure(5.2, 0.9 + 0.34 * len(ordered)) as figure:
        axes = figure.add_subplot()
        axes.grid(True, axis="x")
        for place, name in enumerate(ordered):
            found = tables[name].interval("f")
            axes.barh(
                place,
                found.score,
                height=0.68,
                color="white" if name == humans else _COLOURS[5],
                edgecolor="black",
                linewidth=0.6,
                hatch="///" if name == humans else None,
                xerr=[[found.score - found.low], [found.high - found.score]],
                error_kw={"elinewidth": 0.9, "capsize": 2.5},
            )
            axes.annotate(
                f"{found.score:.3f}",
                (found.high, place),
                (5, 0),
                textcoords="offset points",
                va="center",
            )
        axes.set_yticks(range(len(ordered)), ordered)
        axes.tick_params(axis="y", length=0)
        axes.margins(x=0.12)
        axes.set_xlim(left=0)
        axes.set_xlabel(f"F of diversity (Self-CIDEr) and accuracy ({_accuracy_metric(tables)})")
    return figure


def plot_counts(
    curves: Mapping[str, Mapping[int, ScoreTable]],
    measures: Sequence[str] = ("self-cider", "lsa"),
    *,
    humans: str = HUMANS,
) -> Figure:
    """Draw diversity against the number of captions: figure 6 of Wang and Chan 2019.

    The curves come from `diversity_by_count`, one per system; each measure has its line style.

    ```python
    plot_counts({"ours": diversity_by_count(sets, references)})
    ```
    """
    from matplotlib.lines import Line2D

    for tables in curves.values():
        _check_tables({str(count): table for count, table in tables.items()}, *measures)
    with new_figure(5.2, 3.6) as figure:
        axes = figure.add_subplot()
        axes.grid(True)
        styles = _point_styles(curves, humans)
        for (_, tables), style in zip(curves.items(), styles, strict=True):
            colour = style["markerfacecolor"]
            for number, (measure, line) in enumerate(zip(measures, cycle(_LINES))):
                values = [table.corpus[measure] for table in tables.values()]
                marks = style if number == 0 else style | {"markerfacecolor": "white"}
                axes.plot(list(tables), values, line, color=colour, clip_on=False, **marks)
        axes.set_ylim(0, 1)
        axes.set_xticks(sorted({count for tables in curves.values() for count in tables}))
        axes.set_xlabel("captions per image, the most accurate first")
        axes.set_ylabel("diversity")
        systems = [
            Line2D([], [], label=name, color=style["markerfacecolor"], **style)
            for name, style in zip(curves, styles, strict=True)
        ]
        lines = [
            Line2D([], [], color="black", linestyle=line, label=_spell(measure))
            for measure, line in zip(measures, cycle(_LINES))
        ]
        figure.legend(handles=systems + lines, loc="outside right upper")
    return figure


def plot_word_frequencies(counts: Mapping[str, WordFrequencies], *, humans: str = HUMANS) -> Figure:
    """Draw how often each system uses its words, by rank: figure 3 of Wang and Chan 2019.

    ```python
    plot_word_frequencies({"ours": count_words(sets)})
    ```
    """
    _check_some(counts)
    with new_figure(5.2, 3.4) as figure:
        axes = figure.add_subplot()
        axes.grid(True)
        styles = _point_styles(counts, humans)
        for (name, found), style, line in zip(counts.items(), styles, cycle(_LINES)):
            ranks = np.arange(1, len(found) + 1)
            marked = np.unique(np.geomspace(1, max(1, len(found)), 7).astype(int)) - 1
            axes.plot(
                ranks,
                found.counts,
                line,
                color=style["markerfacecolor"],
                markevery=marked.tolist(),
                label=f"{name} ({len(found)} words)",
                **style,
            )
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("rank of the word")
        axes.set_ylabel("occurrences")
        axes.legend(handlelength=3.2)
    return figure


def plot_radar(semantics: Mapping[str, LatentSemantics], *, columns: int = 3) -> Figure:
    """Draw captions on their image's latent topics, a chart per set: figures 14-16.

    Each line is a caption, numbered in the order given; the thick circle is 0.

    ```python
    plot_radar({"ours": latent_semantics(captions)})
    ```
    """
    _check_some(semantics)
    columns = min(columns, len(semantics))
    rows = -(-len(semantics) // columns)
    most = max(len(found.captions) for found in semantics.values())
    with new_figure(2.3 * columns + 0.6, 2.5 * rows) as figure:
        styles = line_styles(most)
        handles: list[Any] = []
        for place, (name, found) in enumerate(semantics.items(), start=1):
            axes = figure.add_subplot(rows, columns, place, projection="polar")
            drawn = _draw_radar(axes, found, styles)
            axes.set_title(name, pad=12)
            handles = max(handles, drawn, key=len)
        figure.legend(
            handles=handles, title="caption", loc="outside right center", handlelength=2.4
        )
    return figure


def _draw_radar(axes: Any, found: LatentSemantics, styles: Sequence[dict[str, Any]]) -> list[Any]:
    topics = found.coordinates.shape[1]
    angles = np.linspace(0, 2 * np.pi, topics, endpoint=False)
    closed = np.append(angles, angles[:1])
    drawn = []
    for number, (row, style) in enumerate(zip(found.coordinates, styles, strict=False), start=1):
        drawn += axes.plot(closed, np.append(row, row[:1]), label=str(number), **style)
    axes.plot(np.linspace(0, 2 * np.pi, 200), np.zeros(200), color="0.35", linewidth=1.1, zorder=1)
    axes.set_theta_offset(np.pi / 2)
    axes.set_ylim(-1, 1)
    axes.set_yticks([-0.5, 0, 0.5], ["−0.5", "0", "0.5"], color="0.4", fontsize=6)
    axes.set_rlabel_position(180 / topics)
    axes.set_xticks(angles, [f"S{topic}" for topic in range(1, topics + 1)])
    axes.tick_params(axis="x", pad=-1)
    axes.spines["polar"].set_color("0.8")
    return drawn


def plot_map(points: CaptionMap) -> Figure:
    """Draw captions of several images as a map, equal captions as one larger mark: figure 9.

    ```python
    plot_map(map_captions(sets))
    ```
    """
    names = list(dict.fromkeys(points.images))
    with new_figure(5.2, 3.9) as figure:
        axes = figure.add_subplot()
        axes.grid(True)
        for name, style in zip(names, _point_styles(list(map(str, names)), ""), strict=True):
            mine = points.coordinates[[image == name for image in points.images], :2]
            places, repeats = np.unique(mine.round(9), axis=0, return_counts=True)
            axes.scatter(
                places[:, 0],
                places[:, 1] if places.shape[1] > 1 else np.zeros(len(places)),
                s=26 * repeats,
                marker=style["marker"],
                color=style["markerfacecolor"],
                edgecolors="black",
                linewidths=0.6,
                alpha=0.9,
                label=str(name),
            )
        axes.margins(0.08)
        axes.set_aspect("equal", adjustable="datalim")
        axes.set_xlabel(f"multidimensional scaling, stress {points.stress:.2f}")
        axes.tick_params(labelbottom=False, labelleft=False, length=0)
        legend = figure.legend(title="image", loc="outside right upper")
        for handle in legend.legend_handles:
            cast("PathCollection", handle).set_sizes([26])
    return figure


def save_figures(
    figures: Mapping[str, Figure] | Figure, path: str | os.PathLike[str]
) -> list[Path]:
    """Write pictures by suffix: several into one PDF, or into `NAME-picture.png` each.

    ```python
    save_figures({"tradeoff": plot_tradeoff(tables), "f": plot_f_scores(tables)}, "out.pdf")
    ```
    """
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix not in FORMATS:
        raise SettingError(f"{path}: pictures are written as {', '.join(FORMATS)}, not {suffix!r}")
    named = figures if isinstance(figures, Mapping) else {"": figures}
    _check_some(named)
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


@contextmanager
def _style() -> Iterator[None]:
    """Draw and write in this module's style, one at a time; others' settings stay theirs."""
    try:
        import matplotlib
    except ImportError:
        raise MissingExtraError.to("draw", package="matplotlib", extra="plots") from None
    with _DRAWING, matplotlib.rc_context(_STYLE):  # type: ignore[arg-type]
        yield


@contextmanager
def new_figure(width: float, height: float) -> Iterator[Figure]:
    """Make a figure of so many inches."""
    with _style():
        from matplotlib.figure import Figure

        yield Figure(figsize=(width, height), layout="constrained")


def _point_styles(names: Mapping[str, Any] | Sequence[str], humans: str) -> list[dict[str, Any]]:
    """Return a marker and a colour for each name; no pair comes twice among 70."""
    colours, markers = cycle(_COLOURS), cycle(_MARKERS)
    return [
        {
            "marker": "*" if name == humans else next(markers),
            "markerfacecolor": "black" if name == humans else next(colours),
            "markersize": 12 if name == humans else 7,
            "markeredgecolor": "black",
            "markeredgewidth": 0.6,
        }
        for name in names
    ]


def line_styles(count: int) -> list[dict[str, Any]]:
    """Return styles for lines that may lie on each other."""
    styles = zip(cycle(_COLOURS[:6]), cycle(_LINES), cycle(_MARKERS), strict=False)
    return [
        {"color": colour, "linestyle": line, "marker": marker, "markersize": 3, "linewidth": 1.1}
        for colour, line, marker in islice(styles, count)
    ]


def _label_points(
    figure: Figure, axes: Axes, points: Sequence[tuple[Interval, Interval, str]]
) -> None:
    """Write names beside their points, where they cover each other, marks and intervals least."""
    from matplotlib.transforms import Bbox

    offsets = [(5, 5), (5, -5), (-5, 5), (-5, -5), (9, 0), (-9, 0), (0, 9), (0, -9)]
    figure.draw_without_rendering()
    place = axes.transData.transform
    size = 5 * figure.dpi / 72
    taken = []
    for x, y, _ in points:
        centre = place((x.score, y.score))
        bar, post = (
            place([(x.low, y.score), (x.high, y.score)]),
            place([(x.score, y.low), (x.score, y.high)]),
        )
        taken += [
            Bbox([corners[0] - pad, corners[1] + pad])
            for corners, pad in ((bar, 2), (post, 2), ((centre, centre), size))
        ]
    inside = axes.get_window_extent()
    for x, y, name in points:
        options: list[tuple[float, int, Any, Any]] = []
        for dx, dy in offsets:
            text = axes.annotate(
                name,
                (x.score, y.score),
                (dx, dy),
                textcoords="offset points",
                ha="center" if dx == 0 else "left" if dx > 0 else "right",
                va="center" if dy == 0 else "bottom" if dy > 0 else "top",
            )
            box = text.get_window_extent()
            hidden = sum(_overlap(box, other) for other in taken)
            outside = box.width * box.height - _overlap(box, inside)
            options.append((hidden + outside, len(options), text, box))
            text.remove()
        _, _, text, box = min(options, key=lambda option: option[:2])
        axes.add_artist(text)
        taken.append(box)


def _overlap(one: Any, other: Any) -> float:
    width = min(one.x1, other.x1) - max(one.x0, other.x0)
    height = min(one.y1, other.y1) - max(one.y0, other.y0)
    return max(0.0, float(width)) * max(0.0, float(height))


def _spell(measure: str) -> str:
    names = {"self-cider": "Self-CIDEr", "lsa": "LSA", "cider-d": "CIDEr-D", "cider": "CIDEr"}
    return names.get(measure, measure)


def _accuracy_metric(tables: Mapping[str, ScoreTable]) -> str:
    """Return what accuracy was measured with: `accuracy|metric:cider-d|…` says."""
    signature = next(iter(tables.values())).signatures["accuracy"]
    return _spell(signature.partition("metric:")[2].partition("|")[0])


def _check_some(things: Mapping[str, Any]) -> None:
    if not things:
        raise InputError("there is nothing to draw")


def _check_tables(tables: Mapping[str, ScoreTable], *columns: str) -> None:
    _check_some(tables)
    for name, table in tables.items():
        lacking = [column for column in columns if column not in table.corpus]
        if lacking:
            raise InputError(
                f"the table of {name!r} has no {lacking[0]!r}; it comes from diversity(…, "
                "references=…) with that measure"
            )
