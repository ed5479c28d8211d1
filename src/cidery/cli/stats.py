"""`cidery stats`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cidery.cli import options, parsing
from cidery.cli.progress_bar import progress
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
from cidery.tables import Column, Table

if TYPE_CHECKING:
    from cidery.corpus import Bin, Description

app = parsing.new_app()

DETECTABLE_BY = ("bleu-4", "rouge-l", "cider-d")
"""Metrics of detectable differences."""


@app.command(
    epilog=parsing.examples(
        "cidery stats references.json",
        "cidery stats dataset_coco.json --split test --format json",
        "cidery stats referenzen.csv --language de",
        "cidery stats coco.json flickr30k.json --plot lengths.pdf",
        "cidery stats pracegover.json --max-words 20 --output pracegover-20.jsonl",
    )
)
@options.with_options(
    only=("tokenizer", "language", "threads", "split", "reference_field", "id_field")
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
    pipeline: options.PipelineOptions,
    inputs: options.InputOptions,
    max_words: Annotated[
        int | None,
        typer.Option(
            help="Keep images whose longest reference has at most this many words.",
            metavar="COUNT",
            min=1,
            show_default=False,
        ),
    ] = None,
    outer_quartiles: Annotated[
        bool,
        typer.Option(
            "--outer-quartiles",
            help="Keep images whose longest reference is below the first or above the third "
            "quartile of lengths.",
        ),
    ] = False,
    single: Annotated[
        Literal["longest", "first"] | None,
        typer.Option(help="Keep one reference of each image.", show_default=False),
    ] = None,
    plot: Annotated[
        str | None,
        typer.Option(
            help="Draw the distributions of lengths: .pdf, .svg, .eps or .png.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            help="Write the remaining references: .jsonl, .csv or .parquet.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    format: options.TableOrJson = "table",
) -> None:
    """Describe references and recommend metrics for them."""
    import cidery
    from cidery.files import check_rows_file, write_rows

    if len(set(references)) < len(references):
        raise typer.BadParameter("the same file is given twice", param_hint="REFERENCES")
    if plot:
        from cidery.plots.figures import check_figure_file

        parsing.check_output(plot, *references, option="--plot")
        check_figure_file(plot)
    filters = {"max_words": max_words, "outer_quartiles": outer_quartiles, "single": single}
    if output:
        if len(references) > 1:
            raise typer.BadParameter("one file can be written, not several", param_hint="--output")
        parsing.check_output(output, *references)
        check_rows_file(output)
    found = {}
    detectable: dict[str, float] = {}
    with progress(2 * len(references) + 1, *references) as step:
        for file in references:
            step(f"reading {file}" if len(references) > 1 else "reading references")
            known = inputs.read_references(file)
            step("counting words")
            if any(filters.values()):
                known = cidery.filter_references(
                    known,
                    tokenizer=pipeline.tokenizer,
                    language=pipeline.language,
                    references_name=file,
                    **filters,  # type: ignore[arg-type]
                )
            found[file] = cidery.describe(
                known,
                pipeline.tokenizer,
                language=pipeline.language,
                threads=pipeline.threads,
                references_name=file,
            )
            if output:
                images = [image for image, group in known.items() for _ in group]
                captions = [text for group in known.values() for text in group]
                write_rows(output, {"image_id": images, "caption": captions})
        if len(references) == 1:
            step("estimating detectable differences")
            detectable = _estimate_detectable(known, pipeline)
    drawn = _draw(found, plot) if plot else ""
    first = found[references[0]]
    if format == "json":
        from cidery.corpus import find_length_mismatch

        several: dict[str, Any] = {"files": {file: d.to_dict() for file, d in found.items()}}
        if len(found) > 1:
            several |= {"advice": find_length_mismatch(found)}
        alone = first.to_dict() | {"detectable": detectable}
        show_json(alone if len(found) == 1 else several)
    elif len(found) == 1:
        show_title(references[0])
        _show(first, detectable)
    else:
        _show_several(found)
    if drawn and format == "table":
        show_notes(f"drawn: {drawn}")


def _draw(found: Mapping[str, Description], plot: str) -> str:
    from cidery.plots import plot_lengths, save_figures

    return ", ".join(map(str, save_figures(plot_lengths(found), plot)))


def _show_several(found: Mapping[str, Description]) -> None:
    """Print a line per file, then lengths side by side, then advice."""
    from cidery.corpus import find_length_mismatch, share_bins

    columns = [
        *(
            Column("file"),
            Column("images", ","),
            Column("captions", ","),
            Column("per image", ".2f"),
        ),
        *(Column("words", ".1f"), Column("sd", ".1f"), Column("vocabulary", ","), Column("script")),
    ]
    rows = [
        (
            *(file, d.images, d.captions, d.references.mean, d.length.mean, d.length.deviation),
            *(d.vocabulary, d.scripts[0].script if d.scripts else ""),
        )
        for file, d in found.items()
    ]
    show_table(Table.of(columns, rows))
    show_notes("Captions by their number of words:")
    binned = share_bins(list(found.values()))
    shares = [
        [bin.captions / d.captions for bin in bins]
        for bins, d in zip(binned, found.values(), strict=True)
    ]
    most = max(map(max, shares))
    bars = [
        (
            name_bin(bin),
            *(cell for s in shares for cell in (s[place], draw_bar(s[place] / most, 16))),
        )
        for place, bin in enumerate(binned[0])
    ]
    share = Column("", ".1%")
    header = [Column("words", align="right"), *(c for file in found for c in (share, file))]
    show_table(Table.of(header, bars))
    show_advice(
        [
            *find_length_mismatch(found),
            *(
                sentence if sentence.startswith(file) else f"{file}: {sentence}"
                for file, d in found.items()
                for sentence in d.advice
            ),
        ]
    )


def name_bin(bin: Bin) -> str:
    """Return the lengths of a bin as text."""
    return f"{bin.low}" if bin.low == bin.high else f"{bin.low}-{bin.high}"


def _estimate_detectable(
    references: Mapping[Any, Sequence[str]], pipeline: options.PipelineOptions
) -> dict[str, float]:
    """Return detectable differences by metric; empty with fewer than three references."""
    import cidery
    from cidery.scoring.power import MIN_REFERENCES

    if sum(len(group) >= MIN_REFERENCES for group in references.values()) < 2:
        return {}
    settings: dict[str, Any] = {
        "tokenizer": pipeline.tokenizer,
        "language": pipeline.language,
        "threads": pipeline.threads,
    }
    return cidery.estimate_detectable(references, list(DETECTABLE_BY), **settings)


def _show(found: Description, detectable: Mapping[str, float]) -> None:
    lines = found.summarize()
    if detectable:
        listed = ", ".join(f"{metric} {value:.3f}" for metric, value in detectable.items())
        lines["detectable"] = f"differences of {listed} (power 80 %)"
    show_pairs(lines)
    show_histogram(
        "words",
        [(name_bin(bin), bin.captions) for bin in found.histogram],
    )
    show_advice(found.advice)
