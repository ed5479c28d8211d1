"""`cidery dense-video`: captions of events in videos."""

from __future__ import annotations

from typing import Annotated

import typer

from cidery.cli import parsing
from cidery.cli.progress import progress
from cidery.cli.rendering import show_result

app = parsing.new_app()


@app.command(
    "dense-video",
    epilog=parsing.examples(
        "cidery dense-video results.json val_1.json val_2.json",
        "cidery dense-video results.json val_1.json -m meteor --tiou 0.5 --no-soda",
        "cidery dense-video results.json youcookii_annotations.json --format json",
    ),
)
def dense_video(
    results: Annotated[
        str,
        typer.Argument(
            help="Captioned events: JSON as for the ActivityNet challenge.",
            metavar="RESULTS",
            show_default=False,
        ),
    ],
    references: Annotated[
        list[str],
        typer.Argument(
            help="Files of reference events: ActivityNet Captions or YouCook2.",
            metavar="REFERENCES…",
            show_default=False,
        ),
    ],
    metric: parsing.Metrics = None,
    preset: parsing.Preset = None,
    tiou: Annotated[
        list[float] | None,
        typer.Option(
            help="A threshold of overlap in time; may be repeated. Default: 0.3, 0.5, 0.7, 0.9.",
            metavar="SHARE",
            show_default=False,
        ),
    ] = None,
    no_soda: Annotated[bool, typer.Option("--no-soda", help="Leave SODA-c out.")] = False,
    threads: parsing.Threads = 0,
    format: parsing.Format = "table",
) -> None:
    """Score captions of events in videos: ActivityNet's protocol, SODA-c, and paragraphs."""
    import cidery
    from cidery.dense_video import TIOUS
    from cidery.files.events import read_events

    with progress(2, results, *references) as step:
        step("reading events")
        said = read_events(results)
        told = [read_events(path) for path in references]
        step("scoring")
        table = cidery.score_dense_video(
            said,
            told,
            parsing.read_metrics(metric),
            preset=preset,
            tious=tiou or TIOUS,
            soda=not no_soda,
            threads=threads,
        )
    title = f"{results}: events of {table.videos} videos against {', '.join(references)}"
    show_result(table, format, title=title)
