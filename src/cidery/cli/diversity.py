"""`cidery diversity`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cidery.cli import options, parsing
from cidery.cli.progress_bar import progress
from cidery.cli.rendering import (
    show_result,
)

if TYPE_CHECKING:
    from cidery.diversity import DiversityComparison

app = parsing.new_app()


def _complete_measures(incomplete: str) -> list[str]:
    from cidery.diversity.measures import FAMILIES, MEASURES

    return [name for name in (*FAMILIES, *MEASURES) if name.startswith(incomplete)]


@app.command(
    epilog=parsing.examples(
        "cidery diversity samples.json",
        "cidery diversity samples.json --references references.json --plot diversity.pdf",
        "cidery diversity ours.json --system theirs=theirs.json --references references.json",
        "cidery diversity samples.json -m self-cider --kernel cider-d --format json",
    )
)
@options.with_options(
    without=("metric", "preset", "faithful", "by", "slices", "strict", "clean", "stream", "work"),
    frequencies=options.EnglishFrequencies,
)
def diversity(
    results: Annotated[
        str,
        typer.Argument(
            help="File with several captions per image; - is standard input.",
            metavar="RESULTS",
            show_default=False,
        ),
    ],
    pipeline: options.PipelineOptions,
    inputs: options.InputOptions,
    engine: options.EngineOptions,
    references: Annotated[
        str | None,
        typer.Option(
            help="File of reference captions. Adds accuracy and F, and measures the references "
            "as a system called humans.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    system: Annotated[
        list[str] | None,
        typer.Option(
            help="Another system to compare with RESULTS; may be repeated.",
            metavar="NAME=FILE",
            show_default=False,
        ),
    ] = None,
    plot: Annotated[
        str | None,
        typer.Option(
            help="Draw figures: the pages of a .pdf file, or one .svg, .eps or .png file each, "
            "such as FILE-words.png.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            "--measure",
            "-m",
            help="Measure: self-cider, lsa, mbleu, distinct, unique, novel or vocabulary, or "
            "name:setting=value,… such as self-cider:kernel=minilm; may be repeated. Default: all.",
            metavar="NAME",
            show_default=False,
            autocompletion=_complete_measures,
        ),
    ] = None,
    kernel: Annotated[
        str,
        typer.Option(
            help="Similarity of captions in Self-CIDEr: cider, cider-d, cider-r, a language model "
            "(minilm, mpnet or its folder), or a Python function from captions to a matrix as "
            "module:function.",
            metavar="NAME",
        ),
    ] = "cider",
    accuracy: Annotated[
        str,
        typer.Option(help="Metric of accuracy, with --references.", metavar="NAME"),
    ] = "cider-d",
    beta_squared: Annotated[
        float,
        typer.Option(
            help="β² of the F measure; above 1, accuracy has more weight than diversity.",
            metavar="NUMBER",
        ),
    ] = 5.0,
    training: Annotated[
        str | None,
        typer.Option(
            help="File of the training captions. Adds novel: the share of captions that are not "
            "among them.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    stop_words: Annotated[
        str | None,
        typer.Option(
            help="Ignore the stop words of this language in lsa, such as english or german.",
            metavar="LANGUAGE",
            show_default=False,
        ),
    ] = None,
    format: options.Format = "table",
    images: Annotated[
        str | None,
        typer.Option(
            help="Also write the values of each image of RESULTS to this .csv, .jsonl or .parquet "
            "file.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Measure the diversity and accuracy of sets of captions."""
    from cidery.diversity import compare_diversity
    from cidery.files import check_rows_file, read_references, write_rows

    files = _name_systems(results, system or [])
    if images:
        read = (*files.values(), *filter(None, (references, training)))
        parsing.check_output(images, *read, option="--images")
        check_rows_file(images)
    notes = []
    with engine.run_metrics(), progress(2 * len(files) + 4, *files.values()) as step:
        sets = {}
        for name, file in files.items():
            step(f"reading {name}")
            sets[name] = inputs.read_captions(file)
        step("reading references")
        known = inputs.read_references(references) if references else None
        seen = None
        if training:
            ids = inputs.reference_id_field or inputs.id_field
            seen = read_references(training, caption_field=inputs.reference_field, id_field=ids)
        comparison = compare_diversity(
            sets,
            measure,
            references=known,
            training=seen,
            details=plot is not None,
            progress=step,
            kernel=parsing.read_metric(kernel),
            accuracy=parsing.read_metric(accuracy),
            beta_squared=beta_squared,
            stop_words=stop_words,
            missing=inputs.missing,
            **pipeline.settings,
        )
        if plot is not None:
            step("drawing")
            notes.append(f"drawn: {_draw(comparison, plot)}")
    if images:
        write_rows(images, comparison.first.to_columns())
    title = f"{results}: {comparison.first.image_count} images"
    show_result(comparison, format, title=title, notes=notes)


def _name_systems(results: str, others: list[str]) -> dict[str, str]:
    """Return files by name; RESULTS gets the name of its file without the suffix."""
    files = {Path(results).name.partition(".")[0]: results}
    for item in others:
        name, equals, file = item.partition("=")
        if not (name and equals and file):
            raise typer.BadParameter(f"expected NAME=FILE, not {item!r}", param_hint="--system")
        if name in files or name == "humans":
            raise typer.BadParameter(
                f"the name {name!r} is taken; choose another", param_hint="--system"
            )
        files[name] = file
    return files


def _draw(comparison: DiversityComparison, plot: str) -> str:
    """Draw all available figures, and return the names of the files."""
    from cidery.plots import plot_diversity, save_figures

    return ", ".join(map(str, save_figures(plot_diversity(comparison), plot)))
