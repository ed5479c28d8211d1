"""`cidery score`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cidery.cli import parsing
from cidery.cli.progress import progress
from cidery.cli.rendering import show_csv, show_signatures, show_table, show_title

if TYPE_CHECKING:
    from cidery.scoring.tables import ScoreTable
    from cidery.statistics import Interval

app = parsing.new_app()


@app.command(
    epilog=parsing.examples(
        "cidery score results.json references.json",
        "cidery score results.json references.json -m cider-d -m bleu --format json",
        "cidery score results.json dataset_coco.json --split test --captions each.csv",
        "cidery score outputs.jsonl outputs.jsonl --caption-field prediction",
        "cidery score results.json references.json -m rouge-l:beta=1 --faithful paper",
        "cidery score few.json references.json --missing skip --frequencies coco-val2014",
    )
)
def score(
    results: Annotated[
        str,
        typer.Argument(
            help="File of the captions to score; - is standard input.",
            metavar="RESULTS",
            show_default=False,
        ),
    ],
    references: parsing.References,
    metric: parsing.Metrics = None,
    format: parsing.Format = "table",
    captions: Annotated[
        str | None,
        typer.Option(
            help="Also write every caption's scores to this .csv, .jsonl or .parquet file.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    tokenizer: parsing.Tokenizer = "ptb",
    frequencies: parsing.Frequencies = "references",
    faithful: parsing.Faithful = None,
    missing: parsing.Missing = "error",
    split: parsing.Split = None,
    caption_field: parsing.CaptionField = None,
    reference_field: parsing.ReferenceField = None,
    id_field: parsing.IdField = None,
    reference_id_field: parsing.ReferenceIdField = None,
    confidence: Annotated[
        float | None,
        typer.Option(
            help="Add bootstrap intervals of this confidence, between 0 and 1. Tables have them "
            "anyway, with 0.95; other formats only when asked.",
            metavar="SHARE",
            show_default=False,
            callback=parsing.check_confidence,
        ),
    ] = None,
    no_intervals: Annotated[
        bool, typer.Option("--no-intervals", help="Leave the intervals out of the table.")
    ] = False,
    resamples: parsing.Resamples = parsing.RESAMPLES,
    seed: parsing.Seed = 0,
    threads: parsing.Threads = 0,
) -> None:
    """Score captions against reference captions."""
    import cidery
    from cidery.captions.formats import (
        check_rows_file,
        read_candidates,
        read_references,
        write_rows,
    )

    if captions:
        parsing.check_output(captions, results, references, option="--captions")
        check_rows_file(captions)
    if confidence is None and format == "table":
        confidence = 0.95
    if no_intervals:
        confidence = None
    with progress(4, results, references) as step:
        step("reading captions")
        candidates = read_candidates(results, caption_field=caption_field, id_field=id_field)
        step("reading references")
        known = read_references(
            references,
            split=split,
            caption_field=reference_field,
            id_field=reference_id_field or id_field,
        )
        step("scoring")
        table = cidery.score(
            candidates,
            known,
            parsing.read_metrics(metric),
            tokenizer=tokenizer,
            frequencies=frequencies,
            faithful=faithful,
            missing=missing,
            threads=threads,
            candidates_name=results,
            references_name=references,
        )
        step("resampling")
        intervals = (
            {}
            if confidence is None
            else table.intervals(confidence, seed=seed, resamples=resamples)
        )
    if captions:
        write_rows(captions, table.to_columns())
    if format == "table":
        show_title(f"{results}: {table.image_count} images scored against {references}")
    _show(table, intervals, format)


def _show(table: ScoreTable, intervals: dict[str, Interval], format: str) -> None:
    if format == "json":
        typer.echo(table.to_json(intervals=intervals))
    elif format == "csv":
        show_csv(table.records(intervals))
    elif format == "markdown":
        typer.echo(table.to_markdown(intervals=intervals))
    elif format == "latex":
        typer.echo(table.to_latex(intervals=intervals))
    else:
        show_table(table.header(intervals), table.lines(intervals=intervals))
        show_signatures(table.signatures.values())
