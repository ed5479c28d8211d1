"""`cidery stats`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cidery.cli import parsing
from cidery.cli.progress import progress
from cidery.cli.rendering import show_advice, show_histogram, show_json, show_pairs, show_title

if TYPE_CHECKING:
    from cidery.captions.description import Description

app = parsing.new_app()


@app.command(
    epilog=parsing.examples(
        "cidery stats references.json",
        "cidery stats dataset_coco.json --split test --format json",
        "cidery stats referenzen.csv --tokenizer words",
    )
)
def stats(
    references: parsing.References,
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

    with progress(2, references) as step:
        step("reading references")
        known = read_references(
            references, split=split, caption_field=reference_field, id_field=id_field
        )
        step("counting words")
        description = cidery.describe(
            known, tokenizer, language=language, threads=threads, references_name=references
        )
    if format == "json":
        show_json(description.to_dict())
    else:
        show_title(references)
        _show(description)


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
        [
            (f"{bin.low}" if bin.low == bin.high else f"{bin.low}-{bin.high}", bin.captions)
            for bin in found.histogram
        ],
    )
    show_advice(found.advice)
