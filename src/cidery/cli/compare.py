"""`cidery compare`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cidery.cli import parsing
from cidery.cli.progress import progress
from cidery.cli.rendering import (
    show_result,
)

if TYPE_CHECKING:
    pass

app = parsing.new_app()


@app.command(
    epilog=parsing.examples(
        "cidery compare references.json ours.json theirs.json",
        "cidery compare references.json ours=run7/results.json theirs=base/results.json",
        "cidery compare references.json a.json b.json c.json -m cider-d --resamples 10000",
        "cidery compare references.json ours.json theirs.json --format latex",
        "cidery compare nocaps_val.json ours.json theirs.json --by domain",
        "cidery compare references.json ours.json theirs.json -m cider-d --why",
        "cidery compare references.json ours.json theirs.json -m spice --engine ray --address auto",
    )
)
def compare(
    references: parsing.References,
    systems: Annotated[
        list[str],
        typer.Argument(
            help="Two or more files of captions, as FILE or NAME=FILE.",
            metavar="SYSTEM...",
            show_default=False,
        ),
    ],
    metric: parsing.Metrics = None,
    preset: parsing.Preset = None,
    format: parsing.Format = "table",
    tokenizer: parsing.LanguageTokenizer = None,
    language: parsing.Language = None,
    segmenters: parsing.Segmenters = None,
    frequencies: parsing.Frequencies = "references",
    faithful: parsing.Faithful = None,
    missing: parsing.Missing = "error",
    split: parsing.Split = None,
    caption_field: parsing.CaptionField = None,
    reference_field: parsing.ReferenceField = None,
    id_field: parsing.IdField = None,
    reference_id_field: parsing.ReferenceIdField = None,
    by: parsing.By = None,
    slices: parsing.Slices = "whole",
    plot: parsing.Plot = None,
    why: Annotated[
        bool,
        typer.Option(
            "--why",
            help="Also show what makes the difference: n-grams (CIDEr), tuples (SPICE) or words, "
            "with intervals, and images. CSV then holds these alone.",
        ),
    ] = False,
    confidence: Annotated[
        float,
        typer.Option(
            help="Confidence of the intervals of differences, between 0 and 1.",
            metavar="SHARE",
            callback=parsing.check_confidence,
        ),
    ] = 0.95,
    resamples: parsing.Resamples = parsing.RESAMPLES,
    seed: parsing.Seed = 0,
    threads: parsing.Threads = 0,
    engine: parsing.Engine = "local",
    address: parsing.Address = None,
) -> None:
    """Compare systems on the same images by paired tests.

    Every pair of systems is compared by every metric and, with --by, in every slice.
    """
    import cidery

    files = parsing.name_systems(systems)
    parsing.check_plot(plot, by, references, *files.values())
    with (
        parsing.slow_work(engine, address),
        progress(len(files) + 2, references, *files.values()) as step,
    ):
        read = parsing.read_systems(
            step,
            references,
            files,
            split=split,
            caption_field=caption_field,
            reference_field=reference_field,
            id_field=id_field,
            reference_id_field=reference_id_field,
            by=by,
        )
        step("scoring and resampling")
        comparison = cidery.compare(
            read.captions,
            read.references,
            parsing.read_metrics(metric),
            preset=preset,
            tokenizer=tokenizer,
            language=language,
            segmenters=parsing.read_segmenters(segmenters),
            frequencies=frequencies,
            faithful=faithful,
            missing=missing,
            threads=threads,
            confidence=confidence,
            resamples=resamples,
            seed=seed,
            by=read.slices,
            by_name=by,
            slices=slices,
            why=why,
            references_name=references,
        )
        if plot:
            from cidery.plots import plot_slices, save_figures

            figure = plot_slices(
                comparison.tables, confidence=confidence, seed=seed, resamples=resamples
            )
            save_figures(figure, plot)
    first = next(iter(comparison.tables.values()))
    title = f"{len(files)} systems, {first.image_count} images of {references}"
    show_result(comparison, format, title=title)
