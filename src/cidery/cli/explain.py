"""`cidery explain`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from cidery.cli import parsing
from cidery.cli.progress import progress
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
def explain(
    candidate: parsing.Caption = None,
    reference: parsing.CaptionReferences = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            "-m",
            help="A metric, a family of metrics or name:setting=value,…; may be repeated. Default: "
            "cider-d, rouge-l and, where its data are installed, meteor.",
            metavar="NAME",
            show_default=False,
            autocompletion=parsing.complete_metrics,
        ),
    ] = None,
    results: Annotated[
        str | None,
        typer.Option(
            help="Take the caption from this file, in any format cidery reads.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    references: Annotated[
        str | None,
        typer.Option(
            help="Take the references from this file; CIDEr's weights are then counted on it.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    image: Annotated[
        list[str] | None,
        typer.Option(
            help="With files: the id of an image to explain; may be repeated.",
            metavar="ID",
            show_default=False,
        ),
    ] = None,
    frequencies: Annotated[
        str | None,
        typer.Option(
            help="Document frequencies, on which CIDEr's weights are counted; default: "
            "coco-val2014 for an English caption, references (count the file) for files.",
            metavar="NAME|FILE",
            show_default=False,
            autocompletion=parsing.complete_frequencies,
        ),
    ] = None,
    tokenizer: parsing.LanguageTokenizer = None,
    language: parsing.Language = None,
    faithful: parsing.Faithful = None,
    missing: parsing.Missing = "error",
    split: parsing.Split = None,
    caption_field: parsing.CaptionField = None,
    reference_field: parsing.ReferenceField = None,
    id_field: parsing.IdField = None,
    reference_id_field: parsing.ReferenceIdField = None,
    format: parsing.TableJsonOrPage = "table",
    threads: parsing.Threads = 0,
) -> None:
    """Show what each word of a caption earned or cost in its scores.

    The caption and its references are given as text, or taken from files by --results, --references
    and --image.
    """
    import cidery

    parsing.check_captions_or_files(candidate, reference, results is not None, references, image)
    if results is not None and not image:
        raise typer.BadParameter("name the image to explain: --image ID", param_hint="--image")
    metrics = parsing.read_metrics(metric)
    if results is None or references is None:
        with progress(1) as step:
            step("explaining")
            found = [
                cidery.explain(
                    candidate or "",
                    reference or [],
                    metrics,
                    tokenizer=tokenizer,
                    language=language,
                    frequencies=frequencies,
                    faithful=faithful,
                    threads=threads,
                )
            ]
    else:
        with progress(3, results, references) as step:
            step("reading captions")
            said = cidery.read_candidates(results, caption_field=caption_field, id_field=id_field)
            step("reading references")
            told = cidery.read_references(
                references,
                split=split,
                caption_field=reference_field,
                id_field=reference_id_field or id_field,
            )
            step("explaining")
            found = cidery.explain_captions(
                said,
                told,
                image,
                metrics,
                tokenizer=tokenizer,
                language=language,
                frequencies=frequencies or "references",
                faithful=faithful,
                missing=missing,
                threads=threads,
                candidates_name=results,
                references_name=references,
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
    """Print the caption and its references, their words colored by what they earned or cost."""
    show_marked(explanation.candidate, _measure(explanation.spans))
    for number, (text, spans) in enumerate(
        zip(explanation.references, explanation.reference_spans, strict=True), 1
    ):
        show_marked(text, _measure(spans, 0.5), f"{number}. ")
    typer.echo()


def _measure(spans: Sequence[Span], weakest: float = 0.0) -> list[tuple[int, int, float]]:
    """Return spans with the strength of their color; `weakest` for those that cost nothing."""
    largest = max((abs(span.value) for span in spans), default=0.0) or 1.0
    return [(s.start, s.end, (s.value / largest) or -weakest) for s in spans]
