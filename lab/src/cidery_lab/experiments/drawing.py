"""Plots of experiments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from cidery_lab.experiments.base import Findings, mean_by_system

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_bars(findings: Findings, scores: Sequence[str]) -> Figure:
    """Plot scores of all systems: a bar for the mean, a point per seed."""
    from cidery.plots import new_figure

    systems = findings.systems()
    with new_figure(2.2 * len(scores), 0.3 * len(systems) + 1.2) as figure:
        panels = np.atleast_1d(figure.subplots(1, len(scores), sharey=True))
        for axes, name in zip(panels, scores, strict=True):
            means = mean_by_system(findings, name)
            axes.barh(range(len(systems)), [means.get(s, 0.0) for s in systems], color="#56B4E9")
            for place, system in enumerate(systems):
                values = [r[name] for r in findings.rows if r["system"] == system and name in r]
                axes.plot(values, [place] * len(values), "k.", markersize=4)
            axes.set(xlabel=name, yticks=range(len(systems)), yticklabels=systems)
        panels[0].invert_yaxis()
    return figure


def draw_tradeoff(findings: Findings, curves: Mapping[str, Sequence[str]]) -> Figure:
    """Plot mean diversity against mean accuracy, a line per family of systems."""
    from cidery.plots import line_styles, new_figure

    accuracy = mean_by_system(findings, "accuracy")
    diversity = mean_by_system(findings, "self-cider")
    with new_figure(5.5, 4.0) as figure:
        axes = figure.subplots()
        drawn: set[str] = set()
        for (label, names), style in zip(curves.items(), line_styles(len(curves)), strict=True):
            axes.plot(
                [accuracy[name] for name in names],
                [diversity[name] for name in names],
                label=label,
                **{**style, "markersize": 5},
            )
            for name in names:
                axes.annotate(name, (accuracy[name], diversity[name]), fontsize=6)
            drawn.update(names)
        for name in accuracy.keys() - drawn:
            axes.plot(accuracy[name], diversity[name], "k*")
            axes.annotate(name, (accuracy[name], diversity[name]), fontsize=6)
        axes.set(xlabel="accuracy (mean CIDEr-D of the set)", ylabel="diversity (Self-CIDEr)")
        axes.grid(visible=True)
        if len(curves) > 1:
            axes.legend(fontsize=6)
    return figure


def draw_ranks(findings: Findings, first: str, second: str) -> Figure:
    """Plot the ranks of systems by two measures: figure 11 of Wang and Chan."""
    from cidery.plots import new_figure

    orders = [
        sorted(means, key=lambda system: -means[system])
        for means in (mean_by_system(findings, first), mean_by_system(findings, second))
    ]
    with new_figure(4.0, 0.25 * len(orders[0]) + 1.0) as figure:
        axes = figure.subplots()
        for system in orders[0]:
            places = [order.index(system) + 1 for order in orders]
            axes.plot([0, 1], places, "o-", color="#0072B2", markersize=4)
            axes.text(-0.05, places[0], system, ha="right", va="center", fontsize=7)
            axes.text(1.05, places[1], system, ha="left", va="center", fontsize=7)
        axes.set(xlim=(-0.8, 1.8), xticks=[0, 1], xticklabels=[first, second], ylabel="rank")
        axes.invert_yaxis()
    return figure


def draw_table(findings: Findings, systems: Sequence[str], scores: Sequence[str]) -> Figure:
    """Plot the change of each score from the first system, in percent."""
    from cidery.plots import new_figure

    means = {name: mean_by_system(findings, name) for name in scores}
    change = np.array(
        [
            [
                100 * (means[f][s] - means[f][systems[0]]) / max(abs(means[f][systems[0]]), 1e-9)
                for f in scores
            ]
            for s in systems[1:]
        ]
    )
    reach = max(float(np.abs(change).max()), 1e-9)
    with new_figure(0.8 * len(scores) + 1.6, 0.4 * len(systems) + 1.2) as figure:
        axes = figure.subplots()
        axes.imshow(change, cmap="PuOr_r", vmin=-reach, vmax=reach, aspect="auto")
        for row, values in enumerate(change):
            for column, value in enumerate(values):
                axes.text(column, row, f"{value:+.0f}", ha="center", va="center", fontsize=7)
        axes.set(
            xticks=range(len(scores)),
            yticks=range(len(systems) - 1),
            yticklabels=systems[1:],
            ylabel="trained with",
            title=f"change from {systems[0]}, percent",
        )
        axes.set_xticklabels(scores, rotation=45, ha="right")
    return figure
