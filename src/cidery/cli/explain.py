"""`cidery explain`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from cidery.cli import options, parsing
from cidery.cli.progress_bar import progress
from cidery.cli.rendering import (
    on_terminal,
    show_json,
    show_marked,
    show_signatures,
    show_table,
    show_title,
)

if TYPE_CHECKING:
    from cidery import Explanation, Explanations, Span

app = parsing.new_app()


@app.command(
    epilog=parsing.examples(
        'cidery explain "a dog runs" "the dog is running" "a dog in the park"',
        'cidery explain "two dogs run" "a pair of dogs running" -m meteor -m spice',
        'cidery explain "a puppy sleeps" "a dog is sleeping" -m bertscore:encoder=mpnet',
        "cidery explain --results results.json --references references.json --image 391895",
        'cidery explain "a dog runs" "the dog is running" --format html > dog.html',
    )
)
@options.with_options(
    without=("preset", "by", "slices", "strict", "clean"),
    metric=Annotated[
        list[str] | None,
        options.make_metric_option("cider-d, rouge-l and, where its data are installed, meteor"),
    ],
    frequencies=Annotated[
        str | None,
        options.make_frequencies_option(
            "coco-val2014 for an English caption, references for files"
        ),
    ],
)
def explain(
    candidate: options.Caption = None,
    reference: options.CaptionReferences = None,
    results: Annotated[
        str | None,
        typer.Option(
            help="File of the captions, in any format that cidery reads.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    references: Annotated[
        str | None,
        typer.Option(
            help="File of the references; CIDEr's document frequencies are then counted on it.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    image: Annotated[
        list[str] | None,
        typer.Option(
            help="With files: id of an image to explain; may be repeated.",
            metavar="ID",
            show_default=False,
        ),
    ] = None,
    *,
    pipeline: options.PipelineOptions,
    inputs: options.InputOptions,
    format: options.TableJsonOrPage = "table",
) -> None:
    """Show the contribution of each word to a caption's scores.

    The caption and its references are given as text, or read from files by --results, --references
    and --image.
    """
    import cidery

    parsing.check_captions_or_files(candidate, reference, results is not None, references, image)
    if results is not None and not image:
        raise typer.BadParameter("name the image to explain: --image ID", param_hint="--image")
    if results is None or references is None:
        with progress(1) as step:
            step("explaining")
            found = [
                cidery.explain(
                    candidate or "", reference or [], pipeline.metrics, **pipeline.settings
                )
            ]
    else:
        with progress(3, results, references) as step:
            read = inputs.read(step, references, {results: results})
            step("explaining")
            found = cidery.explain_captions(
                read.captions[results],
                read.references,
                image,
                pipeline.metrics,
                missing=inputs.missing,
                candidates_name=results,
                references_name=references,
                **pipeline.settings,
            )
    _show(found, format)


def _show(found: Sequence[Explanations], format: str) -> None:
    if format == "json":
        show_json(found[0].to_dict() if len(found) == 1 else [one.to_dict() for one in found])
        return
    if format == "html":
        from cidery.markup import html_page

        title = next(iter(found[0].values())).candidate
        typer.echo(html_page(title, "".join(one.to_html() for one in found)))
        return
    for place, one in enumerate(found):
        for number, explanation in enumerate(one.values()):
            if place or number:
                typer.echo()
            named = "" if one.image is None else f"image {one.image}, "
            table = explanation.table()
            show_title(f"{named}{table.title}")
            if on_terminal():
                _color(explanation)
            show_table(replace(table, title=""))
    show_signatures(found[0].signatures.values())


def _color(explanation: Explanation) -> None:
    """Print the caption and its references, with words colored by their contributions."""
    show_marked(explanation.candidate, _measure(explanation.spans))
    for number, (text, spans) in enumerate(
        zip(explanation.references, explanation.reference_spans, strict=True), 1
    ):
        show_marked(text, _measure(spans, 0.5), f"{number}. ")
    typer.echo()


def _measure(spans: Sequence[Span], weakest: float = 0.0) -> list[tuple[int, int, float]]:
    """Return spans with the strength of their color; `weakest` for those of value 0."""
    largest = max((abs(span.value) for span in spans), default=0.0) or 1.0
    return [(s.start, s.end, (s.value / largest) or -weakest) for s in spans]
