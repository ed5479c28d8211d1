"""Figures of agreement with human judgments: accuracy, correlations, wins of systems.

Functions return a matplotlib `Figure`; `cidery.plots.save_figures` writes it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cidery.errors import SettingError
from cidery.meta.agreement import Agreement
from cidery.meta.protocols.base import HUMAN
from cidery.plots.figures import COLORS, line_styles, new_figure
from cidery.statistics import Correlation, Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HATCHES = (None, "...", "xxx")
FEW_LINES = 4
"""Maximum number of lines with intervals."""
FEW_LEVELS = 10
"""Maximum number of distinct ratings drawn as boxes instead of a scatter plot."""
FEW_POINTS, MOST_POINTS = 100, 5000
"""Maximum number of large points, and of points drawn."""
_AT = re.compile(r"accuracy_at_([0-9]+)")


def plot_references(agreements: Agreement | Mapping[str, Agreement]) -> Figure:
    """Draw accuracy by number of references: the CIDEr paper's Figure 3, a panel per data set.

    ```python
    plot_references(evaluate(dataset, metrics, protocol="references"))
    ```
    """
    panels = {agreements.dataset: agreements} if isinstance(agreements, Agreement) else agreements
    labels = list(dict.fromkeys(label for found in panels.values() for label in found.results))
    styles = dict(zip(labels, line_styles(len(labels)), strict=True))
    with new_figure(3.4 * len(panels) + 1.4, 3.6) as figure:
        all_axes = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
        drawn: dict[str, Any] = {}
        for axes, (title, agreement) in zip(all_axes, panels.items(), strict=True):
            ticks: set[int] = set()
            for label, found in agreement.results.items():
                counts = [int(at[1]) for name in found if (at := _AT.fullmatch(name))]
                if not counts:
                    raise SettingError(
                        f"{label} has no accuracy by number of references; "
                        'evaluate with protocol="references"'
                    )
                shares = [100 * found[f"accuracy_at_{n}"] for n in counts]
                (drawn[label],) = axes.plot(counts, shares, label=label, **styles[label])
                if len(agreement.results) <= FEW_LINES and f"accuracy_at_{counts[0]}_low" in found:
                    low, high = (
                        [100 * found[f"accuracy_at_{n}_{side}"] for n in counts]
                        for side in ("low", "high")
                    )
                    axes.fill_between(counts, low, high, color=styles[label]["color"], alpha=0.12)
                ticks |= {*counts}
            axes.set_xscale("log", base=2)
            shown = [n for n in (1, 2, 3, 5, 10, 20, 48) if min(ticks) <= n <= max(ticks)]
            axes.set_xticks(shown, labels=list(map(str, shown)))
            axes.minorticks_off()
            axes.set_title(title)
            axes.set_xlabel("references per image")
            axes.grid(axis="y")
        all_axes[0].set_ylabel("accuracy, %")
        figure.legend(drawn.values(), drawn.keys(), loc="outside right center")
    return figure


def plot_wins(agreement: Agreement, *, balanced: bool = False) -> Figure:
    """Draw the share of pairs that each system wins, by human judgments and by metrics.

    The CIDEr paper's Figure 4, with intervals if they were computed. Systems are sorted by human
    judgments; `balanced` gives every opponent the same weight.

    ```python
    plot_wins(evaluate(dataset, ["cider", "bleu-4"], protocol="wins"))
    ```
    """
    people = agreement.results.get(HUMAN, {})
    start = "balanced_" if balanced else "wins_"
    named = [name for name in agreement.statistics if name.startswith(start)]
    shares = {name[len(start) :]: people[name] for name in named if name in people}
    if not shares:
        raise SettingError('no wins to draw; evaluate with protocol="wins"')
    systems = sorted(shares, key=lambda name: -shares[name])
    labels = [HUMAN, *(label for label in agreement.results if label != HUMAN)]
    width = 0.8 / len(labels)
    coefficient = "pearson_balanced" if balanced else "pearson"
    with new_figure(max(4.6, 2.2 + 0.15 * len(systems) * (len(labels) + 1)), 3.4) as figure:
        axes = figure.add_subplot()
        axes.grid(True, axis="y")
        axes.axhline(50, color="0.55", linewidth=0.8, linestyle="--")
        for place, label in enumerate(labels):
            found = agreement.results[label]
            r = found.get(coefficient)
            heights, errors = _find_bars(found, [f"{start}{name}" for name in systems])
            axes.bar(
                np.arange(len(systems)) + (place - (len(labels) - 1) / 2) * width,
                heights,
                width,
                yerr=errors,
                error_kw={"elinewidth": 0.8, "ecolor": "0.25"},
                label="people" if label == HUMAN else f"{label}, r = {r:.2f}",
                color="white" if label == HUMAN else COLORS[(place - 1) % len(COLORS)],
                edgecolor="black",
                linewidth=0.6,
                hatch="///" if label == HUMAN else HATCHES[(place - 1) // len(COLORS) % 3],
            )
        axes.set_xticks(range(len(systems)), systems, parse_math=False)
        if max(map(len, systems)) > 10 or len(systems) > 8:
            for text in axes.get_xticklabels():
                text.set(rotation=35, ha="right", rotation_mode="anchor")
        axes.tick_params(axis="x", length=0)
        axes.set_xlabel("system")
        axes.set_ylabel("pairs won, %, balanced" if balanced else "pairs won, %")
        figure.legend(loc="outside right upper")
    return figure


def _find_bars(
    found: Mapping[str, float], names: Sequence[str]
) -> tuple[list[float], list[list[float]] | None]:
    """Return shares in percent and their error bars, if there are intervals."""
    heights = [100 * found[name] for name in names]
    if f"{names[0]}_low" not in found:
        return heights, None
    down = [100 * (found[name] - found[f"{name}_low"]) for name in names]
    up = [100 * (found[f"{name}_high"] - found[name]) for name in names]
    return heights, [[max(0.0, value) for value in side] for side in (down, up)]


def plot_correlations(agreement: Agreement) -> Figure:
    """Draw each metric's scores against human ratings, with a regression line.

    Ratings with few distinct values are drawn as boxes, others as a scatter plot (Wang and Chan
    2019, Figure 7).

    ```python
    plot_correlations(evaluate(dataset, ["cider-d", "bleu-4"]))
    ```
    """
    if not agreement.points:
        raise SettingError(
            f"no scores and ratings to draw for {agreement.protocol!r}; "
            "evaluate ratings, sets or systems without the cache"
        )
    count = len(agreement.points)
    width = min(3, math.isqrt(count - 1) + 1)
    height = -(-count // width)
    with new_figure(2.6 * width, 2.4 * height) as figure:
        grid = figure.subplots(height, width, squeeze=False)
        for axes, (label, (scores, human)) in zip(
            grid.flat, agreement.points.items(), strict=False
        ):
            found = Correlation.build(scores, human)()
            if len(np.unique(human)) <= FEW_LEVELS:
                _draw_boxes(axes, scores, human)
            else:
                _draw_cloud(axes, scores, human)
            if np.ptp(human) > 0:
                slope, intercept = np.polyfit(human, scores, 1)
                ends = np.asarray([human.min(), human.max()])
                axes.plot(ends, slope * ends + intercept, color="#D55E00", linewidth=1.6)
            axes.set_title(f"{label}: r = {found['pearson']:.2f}, ρ = {found['spearman']:.2f}")
            axes.set_xlabel("human rating")
            axes.grid(axis="y")
        for axes in list(grid.flat)[count:]:
            axes.set_visible(False)
        for row in grid:
            row[0].set_ylabel("score")
    return figure


def _draw_boxes(axes: Any, scores: Floats, human: Floats) -> None:
    levels = np.unique(human)
    gap = float(np.diff(levels).min()) if len(levels) > 1 else 1.0
    axes.boxplot(
        [scores[human == level] for level in levels],
        positions=levels,
        widths=0.6 * gap,
        showfliers=False,
        manage_ticks=False,
        medianprops={"color": "black"},
        boxprops={"color": "#0072B2"},
        whiskerprops={"color": "#0072B2"},
        capprops={"color": "#0072B2"},
    )
    axes.set_xticks(levels, labels=[f"{level:.2g}" for level in levels])


def _draw_cloud(axes: Any, scores: Floats, human: Floats) -> None:
    step = -(-len(scores) // MOST_POINTS)
    look = {"s": 28, "alpha": 0.9} if len(scores) <= FEW_POINTS else {"s": 8, "alpha": 0.5}
    axes.scatter(human[::step], scores[::step], color="#0072B2", edgecolors="none", **look)
