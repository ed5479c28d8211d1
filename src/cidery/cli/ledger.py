"""`cidery ledger`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from cidery.cli import parsing
from cidery.cli.progress import progress
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
def ledger(
    candidate: parsing.Caption = None,
    reference: parsing.CaptionReferences = None,
    results: Annotated[
        list[str] | None,
        typer.Option(
            help="A system's captions: FILE or NAME=FILE, in any format cidery reads; may be "
            "repeated.",
            metavar="[NAME=]FILE",
            show_default=False,
        ),
    ] = None,
    references: Annotated[
        str | None,
        typer.Option(
            help="Take the references from this file.", metavar="FILE", show_default=False
        ),
    ] = None,
    image: Annotated[
        list[str] | None,
        typer.Option(
            help="With files: the id of an image whose claims are shown; may be repeated. Default: "
            "a table of all, a line for each system.",
            metavar="ID",
            show_default=False,
        ),
    ] = None,
    encoder: Annotated[
        str,
        typer.Option(help="The language model: minilm, mpnet or a folder.", metavar="NAME|FOLDER"),
    ] = "minilm",
    language: parsing.Language = None,
    missing: parsing.Missing = "error",
    split: parsing.Split = None,
    caption_field: parsing.CaptionField = None,
    reference_field: parsing.ReferenceField = None,
    id_field: parsing.IdField = None,
    reference_id_field: parsing.ReferenceIdField = None,
    format: parsing.TableJsonOrPage = "table",
    resamples: parsing.Resamples = parsing.RESAMPLES,
    seed: parsing.Seed = 0,
    threads: parsing.Threads = 0,
) -> None:
    """Show which statements of captions are supported, unsupported or contradicted.

    A caption and its references are given as text; or files by --results and --references, and
    then systems are compared, with the effect of length taken out.
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
                language=language,
                threads=threads,
            )
    else:
        with progress(1 + 2 * len(files), references, *files.values()) as step:
            read = parsing.read_systems(
                step,
                references,
                files,
                split=split,
                caption_field=caption_field,
                reference_field=reference_field,
                id_field=id_field,
                reference_id_field=reference_id_field,
                by=None,
            )
            for name, captions in read.captions.items():
                step(f"reading the claims of {name}")
                found[name] = cidery.judge_claims(
                    captions,
                    read.references,
                    metric=settings,
                    language=language,
                    missing=missing,
                    images=image,
                    threads=threads,
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
