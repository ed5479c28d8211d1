"""Figures of one measure of diversity against another, and against the vocabulary.

Functions return a matplotlib `Figure`; `cidery.plots.save_figures` writes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cidery.diversity.comparison import HUMANS
from cidery.errors import InputError
from cidery.plots.figures import new_figure, point_styles, require_some
from cidery.plots.labels import label_points
from cidery.scoring.score_table import ScoreTable
from cidery.statistics import Correlation, Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_NAMES = 10
"""Maximum number of systems labeled at their points instead of in a legend."""
_NAMES = {
    "self-cider": "Self-CIDEr",
    "lsa": "LSA",
    "mbleu-mix": "mBLEU-mix",
    "cider-d": "CIDEr-D",
    "cider": "CIDEr",
}


def plot_vocabulary(
    tables: Mapping[str, ScoreTable], measure: str = "self-cider", *, humans: str = HUMANS
) -> Figure:
    """Draw systems by the size of their vocabulary and their diversity: Wang and Chan's figure 2.

    A vocabulary grows with the number of captions: compare systems with equal numbers.

    ```python
    plot_vocabulary({"ours": ours, "humans": humans})
    ```
    """
    check_tables(tables, measure, "vocabulary")
    with new_figure(5.2, 3.9) as figure:
        axes = figure.add_subplot()
        axes.set_xlabel("different words in all captions")
        axes.set_ylabel(f"diversity ({spell_measure(measure)})")
        draw_systems(figure, axes, tables, "vocabulary", measure, humans)
    return figure


def plot_ranks(
    tables: Mapping[str, ScoreTable],
    measures: tuple[str, str] = ("self-cider", "mbleu-mix"),
    *,
    humans: str = HUMANS,
) -> Figure:
    """Draw systems by two measures, and their ranks by each: Wang and Chan's figures 10 and 11.

    On the right, the most diverse system is on top, and crossing lines are pairs of systems that
    the measures rank differently. Ties share a rank.

    ```python
    plot_ranks({"ours": ours, "humans": humans}, ("self-cider", "lsa"))
    ```
    """
    check_tables(tables, *measures)
    if len(tables) < 2:
        raise InputError("plot_ranks needs at least two systems")
    values = [np.asarray([t.corpus[measure] for t in tables.values()]) for measure in measures]
    rho = Correlation.build(*values)()["spearman"]
    names = 0.075 * max(map(len, tables))
    with new_figure(6.2 + 2 * names, max(3.2, 0.9 + 0.26 * len(tables))) as figure:
        # Labels of ranks need space on the right.
        left, right = figure.subplots(1, 2, width_ratios=(3.4, 2 + 2 * names))
        left.set_xlabel(spell_measure(measures[0]))
        left.set_ylabel(spell_measure(measures[1]))
        _draw_ranks(right, list(tables), values, humans)
        right.set_xticks((0, 1), [spell_measure(measure) for measure in measures])
        right.set_title(f"rank; Spearman's ρ = {rho:.2f}" if np.isfinite(rho) else "rank")
        _draw_points(left, tables, *measures, humans)  # the ranks identify the markers
    return figure


def _draw_ranks(axes: Axes, names: Sequence[str], values: Sequence[Any], humans: str) -> None:
    """Draw a line per system from its rank by one measure to its rank by the other."""
    count = len(names)
    ranks = [1 + (found[None, :] > found[:, None]).sum(axis=1) for found in values]
    heights = [_spread_equal(found) for found in ranks]
    for place, style in enumerate(point_styles(names, humans)):
        ends = [heights[0][place], heights[1][place]]
        axes.plot((0, 1), ends, color=style["markerfacecolor"], clip_on=False, **style)
        for side, align in ((0, "right"), (1, "left")):
            rank = int(ranks[side][place])
            text = f"{names[place]}  {rank}" if side == 0 else f"{rank}  {names[place]}"
            offset = (-9, 0) if side == 0 else (9, 0)
            axes.annotate(
                text, (side, ends[side]), offset, textcoords="offset points", ha=align,
                va="center", parse_math=False,
            )  # fmt: skip
    axes.set_ylim(count + 0.5, 0.5)
    axes.set_xlim(-0.05, 1.05)
    axes.set_yticks([])
    axes.tick_params(axis="x", length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _spread_equal(ranks: Any) -> Any:
    """Return the position of each system; tied systems are below each other."""
    order = np.argsort(ranks, kind="stable")
    heights = np.empty(len(ranks))
    heights[order] = np.arange(1, len(ranks) + 1)
    return heights


def draw_systems(
    figure: Figure,
    axes: Axes,
    tables: Mapping[str, ScoreTable],
    across: str,
    up: str,
    humans: str,
) -> None:
    """Draw systems as labeled points by two columns of their tables, with intervals."""
    points = _draw_points(axes, tables, across, up, humans)
    if len(points) <= MOST_NAMES:
        label_points(figure, axes, points)
    else:
        figure.legend(loc="outside right upper")


def _draw_points(
    axes: Axes, tables: Mapping[str, ScoreTable], across: str, up: str, humans: str
) -> list[tuple[Interval, Interval, str]]:
    """Draw systems as points; return their positions."""
    axes.grid(True)
    points = []
    for (name, table), style in zip(tables.items(), point_styles(tables, humans), strict=True):
        x, y = _find_interval(table, across), _find_interval(table, up)
        axes.errorbar(
            x.score,
            y.score,
            xerr=[[x.score - x.low], [x.high - x.score]],
            yerr=[[y.score - y.low], [y.high - y.score]],
            fmt="none",
            ecolor="0.65",
            elinewidth=0.8,
            zorder=2,
        )
        axes.plot(x.score, y.score, linestyle="none", zorder=3, label=name, **style)
        points.append((x, y, name))
    axes.margins(0.16)
    return points


def _find_interval(table: ScoreTable, column: str) -> Interval:
    """Return a score with its interval; counts, such as the vocabulary, have none."""
    if column in table.resampling:
        return table.interval(column)
    score = table.corpus[column]
    return Interval(score, score, score, 0.95)


def spell_measure(measure: str) -> str:
    """Return the label of a measure in figures."""
    return _NAMES.get(measure, measure)


def check_tables(tables: Mapping[str, ScoreTable], *columns: str) -> None:
    """Raise an InputError if a table lacks one of the columns."""
    require_some(tables)
    for name, table in tables.items():
        lacking = [column for column in columns if column not in table.corpus]
        if lacking:
            raise InputError(
                f"the table of {name!r} has no {lacking[0]!r}; pass tables of "
                "measure_diversity(…, references=…) with that measure"
            )
