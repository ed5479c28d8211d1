"""`cidery meta reproduce`, `all`, `estimate`, `plan`, `next` and `sweep`: commands under `meta`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from cidery.cli import options, parsing
from cidery.cli.progress_bar import progress
from cidery.cli.rendering import (
    show_result,
)
from cidery.meta.settings import Settings

if TYPE_CHECKING:
    pass

commands = parsing.new_app()

CHOSEN = ("question", "kind", "system", "without_system")
SCORED = ("references", *CHOSEN, "tokenizer", "language", "frequencies")
SWEPT = ("references", "kind", "undecided", "seed", "tokenizer", "language", "frequencies")
"""Settings of `cidery meta` that are options here too."""
FIELDS = ("references_file", "rating_field", "caption_field", "reference_field", "id_field")
"""Options of `JudgmentOptions`."""

SHARED: dict[str, Any] = {
    "tokenizer": options.Tokenizer,
    "language": options.Language,
    "frequencies": options.Frequencies,
}

Data = Annotated[
    str,
    typer.Argument(
        help="Data set, as in `cidery meta`; judgments: a file of your own.",
        metavar="DATASET",
        show_default=False,
    ),
]
Source = Annotated[
    str,
    typer.Argument(
        help="Folder or file of the data set. Captions without ratings and pairs without votes "
        "are not judged yet.",
        metavar="PATH",
        show_default=False,
    ),
]
Confidence = Annotated[
    float,
    typer.Option(
        help="Confidence of the intervals.",
        metavar="SHARE",
        callback=parsing.check_confidence,
    ),
]
Horizon = Annotated[
    int | None,
    typer.Option(
        help="Compute intervals that are valid after every answer, so that you may stop at any "
        "time; they are narrowest at about this many judged images.",
        metavar="IMAGES",
        min=1,
        show_default=False,
    ),
]
Scale = Annotated[
    tuple[float, float] | None,
    typer.Option(
        help="Minimum and maximum rating of the scale. Default: the first of 0 1, 1 5, 0 10 and "
        "0 100 that contains all ratings, or else their range.",
        metavar="LOW HIGH",
        show_default=False,
    ),
]


NoCache = Annotated[bool, typer.Option("--no-cache", help="Do not read or write the cache.")]


def list_commands() -> TyperGroup:
    """Return the commands of this module."""
    group = get_command(commands)
    assert isinstance(group, TyperGroup)
    return group


@commands.command(
    epilog=parsing.examples(
        "cidery meta estimate judgments mine.jsonl -m cider-d",
        "cidery meta estimate judgments mine.jsonl -m cider-d --horizon 300",
    )
)
@options.with_options(only=(*SCORED, *FIELDS), **SHARED)
def estimate(
    dataset: Data,
    path: Source,
    settings: Settings,
    judgments: options.JudgmentOptions,
    metric: options.Metrics = None,
    confidence: Confidence = 0.95,
    horizon: Horizon = None,
    scale: Scale = None,
    no_cache: NoCache = False,
    threads: options.Threads = 0,
    format: options.Format = "table",
) -> None:
    """Estimate systems' ratings or wins from few judgments.

    A metric's scores of all captions make the estimates more precise. Judged items must have been
    chosen at random, or by `cidery meta next`.
    """
    from cidery.meta import estimate as estimate_all

    with progress(1) as step:
        step("reading judgments")
        found = estimate_all(
            judgments.read(dataset, path),
            parsing.read_metrics(metric),
            settings,
            confidence=confidence,
            horizon=horizon,
            scale=scale,
            threads=threads,
            cache=not no_cache,
            progress=step.report,
        )
    show_result(found, format)


@commands.command(
    epilog=parsing.examples(
        "cidery meta plan judgments pilot.jsonl --difference 0.2 -m cider-d",
        "cidery meta plan judgments pilot.jsonl --difference 0.2 --answers 1 --images 5000",
    )
)
@options.with_options(only=(*SCORED, *FIELDS), **SHARED)
def plan(
    dataset: Data,
    path: Source,
    settings: Settings,
    judgments: options.JudgmentOptions,
    difference: Annotated[
        float,
        typer.Option(
            help="Smallest difference to detect: of mean ratings, or of the share of wins from "
            "0.5.",
            metavar="NUMBER",
            show_default=False,
        ),
    ],
    metric: options.Metrics = None,
    power: Annotated[
        float,
        typer.Option(help="Power: probability of detecting the difference.", metavar="SHARE"),
    ] = 0.8,
    confidence: Confidence = 0.95,
    answers: Annotated[
        int | None,
        typer.Option(
            help="Number of ratings per caption. Default: as in the data.",
            metavar="COUNT",
            show_default=False,
        ),
    ] = None,
    images: Annotated[
        int | None,
        typer.Option(
            help="Number of images that the metric scores. Default: those of the data set.",
            metavar="COUNT",
            min=1,
            show_default=False,
        ),
    ] = None,
    scale: Scale = None,
    no_cache: NoCache = False,
    threads: options.Threads = 0,
    format: options.Format = "table",
) -> None:
    """Plan the number of judgments that detect a difference.

    Shows the number with and without a metric's scores.
    """
    from cidery.meta import plan as plan_all

    with progress(1) as step:
        step("reading judgments")
        found = plan_all(
            judgments.read(dataset, path),
            parsing.read_metrics(metric),
            settings,
            difference=difference,
            power=power,
            confidence=confidence,
            answers=answers,
            images=images,
            scale=scale,
            threads=threads,
            cache=not no_cache,
            progress=step.report,
        )
    show_result(found, format)


@commands.command(
    "next",
    epilog=parsing.examples("cidery meta next judgments mine.jsonl -m cider-d --count 20"),
)
@options.with_options(only=(*CHOSEN, *FIELDS))
def show_next(
    dataset: Data,
    path: Source,
    settings: Settings,
    judgments: options.JudgmentOptions,
    metric: Annotated[
        str,
        typer.Option("--metric", "-m", help="Metric that predicts judgments.", metavar="NAME"),
    ] = "cider-d",
    count: Annotated[
        int, typer.Option(help="Minimum number of items.", metavar="COUNT", min=1)
    ] = 10,
    confidence: Confidence = 0.95,
    horizon: Horizon = None,
    scale: Scale = None,
    seed: options.Seed = 0,
    no_cache: NoCache = False,
    threads: options.Threads = 0,
) -> None:
    """Choose the items to judge next.

    Prints lines of a file of judgments, without answers. Images are drawn in an order that is even
    in the metric's scores; systems whose comparisons are decided are skipped. The same seed
    continues the same order. Add the lines with their answers to the file: they replace those
    without.
    """
    from cidery.meta import choose_next

    with progress(1) as step:
        step("reading judgments")
        items = choose_next(
            judgments.read(dataset, path),
            parsing.read_metric(metric),
            settings,
            count=count,
            confidence=confidence,
            horizon=horizon,
            scale=scale,
            seed=seed,
            threads=threads,
            cache=not no_cache,
            progress=step.report,
        )
    for item in items:
        typer.echo(json.dumps(item, ensure_ascii=False))
    if not items:
        typer.echo("nothing left to judge: every comparison is decided or judged", err=True)


@commands.command(
    "all",
    epilog=parsing.examples(
        "cidery meta all data -m cider-d -m rouge-l --format markdown",
        "cidery meta all data -m cider-d --set flickr8k-expert --set thumb --plot table.pdf",
    ),
)
def show_all(
    path: Annotated[
        str,
        typer.Argument(
            help="Folder that contains the data sets' folders.",
            metavar="FOLDER",
            show_default=False,
        ),
    ],
    metric: options.Metrics = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="Data set to use; may be repeated. Default: all that are found.",
            metavar="NAME",
            show_default=False,
        ),
    ] = None,
    resamples: Annotated[
        int,
        typer.Option(
            help="Number of bootstrap samples of images, for intervals and ranks.",
            metavar="COUNT",
            min=20,
        ),
    ] = 500,
    seed: options.Seed = 0,
    plot: Annotated[
        str | None,
        typer.Option(
            help="Draw the table into this .pdf, .svg, .eps or .png file.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    no_cache: NoCache = False,
    threads: options.Threads = 0,
    format: options.Format = "table",
) -> None:
    """Evaluate metrics on all data sets in a folder.

    One table, with tied ranks.
    """
    from cidery.meta import evaluate_all

    if plot:
        parsing.check_output(plot, option="--plot")
    with progress(1) as step:
        step("reading judgments")
        found = evaluate_all(
            path,
            parsing.read_metrics(metric),
            sets=set_ or (),
            resamples=resamples,
            seed=seed,
            threads=threads,
            cache=not no_cache,
            progress=step.report,
        )
    if plot:
        from cidery.plots import plot_overview, save_figures

        save_figures(plot_overview(found), plot)
    show_result(found, format)


@commands.command(
    "sweep",
    epilog=parsing.examples(
        "cidery meta sweep pracegover-triplets triplets.json",
        "cidery meta sweep pascal-50s data --references 1 --values 0,0.5,1",
        "cidery meta sweep flickr8k-expert data -m cider-d --setting sigma --values 3,6,12",
    ),
)
@options.with_options(only=(*SWEPT, *FIELDS), **SHARED)
def show_sweep(
    dataset: Data,
    path: Source,
    settings: Settings,
    judgments: options.JudgmentOptions,
    metric: Annotated[
        str, typer.Option("--metric", "-m", help="Metric.", metavar="NAME")
    ] = "cider-r",
    setting: Annotated[
        str,
        typer.Option(help="Numeric setting of the metric; repetition is k_r.", metavar="NAME"),
    ] = "repetition",
    values: Annotated[
        str | None,
        typer.Option(
            help="Values, separated by commas. Default: random values between 0 and 1.",
            metavar="NUMBERS",
            show_default=False,
        ),
    ] = None,
    draws: Annotated[
        int, typer.Option(help="Number of random values.", metavar="COUNT", min=1)
    ] = 50,
    no_cache: NoCache = False,
    threads: options.Threads = 0,
    format: options.Format = "table",
) -> None:
    """Evaluate a metric at many values of one setting."""
    from cidery.meta import sweep

    with progress(1) as step:
        step("reading judgments")
        found = sweep(
            judgments.read(dataset, path),
            parsing.read_metric(metric),
            setting,
            settings=settings,
            values=_read_numbers(values),
            draws=draws,
            threads=threads,
            cache=not no_cache,
            progress=step.report,
        )
    show_result(found, format)


def _read_numbers(text: str | None) -> list[float] | None:
    if text is None:
        return None
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise typer.BadParameter(
            f"expected numbers separated by commas, not {text!r}", param_hint="--values"
        ) from None


@commands.command(
    "reproduce",
    epilog=parsing.examples(
        "cidery meta reproduce data --format markdown",
        "cidery meta reproduce data --source CIDEr-R --source 'CIDEr, 7.2'",
    ),
)
def show_reproduction(
    path: Annotated[
        str,
        typer.Argument(
            help="Folder that contains the data sets' folders.",
            metavar="FOLDER",
            show_default=False,
        ),
    ],
    source: Annotated[
        list[str] | None,
        typer.Option(
            help="Only sources that begin with this text, such as CIDEr-R; may be repeated. "
            "Default: all.",
            metavar="TEXT",
            show_default=False,
        ),
    ] = None,
    no_cache: NoCache = False,
    threads: options.Threads = 0,
    format: options.Format = "table",
) -> None:
    """Reproduce published numbers from the data available."""
    from cidery.meta.reproduction import reproduce

    with progress(1) as step:
        step("reading judgments")
        found = reproduce(
            path,
            sources=source or (),
            cache=not no_cache,
            threads=threads,
            progress=step.report,
        )
    show_result(found, format)
