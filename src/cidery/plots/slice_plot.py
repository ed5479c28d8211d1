"""Figures of scores by slices of the images, with their intervals.

Functions return a matplotlib `Figure`; `cidery.plots.save_figures` writes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from cidery.errors import InputError
from cidery.plots.figures import new_figure, point_styles, require_some
from cidery.scoring.score_table import ScoreTable
from cidery.statistics import RESAMPLES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LONGEST_NAME = 32
_PANELS_PER_LINE = 4
MIN_IMAGES = 10
"""Images of a slice from which its interval is drawn; those of fewer would hide all others."""


def plot_slices(
    tables: ScoreTable | Mapping[str, ScoreTable],
    metrics: Sequence[str] | None = None,
    *,
    confidence: float = 0.95,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Figure:
    """Draw the scores of slices with intervals: a panel per metric, a marker per system.

    Tables are those of `score(…, by=…)` or `compare(…, by=…)`. Slices of fewer than ten images have
    no interval, and their number of images beside the name.

    ```python
    plot_slices(cidery.score(candidates, references, by="references"), ["cider-d"])
    ```
    """
    systems = {"": tables} if isinstance(tables, ScoreTable) else dict(tables)
    require_some(systems)
    sliced = {name: table.slices for name, table in systems.items() if table.slices is not None}
    if len(sliced) < len(systems):
        raise InputError("no slices to draw; pass by= to score or compare")
    first = next(iter(sliced.values()))
    labels = list(metrics or first.whole.corpus)
    unknown = [label for label in labels if label not in first.whole.corpus]
    if unknown:
        known = ", ".join(first.whole.corpus)
        raise InputError(f"{unknown[0]!r} was not scored; there are {known}")
    found = {name: s.intervals(confidence, seed, resamples) for name, s in sliced.items()}
    names = list(first.parts)
    styles = point_styles(systems, humans=None)
    across = min(len(labels), _PANELS_PER_LINE)
    down = -(-len(labels) // across)
    height = 0.24 * len(names) * max(1.0, 0.55 * len(systems)) + 0.7
    with new_figure(1.9 + 2.3 * across, height * down + 0.3 * (len(systems) > 1)) as figure:
        all_axes = figure.subplots(down, across, squeeze=False, sharey=True).ravel().tolist()
        for axes, label in zip(all_axes, labels, strict=False):
            axes.grid(True, axis="x")
            for number, ((system, s), style) in enumerate(zip(sliced.items(), styles, strict=True)):
                shift = 0.6 * ((number + 0.5) / len(systems) - 0.5)
                for place, (name, table) in enumerate(s.parts.items()):
                    interval = found[system].get(name, {}).get(label)
                    if interval is not None and table.image_count >= MIN_IMAGES:
                        ends = [interval.low, interval.high]
                        at = [place + shift] * 2
                        axes.plot(ends, at, color="0.55", linewidth=1.1, zorder=2)
                    axes.plot(
                        *([table.corpus[label]], [place + shift]),
                        linestyle="none",
                        zorder=3,
                        label=system if place == 0 else None,
                        **style | {"markersize": 5},
                    )
            axes.axhline(0.5, color="0.8", linewidth=0.6)
            axes.set_xlabel(label)
            axes.tick_params(axis="y", length=0)
            # Names may contain $, which must not start a formula.
            shown = [_name_slice(name, first.parts[name].image_count) for name in names]
            axes.set_yticks(range(len(names)), shown, parse_math=False)
        for axes in all_axes[len(labels) :]:
            axes.set_visible(False)
        all_axes[0].set_ylim(len(names) - 0.5, -0.5)
        if len(systems) > 1:
            handles, _ = all_axes[0].get_legend_handles_labels()
            figure.legend(handles=handles, loc="outside upper center", ncols=min(4, len(systems)))
    return figure


def _name_slice(name: str, images: int) -> str:
    if images >= MIN_IMAGES:
        return _shorten(name)
    return f"{_shorten(name)} ({images} image{'s' * (images != 1)})"


def _shorten(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"
