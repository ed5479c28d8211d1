"""Training logs: a JSON file and a plot."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cidery.storage import write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOG, PLOT = "log.json", "log.svg"


def write_log(folder: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Write the log, and draw it."""
    write_atomically(folder / LOG, (json.dumps(list(rows), indent=1) + "\n").encode())
    if rows:
        from cidery.plots import save_figures

        save_figures(plot_log(rows), folder / PLOT)


def plot_log(rows: Sequence[dict[str, Any]]) -> Figure:
    """Draw the loss and the CIDEr-D of the validation images over epochs, stage by stage."""
    from cidery.plots import new_figure

    names = list(dict.fromkeys(row["stage"] for row in rows))
    with new_figure(6.5, 2.6) as figure:
        loss, score = figure.subplots(1, 2)
        for name in names:
            places = [place for place, row in enumerate(rows, 1) if row["stage"] == name]
            for axes, key in ((loss, "loss"), (score, "cider-d")):
                values = [rows[place - 1][key] for place in places]
                axes.plot(places, values, marker="o", markersize=3, label=name)
        loss.set(xlabel="epoch", ylabel="training loss")
        score.set(xlabel="epoch", ylabel="CIDEr-D, validation")
        score.legend()
        for axes in (loss, score):
            axes.grid(visible=True)
    return figure
