"""`cidery dense-video`."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from cidery.cli import options, parsing
from cidery.cli.progress_bar import progress
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
@options.with_options(
    only=("metric", "preset", "threads"),
    metric=Annotated[list[str] | None, options.make_metric_option("bleu, meteor and cider-d")],
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
    pipeline: options.PipelineOptions,
    tiou: Annotated[
        list[float] | None,
        typer.Option(
            help="Minimum overlap in time (tIoU); may be repeated. Default: 0.3, 0.5, 0.7, 0.9.",
            metavar="SHARE",
            show_default=False,
        ),
    ] = None,
    no_soda: Annotated[bool, typer.Option("--no-soda", help="Do not compute SODA-c.")] = False,
    faithful: Annotated[
        Literal["paper", "code"],
        typer.Option(
            help="Compute SODA-c as the equations of the paper (paper) or as its authors' code "
            "(code)."
        ),
    ] = "paper",
    soda_references: Annotated[
        Literal["merged", "best"],
        typer.Option(
            help="Several files of references in SODA-c: merged into one, or for each video the "
            "one with the highest F (best)."
        ),
    ] = "merged",
    format: options.Format = "table",
) -> None:
    """Score captions of events in videos.

    Scores are those of ActivityNet's protocol, detection, SODA-c, and of paragraphs.
    """
    import cidery
    from cidery.dense_video import TIOUS
    from cidery.files import read_events

    with progress(2, results, *references) as step:
        step("reading events")
        candidates = read_events(results)
        known = [read_events(path) for path in references]
        step("scoring")
        table = cidery.score_dense_video(
            candidates,
            known,
            pipeline.metrics,
            preset=pipeline.preset,
            tious=tiou or TIOUS,
            soda=False if no_soda else None,
            faithful=faithful,
            soda_references=soda_references,
            threads=pipeline.threads,
        )
    title = f"{results}: events of {table.videos} videos against {', '.join(references)}"
    show_result(table, format, title=title)
