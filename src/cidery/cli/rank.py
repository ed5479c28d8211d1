"""`cidery rank`: which references say what most people say."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from cidery.cli import parsing
from cidery.cli.progress import progress
from cidery.cli.rendering import show_result

if TYPE_CHECKING:
    from cidery.diversity import RankedReferences

app = parsing.new_app()


@app.command(
    epilog=parsing.examples(
        "cidery rank references.json --image 1",
        "cidery rank references.json --top 1 --format csv",
        "cidery rank references.json -m rouge-l --missing skip",
    )
)
def rank(
    references: parsing.References,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            "-m",
            help="The metric that scores each reference against the others of its image. "
            "Default: cider.",
            metavar="NAME",
            show_default=False,
            autocompletion=parsing.complete_metrics,
        ),
    ] = None,
    image: Annotated[
        list[str] | None,
        typer.Option(
            help="Show only this image; may be repeated. Default: all.",
            metavar="ID",
            show_default=False,
        ),
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(
            help="Show only so many references of each image, the best. Default: all.",
            metavar="COUNT",
            min=1,
            show_default=False,
        ),
    ] = None,
    tokenizer: parsing.LanguageTokenizer = None,
    language: parsing.Language = None,
    frequencies: parsing.Frequencies = "references",
    faithful: parsing.Faithful = None,
    missing: parsing.Missing = "error",
    split: parsing.Split = None,
    reference_field: parsing.ReferenceField = None,
    id_field: parsing.IdField = None,
    threads: parsing.Threads = 0,
    format: parsing.Format = "table",
) -> None:
    """Rank each image's references by agreement with its other references."""
    import cidery
    from cidery.files import read_references

    name = _take_one(metric)
    with progress(2, references) as step:
        step("reading references")
        known = read_references(
            references, split=split, caption_field=reference_field, id_field=id_field
        )
        step("scoring each reference against the others")
        found = cidery.rank_references(
            known,
            parsing.read_metric(name),
            tokenizer=tokenizer,
            language=language,
            frequencies=frequencies,
            faithful=faithful,
            missing=missing,
            threads=threads,
        )
    found = _choose(found, image, top)
    title = f"{references}: references by agreement with the others of their image"
    show_result(found, format, title=title)


def _take_one(metrics: list[str] | None) -> str:
    """Return the metric; several are refused, which an option for one would take the last of."""
    first, *others = metrics or ["cider"]
    if others:
        raise typer.BadParameter(
            f"references are ranked by one metric, not by {', '.join([first, *others])}",
            param_hint="--metric",
        )
    return first


def _choose(found: RankedReferences, images: list[str] | None, top: int | None) -> RankedReferences:
    """Return what was asked for; scores and frequencies are those of all references."""
    by_name = {str(image): image for image in found}
    for name in images or ():
        if name not in by_name:
            raise typer.BadParameter(
                f"there is no image {name!r} with two references or more", param_hint="--image"
            )
    shown = [by_name[name] for name in dict.fromkeys(images)] if images else list(found)
    return replace(found, images={image: found[image][:top] for image in shown})
