"""Figures of diversity: systems beside each other, captions by topic, maps of captions.

Functions return a matplotlib `Figure`; `cidery.plots.save_figures` writes it. Needs the extra
`plots`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from cidery.diversity import CaptionMap, DiversityComparison, LatentSemantics, WordFrequencies
from cidery.diversity.comparison import HUMANS
from cidery.errors import InputError, SettingError
from cidery.plots.figures import (
    COLOURS,
    LINES,
    line_styles,
    new_figure,
    point_styles,
    require_some,
)
from cidery.plots.labels import label_points
from cidery.scoring.tables import ScoreTable

if TYPE_CHECKING:
    from matplotlib.collections import PathCollection
    from matplotlib.figure import Figure


def plot_diversity(comparison: DiversityComparison) -> dict[str, Figure]:
    """Draw every figure that there are data for, by name.

    `tradeoff`, `f` and `counts` need references and Self-CIDEr.

    ```python
    save_figures(plot_diversity(compare_diversity(systems, details=True)), "diversity.pdf")
    ```
    """
    details = comparison.details
    if details is None:
        raise SettingError("there are no details to draw; pass details=True to compare_diversity")
    figures: dict[str, Figure] = {}
    if details.curves:
        figures["tradeoff"] = plot_tradeoff(comparison.tables)
        figures["f"] = plot_f_scores(comparison.tables)
        figures["counts"] = plot_counts(details.curves)
    figures["words"] = plot_word_frequencies(details.words)
    figures["radar"] = plot_radar(details.topics)
    figures["map"] = plot_map(details.map)
    return figures


def plot_tradeoff(
    tables: Mapping[str, ScoreTable], measure: str = "self-cider", *, humans: str = HUMANS
) -> Figure:
    """Draw systems by accuracy and diversity, with intervals: figure 4 of Wang and Chan 2019.

    The tables come from `measure_diversity(…, references=…)`; the one called `humans` is drawn as a
    black star.

    ```python
    plot_tradeoff({"ours": ours, "humans": humans})
    ```
    """
    _check_tables(tables, measure, "accuracy")
    with new_figure(5.2, 3.9) as figure:
        axes = figure.add_subplot()
        axes.grid(True)
        points = []
        for (name, table), style in zip(tables.items(), point_styles(tables, humans), strict=True):
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
        label_points(figure, axes, points)
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
                color="white" if name == humans else COLOURS[5],
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
    for tables in curves.values():
        _check_tables({str(count): table for count, table in tables.items()}, *measures)
    with new_figure(5.2, 3.6) as figure:
        from matplotlib.lines import Line2D

        axes = figure.add_subplot()
        axes.grid(True)
        styles = point_styles(curves, humans)
        for (_, tables), style in zip(curves.items(), styles, strict=True):
            colour = style["markerfacecolor"]
            for number, (measure, line) in enumerate(zip(measures, cycle(LINES))):
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
            for measure, line in zip(measures, cycle(LINES))
        ]
        figure.legend(handles=systems + lines, loc="outside right upper")
    return figure


def plot_word_frequencies(counts: Mapping[str, WordFrequencies], *, humans: str = HUMANS) -> Figure:
    """Draw how often each system uses its words, by rank: figure 3 of Wang and Chan 2019.

    ```python
    plot_word_frequencies({"ours": count_words(sets)})
    ```
    """
    require_some(counts)
    with new_figure(5.2, 3.4) as figure:
        axes = figure.add_subplot()
        axes.grid(True)
        styles = point_styles(counts, humans)
        for (name, found), style, line in zip(counts.items(), styles, cycle(LINES)):
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
    require_some(semantics)
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
        for name, style in zip(names, point_styles(list(map(str, names)), ""), strict=True):
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


def _spell(measure: str) -> str:
    names = {"self-cider": "Self-CIDEr", "lsa": "LSA", "cider-d": "CIDEr-D", "cider": "CIDEr"}
    return names.get(measure, measure)


def _accuracy_metric(tables: Mapping[str, ScoreTable]) -> str:
    """Return what accuracy was measured with: `accuracy|metric:cider-d|…` says."""
    signature = next(iter(tables.values())).signatures["accuracy"]
    return _spell(signature.partition("metric:")[2].partition("|")[0])


def _check_tables(tables: Mapping[str, ScoreTable], *columns: str) -> None:
    require_some(tables)
    for name, table in tables.items():
        lacking = [column for column in columns if column not in table.corpus]
        if lacking:
            raise InputError(
                f"the table of {name!r} has no {lacking[0]!r}; pass tables of "
                "measure_diversity(…, references=…) with that measure"
            )
