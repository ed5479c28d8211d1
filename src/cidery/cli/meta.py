"""`cidery meta`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from cidery.cli import options, parsing
from cidery.cli.progress_bar import progress
from cidery.cli.rendering import (
    show_result,
)
from cidery.meta.settings import Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from cidery.meta import Agreement

app = parsing.new_app()

OTHERS = ("reproduce", "all", "estimate", "plan", "next", "sweep")
"""Subcommands, in `cidery.cli.meta_commands`."""
DATASETS = (
    "pascal-50s, abstract-50s, flickr8k-expert, flickr8k-cf, composite, coco-2015, "
    "cider-r-triplets, pracegover-triplets, thumb, polaris, nebula, audiocaps-eval, clotho-eval, "
    "vatex-eval, foil or judgments"
)


def _complete_datasets(incomplete: str) -> list[str]:
    from cidery.meta import DATASETS
    from cidery.plugins import list_names

    names = (*list_names("dataset", DATASETS), *OTHERS)
    return [name for name in names if name.startswith(incomplete)]


class _MetaCommand(TyperCommand):
    """Evaluates metrics, unless the first word is the name of a subcommand."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any
    ) -> Any:
        if args and args[0] in OTHERS:
            from cidery.cli.meta_commands import list_commands

            command = list_commands().commands[args[0]]
            return command.make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@app.command(
    cls=_MetaCommand,
    no_args_is_help=True,
    epilog=parsing.examples(
        "cidery meta judgments mine.jsonl -m cider-d -m bleu-4",
        "cidery meta pascal-50s data/pascal50s -m cider-d --references-per-image 5",
        "cidery meta abstract-50s data --protocol references --plot curve.pdf",
        "cidery meta flickr8k-expert data -m cider-d -m rouge-l --tests",
        "cidery meta reproduce data --format markdown",
        "cidery meta estimate judgments mine.jsonl -m cider-d",
    ),
)
@options.with_options(
    without=("stream", "work"),
    tokenizer=options.Tokenizer,
    language=options.Language,
    frequencies=options.Frequencies,
)
def meta(
    dataset: Annotated[
        str,
        typer.Argument(
            help=f"Data set: {DATASETS} (a file of your own).",
            metavar="DATASET",
            show_default=False,
            autocompletion=_complete_datasets,
        ),
    ],
    path: Annotated[
        str,
        typer.Argument(
            help="Folder of the data set, one of its files, or the folder above.",
            metavar="PATH",
            show_default=False,
        ),
    ],
    settings: Settings,
    judgments: options.JudgmentOptions,
    engine: options.EngineOptions,
    metric: options.Metrics = None,
    format: options.Format = "table",
    plot: Annotated[
        str | None,
        typer.Option(
            help="Draw a figure into this .pdf, .svg, .eps or .png file: accuracy by number of "
            "references, wins of systems, or scores against ratings.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    all_columns: Annotated[
        bool,
        typer.Option(
            "--all-columns",
            help="Show all statistics. Default: four, or the tested one with p-values. JSON and "
            "CSV have all.",
        ),
    ] = False,
    no_cache: Annotated[
        bool,
        typer.Option("--no-cache", help="Do not read or write the cache."),
    ] = False,
    threads: options.Threads = 0,
) -> None:
    """Evaluate metrics by their agreement with human judgments.

    Subcommands, each with its --help: `meta reproduce` (published tables), `meta all` (all data
    sets in a folder), `meta estimate` (systems' means and wins from few judgments), `meta plan`
    (number of judgments needed), `meta next` (items to judge next) and `meta sweep` (one setting at
    many values).
    """
    from cidery.meta import evaluate

    with engine.run_metrics(), progress(1) as step:
        step("reading judgments")
        agreement = evaluate(
            judgments.read(dataset, path),
            parsing.read_metrics(metric),
            settings,
            threads=threads,
            cache=not (no_cache or plot),
            progress=step.report,
        )
    notes = [f"drawn: {_draw(agreement, plot)}"] if plot else []
    table = agreement.table(all_columns)
    if len(table.columns) <= len(agreement.statistics):
        notes.insert(0, "--all-columns shows all statistics")
    show_result(table, format, notes=notes, content=agreement.to_dict())


def _draw(agreement: Agreement, plot: str) -> str:
    from cidery.plots import plot_correlations, plot_references, plot_wins, save_figures

    draw: Mapping[str, Callable[[Agreement], Figure]]
    draw = {"references": plot_references, "wins": plot_wins}
    figure = draw.get(agreement.protocol, plot_correlations)(agreement)
    return ", ".join(map(str, save_figures(figure, plot)))
