"""`cidery objects`."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from cidery.cli import options, parsing
from cidery.cli.progress_bar import progress
from cidery.cli.rendering import show_result

app = parsing.new_app()


@app.command(
    epilog=parsing.examples(
        "cidery objects results.json references.json",
        "cidery objects results.json references.json --wrong --format csv",
        "cidery objects results.json references.json --instances instances_val2014.json",
    )
)
@options.with_options(without=("reference_id_field", "by", "slices", "strict", "clean"))
def objects(
    results: Annotated[
        str,
        typer.Argument(
            help="File of captions; - is standard input.",
            metavar="RESULTS",
            show_default=False,
        ),
    ],
    references: options.References,
    inputs: options.InputOptions,
    instances: Annotated[
        str | None,
        typer.Option(
            help="Objects in the images: COCO's instances_*.json, or a JSON object of image ids "
            "and lists of categories. They are added to those of the references.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    instances_only: Annotated[
        bool,
        typer.Option("--instances-only", help="Ignore the objects that references mention."),
    ] = False,
    lemmatizer: Annotated[
        Literal["wordnet", "pattern"],
        typer.Option(
            help="Base forms of words: wordnet, as in lmms-eval, or pattern, as in the code of "
            "CHAIR's authors."
        ),
    ] = "wordnet",
    wrong: Annotated[
        bool,
        typer.Option(
            "--wrong", help="Show only captions that mention an object that is not in the image."
        ),
    ] = False,
    format: options.Format = "table",
) -> None:
    """List named objects that are not in the image.

    Objects are of COCO's 80 kinds.
    """
    from dataclasses import replace

    import cidery

    with progress(3, results, references) as step:
        read = inputs.read(step, references, {results: results})
        step("finding objects")
        found = cidery.find_objects(
            read.captions[results],
            read.references,
            instances=instances,
            use_references=not instances_only,
            lemmatizer=lemmatizer,
            missing=inputs.missing,
        )
    chosen = [one for one in found.captions if one.hallucinated] if wrong else found.captions
    shown = replace(found, captions=chosen)
    show_result(shown, format, title=f"{results}: objects named, against {references}")
