"""Figures of word frequencies, topics and similarities of captions.

Functions return a matplotlib `Figure`; `cidery.plots.save_figures` writes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from cidery.diversity import CaptionMap, LatentSemantics, WordFrequencies
from cidery.diversity.comparison import HUMANS
from cidery.plots.figures import LINES, line_styles, new_figure, point_styles, require_some

if TYPE_CHECKING:
    from matplotlib.collections import PathCollection
    from matplotlib.figure import Figure


def plot_word_frequencies(counts: Mapping[str, WordFrequencies], *, humans: str = HUMANS) -> Figure:
    """Draw word frequencies by rank: figure 3 of Wang and Chan 2019.

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
    """Draw captions of several images as a map; equal captions share a larger marker: figure 9.

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
