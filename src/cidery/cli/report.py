"""`cidery report`."""

from __future__ import annotations

from typing import Annotated

import typer

from cidery.cli import parsing
from cidery.cli.progress import progress
from cidery.cli.rendering import complain

app = parsing.new_app()
MEGABYTE = 1_000_000


@app.command(
    epilog=parsing.examples(
        "cidery report references.json ours.json theirs.json -o report.html",
        "cidery report references.json ours.json theirs.json -o report.html --images val2014",
        "cidery report references.json ours=run7/results.json theirs=base.json -o report.html \\\n"
        "      --images 'https://example.org/val2017/{image:012}.jpg' --by length",
        "cidery report nocaps_val.json ours.json -o report.html --by domain --title 'Run 7'",
    )
)
def report(
    references: parsing.References,
    systems: Annotated[
        list[str],
        typer.Argument(
            help="One or more files of captions, as FILE or NAME=FILE.",
            metavar="SYSTEM...",
            show_default=False,
        ),
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", help="HTML file to write.", metavar="FILE")
    ] = "report.html",
    metric: parsing.Metrics = None,
    preset: parsing.Preset = None,
    images: Annotated[
        str | None,
        typer.Option(
            help="Folder of images that are named after their ids, or an address with {image} in "
            "it, such as https://example.org/{image:012}.jpg, where 012 writes twelve digits.",
            metavar="FOLDER|ADDRESS",
            show_default=False,
        ),
    ] = None,
    embed_images: Annotated[
        bool,
        typer.Option(
            "--embed-images",
            help="Put small copies of the folder's images into the page, so that it can be sent "
            "without the folder.",
        ),
    ] = False,
    title: Annotated[
        str | None,
        typer.Option(help="Title of the page.", metavar="TEXT", show_default=False),
    ] = None,
    explain: Annotated[
        str,
        typer.Option(
            help="The metric by which words are colored, or none. Default: cider-d, or else the "
            "first metric that explains its scores without a language model.",
            metavar="NAME",
            show_default=False,
        ),
    ] = "",
    no_audit: Annotated[
        bool,
        typer.Option("--no-audit", help="Do not look for what is suspicious in the captions."),
    ] = False,
    tokenizer: parsing.LanguageTokenizer = None,
    language: parsing.Language = None,
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
    confidence: Annotated[
        float,
        typer.Option(
            help="Confidence of the intervals, between 0 and 1.",
            metavar="SHARE",
            callback=parsing.check_confidence,
        ),
    ] = 0.95,
    resamples: parsing.Resamples = parsing.RESAMPLES,
    seed: parsing.Seed = 0,
    threads: parsing.Threads = 0,
) -> None:
    """Write one HTML page: scores, tests, pictures, and every caption to look at."""
    import cidery
    from cidery.reports.thumbnails import check_images

    files = parsing.name_systems(systems)
    parsing.check_output(output, references, *files.values())
    if images is not None:
        check_images(images, embed=embed_images)
    with progress(len(files) + 2, references, *files.values()) as step:
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
        parsing.refuse_swapped(read, references, files)
        step("scoring and resampling")
        written = cidery.write_report(
            output,
            read.captions,
            read.references,
            parsing.read_metrics(metric),
            preset=preset,
            title=title,
            images=images,
            embed_images=embed_images,
            explain=None if explain == "none" else explain,
            audit=not no_audit,
            tokenizer=tokenizer,
            language=language,
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
            references_name=references,
        )
    if not written.has_charts:
        complain(
            "warning",
            "Plotly is not installed, so the pictures are tables: pip install 'cidery[report]'",
        )
    for sentence in written.summary:
        typer.echo(sentence)
    typer.echo(f"\nwritten: {output} ({written.size / MEGABYTE:.1f} MB)")
