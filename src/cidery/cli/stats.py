"""`cidery stats`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from cidery.cli import parsing
from cidery.cli.progress import progress
from cidery.cli.rendering import (
    draw_bar,
    show_advice,
    show_histogram,
    show_json,
    show_notes,
    show_pairs,
    show_table,
    show_title,
)

if TYPE_CHECKING:
    from cidery.captions.description import Bin, Description

app = parsing.new_app()


@app.command(
    epilog=parsing.examples(
        "cidery stats references.json",
        "cidery stats dataset_coco.json --split test --format json",
        "cidery stats referenzen.csv --language de",
        "cidery stats coco.json flickr30k.json",
    )
)
def stats(
    references: Annotated[
        list[str],
        typer.Argument(
            help="File of reference captions, in any format cidery reads; - is standard input. "
            "Several files are compared.",
            metavar="REFERENCES...",
            show_default=False,
        ),
    ],
    tokenizer: parsing.LanguageTokenizer = None,
    language: parsing.Language = None,
    split: parsing.Split = None,
    reference_field: parsing.ReferenceField = None,
    id_field: parsing.IdField = None,
    format: parsing.TableOrJson = "table",
    threads: parsing.Threads = 0,
) -> None:
    """Describe references and say which metric fits them."""
    import cidery
    from cidery.captions.formats import read_references

    if len(set(references)) < len(references):
        raise typer.BadParameter("the same file is given twice", param_hint="REFERENCES")
    found = {}
    with progress(2 * len(references), *references) as step:
        for file in references:
            step(f"reading {file}" if len(references) > 1 else "reading references")
            known = read_references(
                file, split=split, caption_field=reference_field, id_field=id_field
            )
            step("counting words")
            found[file] = cidery.describe(
                known, tokenizer, language=language, threads=threads, references_name=file
            )
    first = found[references[0]]
    if format == "json":
        several = {"files": {file: d.to_dict() for file, d in found.items()}}
        show_json(first.to_dict() if len(found) == 1 else several)
    elif len(found) == 1:
        show_title(references[0])
        _show(first)
    else:
        _show_several(found)


def _show_several(found: Mapping[str, Description]) -> None:
    """Print a line per file, then lengths side by side, then advice."""
    from cidery.captions.description import share_bins

    show_table(
        ["file", "images", "captions", "per image", "words", "sd", "vocabulary", "script"],
        [
            [
                file,
                f"{d.images:,}",
                f"{d.captions:,}",
                f"{d.references.mean:.2f}",
                f"{d.length.mean:.1f}",
                f"{d.length.deviation:.1f}",
                f"{d.vocabulary:,}",
                d.scripts[0].script if d.scripts else "",
            ]
            for file, d in found.items()
        ],
        left=(0, 7),
    )
    show_notes("Captions by their number of words:")
    binned = share_bins(list(found.values()))
    shares = [
        [bin.captions / d.captions for bin in bins]
        for bins, d in zip(binned, found.values(), strict=True)
    ]
    most = max(map(max, shares))
    rows = []
    for place, bin in enumerate(binned[0]):
        cells = [name_bin(bin)]
        for column in shares:
            cells += [f"{column[place]:.1%}", draw_bar(column[place] / most, 16)]
        rows.append(cells)
    header = ["words"]
    for file in found:
        header += ["", file]
    show_table(header, rows, left=tuple(range(2, len(header), 2)))
    show_advice(
        sentence if sentence.startswith(file) else f"{file}: {sentence}"
        for file, d in found.items()
        for sentence in d.advice
    )


def name_bin(bin: Bin) -> str:
    """Return the lengths of a bin as text."""
    return f"{bin.low}" if bin.low == bin.high else f"{bin.low}-{bin.high}"


def _show(found: Description) -> None:
    per_image, length = found.references, found.length
    show_pairs(
        {
            "images": f"{found.images:,}",
            "references": f"{found.captions:,}, per image {per_image.mean:.2f} "
            f"({per_image.least} to {per_image.most})",
            "words per caption": f"{length.mean:.1f}, sd {length.deviation:.1f} "
            f"({length.least} to {length.most})",
            "vocabulary": f"{found.vocabulary:,} words, {found.seen_once:,} of them seen once",
            "repeated captions": f"{found.repeated:,} within an image, "
            f"{found.repeated_anywhere:,} over all images",
            "empty captions": f"{found.empty:,}",
            "script": ", ".join(f"{s.script} {s.captions:,}" for s in found.scripts) or "none",
            **({"language": found.language} if found.language else {}),
            "tokenizer": found.tokenizer,
        }
    )
    show_histogram(
        "words",
        [(name_bin(bin), bin.captions) for bin in found.histogram],
    )
    show_advice(found.advice)
