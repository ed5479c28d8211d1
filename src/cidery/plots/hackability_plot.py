"""Figure of the hackability of rewards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cidery.plots.figures import new_figure, point_styles, require_some

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_hackability(records: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw the hackability of rewards with intervals: a row per reward, a marker per attack.

    ```py
    plot_hackability(red_team(references, ["cider-d", "cider-r"]).to_records())
    ```
    """
    shown = [record for record in records if record["attack"] != "free"]
    require_some({record["reward"]: record for record in shown})
    rewards = list(dict.fromkeys(record["reward"] for record in shown))
    attacks = list(dict.fromkeys(record["attack"] for record in shown))
    styles = dict(zip(attacks, point_styles(attacks, humans=None), strict=True))
    with new_figure(6.2, 0.9 + 0.45 * len(rewards)) as figure:
        axes = figure.subplots()
        for record in shown:
            place = attacks.index(record["attack"]) - (len(attacks) - 1) / 2
            middle = record["hackability"]
            axes.errorbar(
                middle,
                rewards.index(record["reward"]) + 0.16 * place,
                xerr=[[middle - record["low"]], [record["high"] - middle]],
                label=record["attack"] if record["reward"] == rewards[0] else None,
                capsize=2,
                ecolor="0.4",
                linestyle="none",
                **styles[record["attack"]],
            )
        axes.axvline(1, color="0.6", linewidth=0.8)
        axes.set_xlim(left=0)
        axes.set_ylim(len(rewards) - 0.4, -0.6)
        axes.set_yticks(range(len(rewards)), rewards)
        axes.set_xlabel("hackability: reward of nonsense relative to the best captions")
        axes.grid(True, axis="x")
        figure.legend(loc="outside upper center", ncols=len(attacks))
    return figure
