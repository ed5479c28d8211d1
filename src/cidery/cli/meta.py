"""`cidery meta`: judge metrics by people, and reproduce what papers report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cidery.cli import parsing
from cidery.cli.progress import counted_progress
from cidery.cli.rendering import show_notes, show_signatures, show_table, show_title

if TYPE_CHECKING:
    from cidery.meta import Agreement
    from cidery.meta.reproduce import Reproduction

app = parsing.new_app()

REPRODUCE = "reproduce"
DATASETS = (
    "pascal-50s, abstract-50s, flickr8k-expert, flickr8k-cf, composite, coco-2015, "
    "cider-r-triplets or judgments"
)


def _complete_datasets(incomplete: str) -> list[str]:
    from cidery.meta import DATASETS
    from cidery.plugins import list_names

    names = (*list_names("dataset", DATASETS), REPRODUCE)
    return [name for name in names if name.startswith(incomplete)]


def _complete_protocols(incomplete: str) -> list[str]:
    from cidery.meta import PROTOCOLS

    return [name for name in PROTOCOLS if name.startswith(incomplete)]


@app.command(
    epilog=parsing.examples(
        "cidery meta judgments mine.jsonl -m cider-d -m bleu-4",
        "cidery meta pascal-50s data/pascal50s -m cider-d --references 5",
        "cidery meta abstract-50s data --protocol references --plot curve.pdf",
        "cidery meta flickr8k-expert data -m cider-d -m rouge-l --tests",
        "cidery meta reproduce data --format markdown",
    )
)
def meta(
    dataset: Annotated[
        str,
        typer.Argument(
            help=f"{DATASETS} (a file of your own); or {REPRODUCE}: every number of the papers "
            "that the data allow.",
            metavar="DATASET",
            show_default=False,
            autocompletion=_complete_datasets,
        ),
    ],
    path: Annotated[
        str,
        typer.Argument(
            help="The data set's folder or file; for reproduce, the folder of all data sets.",
            metavar="PATH",
            show_default=False,
        ),
    ],
    metric: parsing.Metrics = None,
    format: Annotated[
        Literal["table", "json", "markdown", "latex"],
        typer.Option("--format", "-f", help="How to print the result."),
    ] = "table",
    protocol: Annotated[
        str | None,
        typer.Option(
            help="consensus, preference, references, human, wins, ratings, systems, diversity or "
            "gaming; default: the data set's first.",
            metavar="NAME",
            show_default=False,
            autocompletion=_complete_protocols,
        ),
    ] = None,
    references: Annotated[
        int | None,
        typer.Option(
            help="References per image; default: all.", metavar="COUNT", show_default=False
        ),
    ] = None,
    draw: Annotated[
        Literal["own", "random", "first"] | None,
        typer.Option(
            help="Which references: each pair's own draw, random ones by the seed, or the first. "
            "Default: own where it has as many as asked for, otherwise random.",
            show_default=False,
        ),
    ] = None,
    seed: parsing.Seed = 0,
    concatenate: Annotated[
        bool, typer.Option("--concatenate", help="Join an image's references into one.")
    ] = False,
    undecided: Annotated[
        Literal["wrong", "half", "drop"],
        typer.Option(help="What a pair counts to which a metric gives equal scores."),
    ] = "wrong",
    kind: Annotated[
        str | None,
        typer.Option(
            help="Judge pairs of this kind only, such as MM.", metavar="NAME", show_default=False
        ),
    ] = None,
    sample: Annotated[
        int | None,
        typer.Option(
            help="Judge only so many, drawn by the seed.", metavar="COUNT", show_default=False
        ),
    ] = None,
    tests: Annotated[bool, typer.Option("--tests", help="Add p-values between metrics.")] = False,
    resamples: Annotated[
        int, typer.Option(help="Bootstrap samples of images; 0: no intervals.", metavar="COUNT")
    ] = 200,
    plot: Annotated[
        str | None,
        typer.Option(
            help="Draw into this .pdf, .svg, .eps or .png file.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    tokenizer: parsing.Tokenizer = "ptb",
    frequencies: parsing.Frequencies = "references",
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Compute everything anew, and keep nothing.")
    ] = False,
    threads: parsing.Threads = 0,
) -> None:
    """Judge metrics by human judgments."""
    from cidery.meta import evaluate, read_dataset
    from cidery.meta.reproduce import reproduce

    with counted_progress() as progress:
        if dataset == REPRODUCE:
            found = reproduce(path, cache=not no_cache, threads=threads, progress=progress)
        else:
            agreement = evaluate(
                read_dataset(dataset, path),
                parsing.read_metrics(metric),
                protocol=protocol,
                references=references,
                draw=draw,
                seed=seed,
                concatenate=concatenate,
                undecided=undecided,
                kind=kind,
                sample=sample,
                tests=tests,
                resamples=resamples,
                tokenizer=tokenizer,
                frequencies=frequencies,
                threads=threads,
                cache=not (no_cache or plot),
                progress=progress,
            )
    if dataset == REPRODUCE:
        _show_reproduction(found, format)
        return
    notes = [f"drawn: {_draw(agreement, plot)}"] if plot else []
    _show(agreement, format, notes)


def _draw(agreement: Agreement, plot: str) -> str:
    from cidery.plots.agreement import plot_correlations, plot_references
    from cidery.plots.diversity import save_figures

    by_number = agreement.protocol == "references"
    figure = plot_references(agreement) if by_number else plot_correlations(agreement)
    return ", ".join(map(str, save_figures(figure, plot)))


def _show(agreement: Agreement, format: str, notes: list[str]) -> None:
    if format == "json":
        typer.echo(agreement.to_json())
    elif format == "markdown":
        typer.echo(agreement.to_markdown())
    elif format == "latex":
        typer.echo(agreement.to_latex())
    else:
        show_title(f"{agreement.dataset}, {agreement.protocol}, in percent")
        show_table(agreement.header(), agreement.lines())
        if notes:
            show_notes(*notes)
        show_signatures(agreement.signatures.values())


def _show_reproduction(found: Reproduction, format: str) -> None:
    if format == "json":
        typer.echo(found.to_json())
    elif format == "markdown":
        typer.echo(found.to_markdown())
    elif format == "latex":
        typer.echo(found.to_latex())
    else:
        show_table(found.header(), found.cells(), left=(0, 1, 2))
        show_notes(*(f"{number}. {note}" for number, note in enumerate(found.notes(), start=1)))
        show_notes(*(f"not here: {source}: {reason}" for source, reason in found.absent))
