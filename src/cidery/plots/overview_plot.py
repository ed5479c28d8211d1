"""Figure of the agreement of metrics with human judgments, by data set.

Functions return a matplotlib `Figure`; `cidery.plots.save_figures` writes it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cidery.meta.overview import Overview
from cidery.meta.protocols.base import HUMAN
from cidery.plots.figures import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PANELS_PER_LINE = 4


def plot_overview(overview: Overview) -> Figure:
    """Draw the agreement of metrics on each data set, with intervals; full markers rank first.

    Annotator agreement is a line.

    ```python
    plot_overview(evaluate_all("data", ["cider-d", "rouge-l"]))
    ```
    """
    metrics = [label for label in overview.metrics if label != HUMAN]
    across = min(len(overview.results), _PANELS_PER_LINE)
    down = -(-len(overview.results) // across)
    height = 0.24 * len(metrics) + 0.9
    with new_figure(1.6 + 2.1 * across, height * down) as figure:
        panels = figure.subplots(down, across, squeeze=False, sharey=True).ravel().tolist()
        for axes, (name, found) in zip(panels, overview.results.items(), strict=False):
            axes.grid(True, axis="x")
            for place, label in enumerate(metrics):
                cell = found.get(label)
                if cell is None or not math.isfinite(cell.value):
                    continue
                ends = [100 * cell.low, 100 * cell.high]
                axes.plot(ends, [place] * 2, color="0.55", linewidth=1.1, zorder=2)
                axes.plot(
                    [100 * cell.value],
                    [place],
                    marker="o",
                    markersize=5,
                    color="#0072B2",
                    markerfacecolor="#0072B2" if cell.place == 1 else "white",
                    linestyle="none",
                    zorder=3,
                )
            if HUMAN in found:
                axes.axvline(100 * found[HUMAN].value, color="#D55E00", linewidth=1.1)
            axes.set_title(name)
            axes.set_xlabel(f"{overview.statistics[name]}, %")
            axes.tick_params(axis="y", length=0)
            axes.set_yticks(range(len(metrics)), metrics, parse_math=False)
        panels[0].set_ylim(len(metrics) - 0.5, -0.5)
        for axes in panels[len(overview.results) :]:
            axes.set_visible(False)
    return figure
