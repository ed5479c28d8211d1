"""`cidery score`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cidery.cli import options, parsing
from cidery.cli.progress_bar import progress
from cidery.cli.rendering import resumable, show_result

if TYPE_CHECKING:
    from cidery.scoring.score_table import ScoreTable
    from cidery.statistics import Interval

app = parsing.new_app()

DURATIONS = (0.05, 0.05, 0.8, 0.1)
"""Relative durations of reading references and captions, scoring and resampling."""


@app.command(
    epilog=parsing.examples(
        "cidery score results.json references.json",
        "cidery score results.json references.json -m cider-d -m bleu --format json",
        "cidery score results.json references.json --preset coco --format latex",
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
@options.with_options()
def score(
    results: Annotated[
        str,
        typer.Argument(
            help="File of the captions to score; - is standard input.",
            metavar="RESULTS",
            show_default=False,
        ),
    ],
    references: options.References,
    pipeline: options.PipelineOptions,
    inputs: options.InputOptions,
    engine: options.EngineOptions,
    format: options.Format = "table",
    captions: Annotated[
        str | None,
        typer.Option(
            help="Also write every caption's scores to this .csv, .jsonl or .parquet file; with "
            "--stream, to Parquet files in this folder.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    segmenters: options.Segmenters = None,
    plot: options.Plot = None,
    confidence: Annotated[
        float | None,
        typer.Option(
            help="Show bootstrap intervals of this confidence, between 0 and 1. Default: 0.95 for "
            "tables, no intervals for other formats.",
            metavar="SHARE",
            show_default=False,
            callback=parsing.check_confidence,
        ),
    ] = None,
    no_intervals: Annotated[
        bool, typer.Option("--no-intervals", help="Show no intervals.")
    ] = False,
    resamples: options.Resamples = options.RESAMPLES,
    seed: options.Seed = 0,
    percent: options.Percent = None,
    digits: options.Digits = None,
) -> None:
    """Score captions against reference captions.

    Markdown and LaTeX of a --preset have the row of a paper's table: a column for each metric,
    scores times 100.
    """
    layout = _Layout.choose(format, results, pipeline.preset, percent, digits)
    if confidence is None and format == "table":
        confidence = 0.95
    if no_intervals:
        confidence = None
    sampling = None if confidence is None else (confidence, seed, resamples)
    if engine.is_stream(results, references):
        separate = "separate" if inputs.slices == "separate" else None
        parsing.refuse_with_stream(
            {
                "--by": inputs.by,
                "--segmenters": segmenters,
                "--split": inputs.split,
                "--plot": plot,
                "--slices": separate,
                "--strict": inputs.strict or None,
                "--clean": inputs.clean,
            }
        )
        _score_stream(results, references, pipeline, inputs, engine, captions, sampling, layout)
        return
    engine.refuse()
    import cidery
    from cidery.files import check_rows_file, write_rows

    parsing.check_plot(plot, inputs.by, results, references)
    if captions:
        parsing.check_output(captions, results, references, option="--captions")
        check_rows_file(captions)
    with progress(DURATIONS, results, references) as step:
        read = inputs.read(step, references, {results: results})
        step("scoring")
        table = cidery.score(
            read.captions[results],
            read.references,
            pipeline.metrics,
            segmenters=parsing.read_segmenters(segmenters),
            candidates_name=results,
            references_name=references,
            **inputs.describe(read),
            **pipeline.settings,
        )
        step("resampling")
        shown = _Shown.draw(table, *sampling) if sampling else _Shown(table)
        if plot:
            from cidery.plots import plot_slices, save_figures

            figure = plot_slices(
                table, confidence=confidence or 0.95, seed=seed, resamples=resamples
            )
            save_figures(figure, plot)
    if captions:
        write_rows(captions, table.to_columns())
    images = parsing.count_captions(table.image_count, len(table.ids))
    shown.show(layout, f"{results}: {images} scored against {references}")


def _score_stream(
    results: str,
    references: str,
    pipeline: options.PipelineOptions,
    inputs: options.InputOptions,
    engine: options.EngineOptions,
    captions: str | None,
    sampling: tuple[float, int, int] | None,
    layout: _Layout,
) -> None:
    with resumable(), progress(4, results, references) as step:
        step("reading captions")
        found = engine.score(results, references, pipeline, inputs, captions)
        shown = _Shown.draw(found.table, *sampling) if sampling else _Shown(found.table)
    images = f"{found.table.image_count:,} images"
    shown.show(layout, f"{results}: {images} scored against {references}")


@dataclass(frozen=True)
class _Layout:
    """Format and layout of the output."""

    format: str
    name: str
    """Name of the system."""
    for_paper: bool
    """A row with a column for each metric."""
    percent: bool
    digits: int | None

    @classmethod
    def choose(
        cls, format: str, results: str, preset: str | None, percent: bool | None, digits: int | None
    ) -> _Layout:
        for_paper = preset is not None and format in options.PRINT_FORMATS
        name = Path(results).name.partition(".")[0]
        return cls(format, name, for_paper, for_paper if percent is None else percent, digits)


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

    def show(self, layout: _Layout, title: str) -> None:
        found, digits, percent = self.table, layout.digits, layout.percent
        if found.slices is not None:
            table = found.slices.table(digits, self.by_slice, percent=percent)
        elif layout.for_paper and found.by_segmenter is None:
            table = found.paper_table(layout.name, digits, self.intervals, percent=percent)
        else:
            table = found.table(digits, self.intervals, percent=percent)
        content = found.to_dict(self.intervals, self.by_slice)
        show_result(table, layout.format, title=title, content=content)
