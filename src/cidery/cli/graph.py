"""`cidery graph`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cidery.cli import options, parsing
from cidery.cli.progress_bar import progress
from cidery.cli.rendering import show_json, show_notes, show_result, show_tree

if TYPE_CHECKING:
    from cidery.metrics.spice.graph import SceneGraph
    from cidery.metrics.spice.matching import SceneComparison

app = parsing.new_app()

_PARSED_AS_ORIGINAL = (
    "parsed as by the original SPICE, with its errors; --faithful paper: without them"
)


@app.command(
    epilog=parsing.examples(
        'cidery graph "a brown dog chases two cats on the grass"',
        'cidery graph "a dog on a sofa" -r "a brown dog on a couch" -r "a dog sleeping"',
        'cidery graph "a brown dog chases two cats on the grass" --picture dog.svg',
    )
)
def graph(
    caption: Annotated[str, typer.Argument(help="Caption.", metavar="CAPTION", show_default=False)],
    reference: Annotated[
        list[str] | None,
        typer.Option(
            "--reference",
            "-r",
            help="Compare with this caption; may be repeated.",
            metavar="CAPTION",
            show_default=False,
        ),
    ] = None,
    picture: Annotated[
        str | None,
        typer.Option(
            help="Also draw the graph into this .svg, .png, .pdf or .eps file.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    parser: Annotated[
        str, typer.Option(help="spaCy pipeline; auto: one that is installed.", metavar="NAME")
    ] = "auto",
    faithful: Annotated[
        Literal["coco", "paper"],
        typer.Option(
            help="Reading of captions with -r: as they are scored, with the errors of the original "
            "(coco), or without them, as graphs are drawn (paper)."
        ),
    ] = "coco",
    tokenizer: options.Tokenizer = None,
    format: options.TableOrJson = "table",
) -> None:
    """Show the scene graph of a caption, as SPICE compares them.

    A scene graph has objects, attributes and relations.
    """
    from cidery import Spice

    metric = Spice(parser=parser, faithful=faithful)
    with progress(2) as step:
        step("parsing")
        found = metric.parse(caption, tokenizer or "ptb")
        comparison = metric.compare(caption, reference, tokenizer or "ptb") if reference else None
        step("drawing")
        if picture:
            _draw(found, picture)
    if format == "json":
        show_json(_describe(found, comparison))
        return
    notes = [f"drawn in {picture}"] if picture else []
    if comparison is None:
        show_tree(found.branches())
        notes += [] if found.objects else ["the caption names no object"]
    else:
        notes += [_PARSED_AS_ORIGINAL] if faithful == "coco" else []
        show_result(comparison, format, notes=notes)
        return
    if notes:
        show_notes(*notes)


def _draw(found: SceneGraph, picture: str) -> None:
    from cidery.plots import plot_scene, save_figures

    save_figures(plot_scene(found), picture)


def _describe(found: SceneGraph, comparison: SceneComparison | None) -> dict[str, Any]:
    described: dict[str, Any] = {
        "objects": found.objects,
        "attributes": found.attributes,
        "relations": found.relations,
    }
    if comparison is not None:
        described |= comparison.to_dict()
    return described
