"""`cidery score`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cidery.cli import parsing
from cidery.cli.progress import progress
from cidery.cli.rendering import (
    goes_on,
    show_result,
)

if TYPE_CHECKING:
    from cidery.scoring.tables import ScoreTable
    from cidery.statistics import Interval

app = parsing.new_app()


@app.command(
    epilog=parsing.examples(
        "cidery score results.json references.json",
        "cidery score results.json references.json -m cider-d -m bleu --format json",
        "cidery score results.json dataset_coco.json --split test --captions each.csv",
        "cidery score outputs.jsonl outputs.jsonl --caption-field prediction",
        "cidery score results.json references.json -m rouge-l:beta=1 --faithful paper",
        "cidery score few.json references.json --missing skip --frequencies coco-val2014",
        "cidery score results.json nocaps_val.json --by domain",
        "cidery score results.json references.json --by tags.csv --plot tags.pdf",
        "cidery score 'samples/*.parquet' references.parquet --stream --captions scores",
        "cidery score s3://bucket/samples s3://bucket/references --engine ray --address auto",
    )
)
def score(
    results: Annotated[
        str,
        typer.Argument(
            help="File of the captions to score; - is standard input.",
            metavar="RESULTS",
            show_default=False,
        ),
    ],
    references: parsing.References,
    metric: parsing.Metrics = None,
    preset: parsing.Preset = None,
    format: parsing.Format = "table",
    captions: Annotated[
        str | None,
        typer.Option(
            help="Also write every caption's scores to this .csv, .jsonl or .parquet file; of a "
            "stream, to Parquet files in this folder.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    tokenizer: parsing.LanguageTokenizer = None,
    language: parsing.Language = None,
    segmenters: parsing.Segmenters = None,
    frequencies: parsing.Frequencies = "references",
    faithful: parsing.Faithful = None,
    missing: parsing.Missing = "error",
    split: parsing.Split = None,
    caption_field: parsing.CaptionField = None,
    reference_field: parsing.ReferenceField = None,
    id_field: parsing.IdField = None,
    reference_id_field: parsing.ReferenceIdField = None,
    by: parsing.By = None,
    slices: parsing.Slices = "whole",
    plot: parsing.Plot = None,
    confidence: Annotated[
        float | None,
        typer.Option(
            help="Add bootstrap intervals of this confidence, between 0 and 1. Tables have them "
            "anyway, with 0.95; other formats only when asked.",
            metavar="SHARE",
            show_default=False,
            callback=parsing.check_confidence,
        ),
    ] = None,
    no_intervals: Annotated[
        bool, typer.Option("--no-intervals", help="Leave the intervals out of the table.")
    ] = False,
    resamples: parsing.Resamples = parsing.RESAMPLES,
    seed: parsing.Seed = 0,
    threads: parsing.Threads = 0,
    stream: parsing.Stream = None,
    engine: parsing.Engine = "local",
    address: parsing.Address = None,
    work: parsing.Work = None,
) -> None:
    """Score captions against reference captions."""
    if confidence is None and format == "table":
        confidence = 0.95
    if no_intervals:
        confidence = None
    drawing = None if confidence is None else (confidence, seed, resamples)
    if _is_stream(stream, engine, results, references):
        _refuse({"--by": by, "--segmenters": segmenters, "--split": split, "--plot": plot})
        if slices != "whole":
            _refuse({"--slices": slices})
        _score_stream(
            results,
            references,
            drawing,
            format,
            metrics=parsing.read_metrics(metric),
            preset=preset,
            captions=captions,
            tokenizer=tokenizer,
            language=language,
            frequencies=frequencies,
            faithful=faithful,
            missing=missing,
            caption_field=caption_field,
            reference_field=reference_field,
            id_field=id_field,
            reference_id_field=reference_id_field,
            engine=parsing.make_engine(engine, address, threads),
            work=work,
        )
        return
    parsing.check_no_engine(engine, address, work)
    import cidery
    from cidery.files import (
        check_rows_file,
        read_candidates,
        read_references,
        write_rows,
    )
    from cidery.files.slices import find_slices

    parsing.check_plot(plot, by, results, references)
    if captions:
        parsing.check_output(captions, results, references, option="--captions")
        check_rows_file(captions)
    with progress(4, results, references) as step:
        step("reading captions")
        candidates = read_candidates(results, caption_field=caption_field, id_field=id_field)
        step("reading references")
        known = read_references(
            references,
            split=split,
            caption_field=reference_field,
            id_field=reference_id_field or id_field,
        )
        files = [(references, reference_id_field or id_field), (results, id_field)]
        named = None if by is None else find_slices(by, files, known)
        step("scoring")
        table = cidery.score(
            candidates,
            known,
            parsing.read_metrics(metric),
            preset=preset,
            tokenizer=tokenizer,
            language=language,
            segmenters=parsing.read_segmenters(segmenters),
            frequencies=frequencies,
            faithful=faithful,
            missing=missing,
            threads=threads,
            by=named,
            by_name=by,
            slices=slices,
            candidates_name=results,
            references_name=references,
        )
        step("resampling")
        shown = _Shown.draw(table, *drawing) if drawing else _Shown(table)
        if plot:
            from cidery.plots import plot_slices, save_figures

            figure = plot_slices(
                table, confidence=confidence or 0.95, seed=seed, resamples=resamples
            )
            save_figures(figure, plot)
    if captions:
        write_rows(captions, table.to_columns())
    shown.show(format, f"{results}: {table.image_count} images scored against {references}")


def _is_stream(wanted: bool | None, engine: str, results: str, references: str) -> bool:
    if wanted is not None:
        return wanted
    if engine != "local":
        return True
    from cidery.files.chunks import must_stream

    return must_stream(results, references)


def _refuse(given: Mapping[str, object]) -> None:
    for option, value in given.items():
        if value is not None:
            raise typer.BadParameter("a stream cannot do this; leave it out", param_hint=option)


def _score_stream(
    results: str,
    references: str,
    drawing: tuple[float, int, int] | None,
    format: str,
    **settings: Any,
) -> None:
    import cidery

    with goes_on(), progress(4, results, references) as step:
        step("reading captions")
        found = cidery.score_stream(results, references, **settings)
        shown = _Shown.draw(found.table, *drawing) if drawing else _Shown(found.table)
    images = f"{found.table.image_count:,} images"
    shown.show(format, f"{results}: {images} scored against {references}")


@dataclass(frozen=True)
class _Shown:
    """A table and the intervals that are shown with it."""

    table: ScoreTable
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    by_slice: Mapping[str, Mapping[str, Interval]] = field(default_factory=dict)

    @classmethod
    def draw(cls, table: ScoreTable, confidence: float, seed: int, resamples: int) -> _Shown:
        if table.slices is None:
            return cls(table, table.intervals(confidence, seed, resamples))
        found = table.slices.intervals(confidence, seed, resamples)
        return cls(table, found[table.slices.whole_name], found)

    def show(self, format: str, title: str) -> None:
        found = self.table
        if found.slices is None:
            table = found.table(intervals=self.intervals)
        else:
            table = found.slices.table(intervals=self.by_slice)
        content = found.to_dict(self.intervals, self.by_slice)
        show_result(table, format, title=title, content=content)
