"""`cidery align`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from cidery.cli import parsing
from cidery.cli.progress import progress
from cidery.cli.rendering import show_json, show_notes, show_table

app = parsing.new_app()


@app.command(
    epilog=parsing.examples(
        'cidery align "two dogs are running" "a pair of dogs run"',
        'cidery align "two dogs are running" "a pair of dogs run" --no-paraphrases',
    )
)
def align(
    candidate: Annotated[
        str, typer.Argument(help="A caption.", metavar="CANDIDATE", show_default=False)
    ],
    reference: Annotated[
        str,
        typer.Argument(
            help="The caption to align it with.", metavar="REFERENCE", show_default=False
        ),
    ],
    no_paraphrases: Annotated[
        bool, typer.Option("--no-paraphrases", help="Match single words only, no paraphrases.")
    ] = False,
    table: Annotated[
        str | None,
        typer.Option(
            help="A table made by `cidery data build --paraphrases`.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    tokenizer: parsing.Tokenizer = "ptb",
    format: parsing.TableOrJson = "table",
) -> None:
    """Show which words of two captions METEOR matches, how, and in which chunks."""
    from cidery import Meteor

    metric = Meteor(paraphrases=not no_paraphrases, table=table)
    with progress(1) as step:
        step("aligning")
        alignment = metric.align(candidate, reference, tokenizer)
    if format == "json":
        show_json(asdict(alignment) | {"chunks": len(alignment.chunks)})
        return
    show_table(alignment.header(), alignment.lines(), left=range(4))
    show_notes(*alignment.notes())
