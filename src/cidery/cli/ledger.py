"""`cidery ledger`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from cidery.cli import options, parsing
from cidery.cli.progress_bar import progress
from cidery.cli.rendering import (
    on_terminal,
    show_marked,
    show_result,
    show_signatures,
    show_table,
    show_title,
)

if TYPE_CHECKING:
    from cidery import Ledger
    from cidery.hallucination.ledger import LedgerEntry

app = parsing.new_app()


@app.command(
    epilog=parsing.examples(
        'cidery ledger "a red dog. It sleeps." "a black dog asleep" "a dog is sleeping"',
        "cidery ledger --references references.json --results ours.json --results theirs.json",
        "cidery ledger --references references.json --results llava.json --image 391895",
        "cidery ledger --references references.json --results llava.json -f json > ledger.json",
    )
)
@options.with_options(
    only=(
        "language",
        "threads",
        "missing",
        "split",
        "caption_field",
        "reference_field",
        "id_field",
        "reference_id_field",
    ),
)
def ledger(
    candidate: options.Caption = None,
    reference: options.CaptionReferences = None,
    results: Annotated[
        list[str] | None,
        typer.Option(
            help="File of a system's captions, in any format that cidery reads; may be repeated.",
            metavar="[NAME=]FILE",
            show_default=False,
        ),
    ] = None,
    references: Annotated[
        str | None,
        typer.Option(help="File of the references.", metavar="FILE", show_default=False),
    ] = None,
    image: Annotated[
        list[str] | None,
        typer.Option(
            help="With files: id of an image whose claims are shown; may be repeated. Default: a "
            "table of all images, one row per system.",
            metavar="ID",
            show_default=False,
        ),
    ] = None,
    encoder: Annotated[
        str,
        typer.Option(help="Language model: minilm, mpnet or a folder.", metavar="NAME|FOLDER"),
    ] = "minilm",
    *,
    pipeline: options.PipelineOptions,
    inputs: options.InputOptions,
    format: options.TableJsonOrPage = "table",
    resamples: options.Resamples = options.RESAMPLES,
    seed: options.Seed = 0,
) -> None:
    """Show supported, unsupported and contradicted statements.

    The caption and its references are given as text, or files by --results and --references, whose
    systems are compared with correction for length.
    """
    import cidery

    files = parsing.name_systems(results or [])
    parsing.check_captions_or_files(candidate, reference, bool(files), references, image)
    settings = cidery.Claims(encoder=encoder)
    found: dict[str, Ledger] = {}
    if references is None:
        with progress(1) as step:
            step("reading claims")
            found["captions"] = cidery.judge_claims(
                [candidate or ""],
                [reference or []],
                metric=settings,
                language=pipeline.language,
                threads=pipeline.threads,
            )
    else:
        with progress(1 + 2 * len(files), references, *files.values()) as step:
            read = inputs.read(step, references, files)
            for name, captions in read.captions.items():
                step(f"reading the claims of {name}")
                found[name] = cidery.judge_claims(
                    captions,
                    read.references,
                    metric=settings,
                    language=pipeline.language,
                    missing=inputs.missing,
                    images=image,
                    threads=pipeline.threads,
                    candidates_name=files[name],
                    references_name=references,
                )
    _show(found, format, references is not None, bool(image), resamples, seed)


def _show(
    found: Mapping[str, Ledger],
    format: str,
    has_files: bool,
    chosen: bool,
    resamples: int,
    seed: int,
) -> None:
    import cidery

    if (chosen or not has_files) and format == "table":
        for place, (name, ledger) in enumerate(found.items()):
            for number, entry in enumerate(ledger.entries):
                if place or number:
                    typer.echo()
                system = "" if len(found) == 1 else f"{name}, "
                _show_entry(entry, f"{system}image {entry.image}, " if has_files else "")
        show_signatures([next(iter(found.values())).signature])
        return
    table = cidery.compare_ledgers(found, resamples=resamples, seed=seed)
    if format == "html":
        from cidery.markup import escape, html_page

        shown = "".join(f"<h2>{escape(name)}</h2>{one.to_html()}" for name, one in found.items())
        typer.echo(html_page("ledger", table.to_html() + shown))
    else:
        ledgers = {name: one.to_dict() for name, one in found.items()}
        show_result(table, format, content=table.to_dict() | {"ledgers": ledgers})


def _show_entry(entry: LedgerEntry, heading: str) -> None:
    show_title(f"{heading}claims-f {entry.scores['f']:.4f}")
    if on_terminal():
        show_marked(entry.caption, [(s.start, s.end, s.value) for s in entry.spans()])
        typer.echo()
    show_table(entry.table())
