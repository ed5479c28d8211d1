"""`cidery report`."""

from __future__ import annotations

from typing import Annotated

import typer

from cidery.cli import options, parsing
from cidery.cli.progress_bar import progress
from cidery.cli.rendering import show_message

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
@options.with_options()
def report(
    references: options.References,
    systems: Annotated[
        list[str],
        typer.Argument(
            help="One or more files of captions, as FILE or NAME=FILE.",
            metavar="SYSTEM...",
            show_default=False,
        ),
    ],
    pipeline: options.PipelineOptions,
    inputs: options.InputOptions,
    output: Annotated[
        str, typer.Option("--output", "-o", help="HTML file to write.", metavar="FILE")
    ] = "report.html",
    images: Annotated[
        str | None,
        typer.Option(
            help="Folder of images named by their ids, or an address with {image}, such as "
            "https://example.org/{image:012}.jpg (012: twelve digits).",
            metavar="FOLDER|ADDRESS",
            show_default=False,
        ),
    ] = None,
    embed_images: Annotated[
        bool,
        typer.Option(
            "--embed-images",
            help="Embed small copies of the folder's images in the page.",
        ),
    ] = False,
    title: Annotated[
        str | None,
        typer.Option(help="Title of the page.", metavar="TEXT", show_default=False),
    ] = None,
    explain: Annotated[
        str,
        typer.Option(
            help="Metric that colors words, or none. Default: cider-d, or the first metric that "
            "explains its scores without a language model.",
            metavar="NAME",
            show_default=False,
        ),
    ] = "",
    no_audit: Annotated[
        bool,
        typer.Option("--no-audit", help="Do not check the captions for problems."),
    ] = False,
    confidence: options.Confidence = 0.95,
    resamples: options.Resamples = options.RESAMPLES,
    seed: options.Seed = 0,
) -> None:
    """Write an HTML page with scores, tests and all captions."""
    import cidery
    from cidery.reports.thumbnails import check_images

    files = parsing.name_systems(systems)
    parsing.check_output(output, references, *files.values())
    if images is not None:
        check_images(images, embed=embed_images)
    with progress(len(files) + 2, references, *files.values()) as step:
        read = inputs.read(step, references, files)
        parsing.refuse_swapped(read, references, files)
        step("scoring and resampling")
        written = cidery.write_report(
            output,
            read.captions,
            read.references,
            pipeline.metrics,
            title=title,
            images=images,
            embed_images=embed_images,
            explain=None if explain == "none" else explain,
            audit=not no_audit,
            confidence=confidence,
            resamples=resamples,
            seed=seed,
            references_name=references,
            **inputs.describe(read),
            **pipeline.settings,
        )
    if not written.has_charts:
        show_message(
            "warning",
            "Plotly is not installed, so charts are shown as tables; install it with: pip install "
            "'cidery[report]'",
        )
    for sentence in written.summary:
        typer.echo(sentence)
    typer.echo(f"\nwritten: {output} ({written.size / MEGABYTE:.1f} MB)")
