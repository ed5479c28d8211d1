"""`cidery rank`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from cidery.cli import options, parsing
from cidery.cli.progress_bar import progress
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
@options.with_options(
    without=("preset", "caption_field", "reference_id_field", "by", "slices", "strict", "clean"),
    metric=Annotated[list[str] | None, options.make_metric_option("cider")],
)
def rank(
    references: options.References,
    pipeline: options.PipelineOptions,
    inputs: options.InputOptions,
    image: Annotated[
        list[str] | None,
        typer.Option(
            help="Id of an image to show; may be repeated. Default: all.",
            metavar="ID",
            show_default=False,
        ),
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(
            help="Number of references to show per image, the best first. Default: all.",
            metavar="COUNT",
            min=1,
            show_default=False,
        ),
    ] = None,
    format: options.Format = "table",
) -> None:
    """Rank each image's references by agreement with the others."""
    import cidery

    name = _get_one(pipeline.metric)
    with progress(2, references) as step:
        step("reading references")
        known = inputs.read_references(references)
        step("scoring each reference against the others")
        found = cidery.rank_references(
            known, parsing.read_metric(name), missing=inputs.missing, **pipeline.settings
        )
    found = _choose(found, image, top)
    title = f"{references}: references by agreement with the others of their image"
    show_result(found, format, title=title)


def _get_one(metrics: Sequence[str] | None) -> str:
    """Return the metric; refuse several."""
    first, *others = metrics or ["cider"]
    if others:
        raise typer.BadParameter(
            f"references are ranked by one metric, not by {', '.join([first, *others])}",
            param_hint="--metric",
        )
    return first


def _choose(found: RankedReferences, images: list[str] | None, top: int | None) -> RankedReferences:
    """Return the images and ranks to show; scores are those of all references."""
    by_name = {str(image): image for image in found}
    for name in images or ():
        if name not in by_name:
            raise typer.BadParameter(
                f"there is no image {name!r} with two references or more", param_hint="--image"
            )
    shown = [by_name[name] for name in dict.fromkeys(images)] if images else list(found)
    return replace(found, images={image: found[image][:top] for image in shown})
