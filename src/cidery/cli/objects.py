"""`cidery objects`: which objects captions name, and which of them are not there."""

from __future__ import annotations

from typing import Annotated

import typer

from cidery.cli import parsing
from cidery.cli.progress import progress
from cidery.cli.rendering import show_result

app = parsing.new_app()


@app.command(
    epilog=parsing.examples(
        "cidery objects results.json references.json",
        "cidery objects results.json references.json --wrong --format csv",
        "cidery objects results.json references.json --instances instances_val2014.json",
    )
)
def objects(
    results: Annotated[
        str,
        typer.Argument(
            help="File of the captions; - is standard input.",
            metavar="RESULTS",
            show_default=False,
        ),
    ],
    references: parsing.References,
    instances: Annotated[
        str | None,
        typer.Option(
            help="COCO's instances_*.json, or a JSON object of image ids and lists of kinds: these "
            "objects are there too.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    instances_only: Annotated[
        bool,
        typer.Option("--instances-only", help="What references name does not count as there."),
    ] = False,
    wrong: Annotated[
        bool,
        typer.Option("--wrong", help="Show only captions that name an object that is not there."),
    ] = False,
    missing: parsing.Missing = "error",
    split: parsing.Split = None,
    caption_field: parsing.CaptionField = None,
    reference_field: parsing.ReferenceField = None,
    id_field: parsing.IdField = None,
    format: parsing.Format = "table",
) -> None:
    """List which of COCO's 80 kinds of objects each caption names, and which are not there."""
    from dataclasses import replace

    import cidery
    from cidery.files import read_candidates, read_references

    with progress(3, results, references) as step:
        step("reading captions")
        candidates = read_candidates(results, caption_field=caption_field, id_field=id_field)
        step("reading references")
        known = read_references(
            references, split=split, caption_field=reference_field, id_field=id_field
        )
        step("finding objects")
        found = cidery.find_objects(
            candidates,
            known,
            instances=instances,
            use_references=not instances_only,
            missing=missing,
        )
    chosen = [one for one in found.captions if one.not_there] if wrong else found.captions
    shown = replace(found, captions=chosen)
    show_result(shown, format, title=f"{results}: objects named, against {references}")
