"""Figures of diversity and accuracy, by system and by number of captions.

Functions return a matplotlib `Figure`; `cidery.plots.save_figures` writes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING

from cidery.diversity import DiversityComparison
from cidery.diversity.comparison import HUMANS
from cidery.errors import SettingError
from cidery.plots.caption_plots import plot_map, plot_radar, plot_word_frequencies
from cidery.plots.figures import COLORS, LINES, new_figure, point_styles
from cidery.plots.measure_plots import (
    check_tables,
    draw_systems,
    plot_ranks,
    plot_vocabulary,
    spell_measure,
)
from cidery.scoring.score_table import ScoreTable

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_diversity(comparison: DiversityComparison) -> dict[str, Figure]:
    """Draw all figures for which there are data; return them by name.

    `tradeoff`, `f` and `counts` need references and Self-CIDEr; `vocabulary` and `ranks` need two
    systems, Self-CIDEr, and the vocabulary or another measure.

    ```python
    save_figures(plot_diversity(compare_diversity({"ours": sets}, details=True)), "ours.pdf")
    ```
    """
    details = comparison.details
    if details is None:
        raise SettingError("no details to draw; pass details=True to compare_diversity")
    figures: dict[str, Figure] = {}
    if details.curves:
        figures["tradeoff"] = plot_tradeoff(comparison.tables)
        figures["f"] = plot_f_scores(comparison.tables)
        figures["counts"] = plot_counts(details.curves)
    figures |= _plot_measures(comparison.tables)
    figures["words"] = plot_word_frequencies(details.words)
    figures["radar"] = plot_radar(details.topics)
    figures["map"] = plot_map(details.map)
    return figures


def _plot_measures(tables: Mapping[str, ScoreTable]) -> dict[str, Figure]:
    """Draw systems by pairs of measures, if there are several."""
    shared = set.intersection(*({*table.corpus} for table in tables.values()))
    figures: dict[str, Figure] = {}
    if len(tables) > 1 and "self-cider" in shared:
        if "vocabulary" in shared:
            figures["vocabulary"] = plot_vocabulary(tables)
        if other := next((name for name in ("mbleu-mix", "lsa") if name in shared), None):
            figures["ranks"] = plot_ranks(tables, ("self-cider", other))
    return figures


def plot_tradeoff(
    tables: Mapping[str, ScoreTable], measure: str = "self-cider", *, humans: str = HUMANS
) -> Figure:
    """Draw systems by accuracy and diversity, with intervals: figure 4 of Wang and Chan 2019.

    Tables are those of `measure_diversity(…, references=…)`; `humans` is a black star.

    ```python
    plot_tradeoff({"ours": ours, "humans": humans})
    ```
    """
    check_tables(tables, measure, "accuracy")
    with new_figure(5.2, 3.9) as figure:
        axes = figure.add_subplot()
        axes.set_xlabel(f"accuracy (mean {_accuracy_metric(tables)} with the references)")
        axes.set_ylabel(f"diversity ({spell_measure(measure)})")
        draw_systems(figure, axes, tables, "accuracy", measure, humans)
    return figure


def plot_f_scores(tables: Mapping[str, ScoreTable], *, humans: str = HUMANS) -> Figure:
    """Draw the F measure of systems as bars, the best on top: figure 5 of Wang and Chan 2019.

    ```python
    plot_f_scores({"ours": ours, "humans": humans})
    ```
    """
    check_tables(tables, "f")
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
                color="white" if name == humans else COLORS[5],
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
        check_tables({str(count): table for count, table in tables.items()}, *measures)
    with new_figure(5.2, 3.6) as figure:
        from matplotlib.lines import Line2D

        axes = figure.add_subplot()
        axes.grid(True)
        styles = point_styles(curves, humans)
        for (_, tables), style in zip(curves.items(), styles, strict=True):
            color = style["markerfacecolor"]
            for number, (measure, line) in enumerate(zip(measures, cycle(LINES))):
                values = [table.corpus[measure] for table in tables.values()]
                marks = style if number == 0 else style | {"markerfacecolor": "white"}
                axes.plot(list(tables), values, line, color=color, clip_on=False, **marks)
        axes.set_ylim(0, 1)
        axes.set_xticks(sorted({count for tables in curves.values() for count in tables}))
        axes.set_xlabel("captions per image, the most accurate first")
        axes.set_ylabel("diversity")
        systems = [
            Line2D([], [], label=name, color=style["markerfacecolor"], **style)
            for name, style in zip(curves, styles, strict=True)
        ]
        lines = [
            Line2D([], [], color="black", linestyle=line, label=spell_measure(measure))
            for measure, line in zip(measures, cycle(LINES))
        ]
        figure.legend(handles=systems + lines, loc="outside right upper")
    return figure


def _accuracy_metric(tables: Mapping[str, ScoreTable]) -> str:
    """Return the metric in the signature of accuracy, `accuracy|metric:cider-d|…`."""
    signature = next(iter(tables.values())).signatures["accuracy"]
    return spell_measure(signature.partition("metric:")[2].partition("|")[0])
