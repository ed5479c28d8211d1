"""`cidery explain`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cidery.cli import parsing
from cidery.cli.progress import progress
from cidery.cli.rendering import show_json, show_notes, show_table

if TYPE_CHECKING:
    from cidery.metrics.contextual.consensus import ConsensusExplanation
    from cidery.metrics.contextual.explanation import Explanation

app = parsing.new_app()


@app.command(
    epilog=parsing.examples(
        'cidery explain "a puppy sleeps" "a dog is sleeping on a sofa" "the dog naps"',
        'cidery explain "a puppy sleeps" "a dog is sleeping" --encoder mpnet --format json',
        'cidery explain "a puppy on the" "a dog is sleeping" --consensus',
    )
)
def explain(
    candidate: Annotated[
        str, typer.Argument(help="The caption to explain.", metavar="CANDIDATE", show_default=False)
    ],
    references: Annotated[
        list[str],
        typer.Argument(
            help="A reference caption of the same image; several may be given.",
            metavar="REFERENCE…",
            show_default=False,
        ),
    ],
    encoder: Annotated[
        str, typer.Option(help="minilm, mpnet, or the folder of a model.", metavar="NAME|FOLDER")
    ] = "minilm",
    layer: Annotated[
        int | None,
        typer.Option(
            help="The encoder's layer to compare words in; default: the one found best for it.",
            metavar="NUMBER",
            show_default=False,
        ),
    ] = None,
    beta: Annotated[
        float | None,
        typer.Option(
            help="The highest similarity of words that do not match; default: the encoder's.",
            metavar="NUMBER",
            show_default=False,
        ),
    ] = None,
    consensus: Annotated[
        bool, typer.Option("--consensus", help="Also show the parts of the consensus score.")
    ] = False,
    format: parsing.TableOrJson = "table",
) -> None:
    """Show the nearest reference words of a caption's words, what is missing and what is extra."""
    import cidery

    with progress(1) as step:
        step("encoding")
        found: Explanation | ConsensusExplanation
        if consensus:
            metric = cidery.Consensus(encoder=encoder, layer=layer)
            found = metric.take_apart(candidate, references, beta=beta)
        else:
            found = cidery.explain(candidate, references, encoder, layer=layer, beta=beta)
    if format == "json":
        show_json(found.to_dict())
        return
    show_table(found.header(), found.lines(), left=(0, 1))
    show_notes(*found.notes())
