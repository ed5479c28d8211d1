"""`cidery compare`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cidery.cli import options, parsing
from cidery.cli.progress_bar import progress
from cidery.cli.rendering import resumable, show_result

if TYPE_CHECKING:
    from cidery.scoring.comparison import Comparison

app = parsing.new_app()


@app.command(
    epilog=parsing.examples(
        "cidery compare references.json ours.json theirs.json",
        "cidery compare references.json ours=run7/results.json theirs=base/results.json",
        "cidery compare references.json ours=seed1.json,seed2.json,seed3.json theirs.json",
        "cidery compare references.json a.json b.json c.json -m cider-d --pairs",
        "cidery compare references.json ours.json theirs.json -m cider-d --margin 0.01",
        "cidery compare references.json ours.json theirs.json --format latex",
        "cidery compare references.json a.json b.json c.json --baseline a --percent",
        "cidery compare nocaps_val.json ours.json theirs.json --by domain",
        "cidery compare references.json ours.json theirs.json -m cider-d --why",
        "cidery compare references.json ours.json theirs.json -m spice --engine ray --address auto",
        "cidery compare references.parquet 'ours=a/*.parquet' 'theirs=b/*.parquet' --stream",
    )
)
@options.with_options()
def compare(
    references: options.References,
    systems: Annotated[
        list[str],
        typer.Argument(
            help="Two or more files of captions, as FILE or NAME=FILE; several runs of a system as "
            "NAME=FILE,FILE.",
            metavar="SYSTEM...",
            show_default=False,
        ),
    ],
    pipeline: options.PipelineOptions,
    inputs: options.InputOptions,
    engine: options.EngineOptions,
    format: options.Format = "table",
    segmenters: options.Segmenters = None,
    plot: options.Plot = None,
    why: Annotated[
        bool,
        typer.Option(
            "--why",
            help="Also show the causes of the difference: n-grams (CIDEr), tuples (SPICE) or "
            "words, with intervals, and images. With --format csv, show only these.",
        ),
    ] = False,
    pairs: Annotated[
        bool,
        typer.Option(
            "--pairs",
            help="Show the differences of all pairs of three or more systems instead of rankings.",
        ),
    ] = False,
    baseline: Annotated[
        str | None,
        typer.Option(
            help="Show systems as rows, this one first, and the differences from it.",
            metavar="SYSTEM",
            show_default=False,
        ),
    ] = None,
    percent: options.Percent = None,
    digits: options.Digits = None,
    correct: Annotated[
        Literal["metric", "all"],
        typer.Option(
            help="Comparisons that Holm's method corrects together: those by one metric, or all."
        ),
    ] = "metric",
    margin: Annotated[
        float | None,
        typer.Option(
            help="Also test whether differences are within this margin (equivalence).",
            metavar="DIFFERENCE",
            show_default=False,
        ),
    ] = None,
    plan: Annotated[
        float | None,
        typer.Option(
            help="Show instead how many images or runs would show this difference with a power of "
            "80 %.",
            metavar="DIFFERENCE",
            show_default=False,
        ),
    ] = None,
    confidence: options.Confidence = 0.95,
    resamples: options.Resamples = options.RESAMPLES,
    seed: options.Seed = 0,
) -> None:
    """Compare systems on the same images by paired tests.

    Every pair of systems is compared by every metric and, with --by, in every slice. Three or more
    systems are ranked. Markdown and LaTeX have the table of a paper: systems as rows, metrics as
    columns, scores times 100.
    """
    import cidery

    files = parsing.name_systems(systems)
    if baseline is not None and baseline not in files:
        problem = f"{baseline!r} is not a system; there are {', '.join(files)}"
        raise typer.BadParameter(problem, param_hint="--baseline")
    if baseline is not None and pairs:
        raise typer.BadParameter("not supported with --pairs", param_hint="--baseline")
    sampling: dict[str, Any] = {
        "confidence": confidence,
        "resamples": resamples,
        "seed": seed,
        "correct": correct,
        "margin": margin,
    }
    if engine.stream:
        parsing.refuse_with_stream(
            {
                "--by": inputs.by,
                "--segmenters": segmenters,
                "--split": inputs.split,
                "--plot": plot,
                "--why": why or None,
                "--missing": inputs.missing if inputs.missing != "error" else None,
            }
        )
        comparison = _compare_streams(references, files, pipeline, inputs, engine, sampling)
    else:
        if engine.work:
            raise typer.BadParameter("only valid with --stream", param_hint="--work")
        parsing.check_plot(plot, inputs.by, references, *files.values())
        durations = [0.1 / (len(files) + 1)] * (len(files) + 1) + [0.9]
        with engine.run_metrics(), progress(durations, references, *files.values()) as step:
            read = inputs.read(step, references, files)
            step("scoring and resampling")
            comparison = cidery.compare(
                read.captions,
                read.references,
                pipeline.metrics,
                segmenters=parsing.read_segmenters(segmenters),
                why=why,
                references_name=references,
                **sampling,
                **inputs.describe(read),
                **pipeline.settings,
            )
            if plot:
                from cidery.plots import plot_slices, save_figures

                figure = plot_slices(
                    comparison.tables, confidence=confidence, seed=seed, resamples=resamples
                )
                save_figures(figure, plot)
    first = next(iter(comparison.tables.values()))
    title = f"{len(files)} systems, {first.image_count} images of {references}"
    if plan is not None:
        show_result(comparison.plan(plan), format, title=title)
        return
    for_paper = format in options.PRINT_FORMATS
    if percent is None:
        percent = for_paper
    if (for_paper or baseline is not None) and not pairs:
        table = comparison.paper_table(digits, percent=percent, baseline=baseline)
    else:
        table = comparison.table(digits, pairs=pairs or None, percent=percent)
    show_result(table, format, title=title, content=comparison.to_dict())


def _compare_streams(
    references: str,
    systems: Mapping[str, str],
    pipeline: options.PipelineOptions,
    inputs: options.InputOptions,
    engine: options.EngineOptions,
    sampling: Mapping[str, Any],
) -> Comparison:
    """Score each system and run as a stream, then compare the scores."""
    import cidery

    runs = {name: parsing.split_runs(file) for name, file in systems.items()}
    files = [file for listed in runs.values() for file in listed]
    found: dict[str, list[Any]] = {name: [] for name in runs}
    with resumable(), progress(len(files) + 1, references, *files) as step:
        for name, listed in runs.items():
            for file in listed:
                step(f"scoring {file}")
                stream = engine.score(file, references, pipeline, inputs)
                found[name].append(stream.table)
        step("resampling")
        return cidery.compare_scores(found, **sampling)
