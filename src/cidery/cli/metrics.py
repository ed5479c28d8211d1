"""`cidery metrics`."""

from __future__ import annotations

import inspect
import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cidery.cli import options, parsing
from cidery.cli.rendering import (
    show_json,
    show_message,
    show_notes,
    show_pairs,
    show_table,
    show_title,
)
from cidery.tables import Table

if TYPE_CHECKING:
    from cidery.metrics import Metric

app = parsing.new_app()

COCO_ONLY = ("meteor",)
"""Metrics that follow coco-caption and have no setting `faithful`."""


@app.command(
    epilog=parsing.examples(
        "cidery metrics",
        "cidery metrics cider-d",
        "cidery metrics --presets",
        "cidery metrics --format json",
    )
)
def metrics(
    name: Annotated[
        str | None,
        typer.Argument(
            help="Metric to show with its settings.",
            metavar="[NAME]",
            show_default=False,
        ),
    ] = None,
    presets: Annotated[
        bool,
        typer.Option("--presets", help="List the presets."),
    ] = False,
    format: options.TableOrJson = "table",
) -> None:
    """List the metrics: range, needs, faithfulness, paper, package.

    Metrics of installed packages are included.
    """
    if presets:
        _show_presets(format)
        return
    from cidery.metrics import DEFAULT, FAMILIES, find_origin, get_metrics, list_metrics

    if name is None:
        chosen, problems = list_metrics()
        for problem in problems:
            show_message("warning", str(problem))
    else:
        chosen = get_metrics(parsing.read_metrics([name]))
    if format == "json":
        show_json({label: _describe(metric) for label, metric in chosen.items()})
    elif name is None:
        rows = [
            [
                label,
                _format_range(metric),
                _needs(metric),
                ", ".join(_modes(metric)),
                metric.paper,
                find_origin(metric),
            ]
            for label, metric in chosen.items()
        ]
        header = ["metric", "range", "needs", "faithful to", "paper", "package"]
        show_table(Table.of(header, rows))
        families = (f"{family} means {', '.join(members)}" for family, members in FAMILIES.items())
        show_notes(f"default: {', '.join(DEFAULT)}", *families)
    else:
        for label, metric in chosen.items():
            show_title(label)
            typer.echo(_explain(metric) + "\n")
            pairs = {f"{metric.name}:{key}": value for key, value in metric.settings().items()}
            show_pairs(pairs)


def _show_presets(format: str) -> None:
    from cidery.metrics.presets import PRESETS

    if format == "json":
        listed = {name: {"metrics": one.metrics, "note": one.note} for name, one in PRESETS.items()}
        show_json(listed)
        return
    rows = [[name, ", ".join(one.metrics), one.note] for name, one in PRESETS.items()]
    show_table(Table.of(["preset", "metrics", "for"], rows))
    show_notes("--preset NAME asks for one, --preset FILE.toml for one of your own")


def _describe(metric: Metric) -> dict[str, Any]:
    from cidery.metrics import find_origin

    return {
        "range": [bound if math.isfinite(bound) else None for bound in metric.range],
        "lower_is_better": metric.lower_is_better,
        "uses_frequencies": metric.needs.frequencies is not None,
        "extra": metric.needs.extra,
        "faithful": _modes(metric),
        "settings": metric.settings(),
        "paper": metric.paper,
        "package": find_origin(metric),
    }


def _format_range(metric: Metric) -> str:
    if not all(map(math.isfinite, metric.range)):
        return "any"
    bounds = "{:g} to {:g}".format(*metric.range)
    return f"{bounds}, lower is better" if metric.lower_is_better else bounds


def _explain(metric: Metric) -> str:
    """Return the docstring of its class or function, without the example."""
    described = getattr(metric, "function", None) or type(metric)
    return inspect.cleandoc(described.__doc__ or "").partition("\n\n```")[0]


def _modes(metric: Metric) -> list[str]:
    """Return its values of `faithful`, the default first."""
    from cidery.metrics.settings import list_choices

    modes = list_choices(metric, "faithful")
    if not modes:
        follows = "coco" if metric.name in COCO_ONLY else "paper"
        return [follows] if metric.paper else []
    return sorted(modes, key=lambda mode: mode != getattr(metric, "faithful", None))


def _needs(metric: Metric) -> str:
    if metric.needs.extra:
        return f"cidery[{metric.needs.extra}]"
    return "frequencies" if metric.needs.frequencies else ""
