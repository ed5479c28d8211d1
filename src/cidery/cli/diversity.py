"""`cidery diversity`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cidery.cli import parsing
from cidery.cli.progress import progress
from cidery.cli.rendering import (
    show_csv,
    show_json,
    show_notes,
    show_signatures,
    show_table,
    show_title,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from cidery.scoring.tables import ScoreTable

app = parsing.new_app()

MAPPED = 10
"""Images on the map of captions, as in the paper."""


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
def diversity(
    results: Annotated[
        str,
        typer.Argument(
            help="File with several captions per image; - is standard input.",
            metavar="RESULTS",
            show_default=False,
        ),
    ],
    references: Annotated[
        str | None,
        typer.Option(
            help="File of reference captions: adds accuracy, F, and humans beside the systems.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    system: Annotated[
        list[str] | None,
        typer.Option(
            help="Another system to set beside RESULTS; may be repeated.",
            metavar="NAME=FILE",
            show_default=False,
        ),
    ] = None,
    plot: Annotated[
        str | None,
        typer.Option(
            help="Draw into this .pdf, or into NAME-….svg, .eps or .png files.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            "--measure",
            "-m",
            help="self-cider, lsa, mbleu, distinct, unique, novel or vocabulary; may be repeated. "
            "Default: all.",
            metavar="NAME",
            show_default=False,
            autocompletion=_complete_measures,
        ),
    ] = None,
    kernel: Annotated[
        Literal["cider", "cider-d", "cider-r"], typer.Option(help="Of Self-CIDEr.")
    ] = "cider",
    accuracy: Annotated[str, typer.Option(help="The metric of accuracy.", metavar="NAME")] = (
        "cider-d"
    ),
    beta_squared: Annotated[
        float, typer.Option(help="Of F; above 1 it weighs accuracy more.", metavar="NUMBER")
    ] = 5.0,
    training: Annotated[
        str | None,
        typer.Option(
            help="File of captions that the systems were trained on: adds novel.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    stop_words: Annotated[
        str | None,
        typer.Option(
            help="Leave the stop words of this language (english) out of lsa.",
            metavar="LANGUAGE",
            show_default=False,
        ),
    ] = None,
    format: parsing.Format = "table",
    images: Annotated[
        str | None,
        typer.Option(
            help="Also write RESULTS' values per image to this .csv, .jsonl or .parquet file.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    tokenizer: parsing.Tokenizer = "ptb",
    frequencies: parsing.Frequencies = "coco-train2014",
    missing: parsing.Missing = "error",
    split: parsing.Split = None,
    threads: parsing.Threads = 0,
) -> None:
    """Measure how varied an image's captions are, and how accurate."""
    import cidery
    from cidery.captions.formats import read_candidates, read_references, write_rows
    from cidery.diversity import match_references
    from cidery.errors import InputError

    files = _name_systems(results, system or [])
    settings: dict[str, Any] = {
        "kernel": kernel,
        "accuracy": parsing.read_metric(accuracy),
        "beta_squared": beta_squared,
        "stop_words": stop_words,
        "tokenizer": tokenizer,
        "frequencies": frequencies,
        "missing": missing,
        "threads": threads,
    }
    notes = []
    with progress(2 * len(files) + 3, *files.values()) as step:
        sets: dict[str, Any] = {}
        for name, file in files.items():
            step(f"reading {name}")
            sets[name] = read_candidates(file)
        step("reading references")
        known = read_references(references, split=split) if references else None
        seen = read_references(training) if training else None
        tables: dict[str, ScoreTable] = {}
        for name, rows in sets.items():
            step(f"measuring {name}")
            tables[name] = cidery.measure_diversity(
                rows, measure, references=known, training=seen, **settings
            )
        if known is not None:
            step("measuring humans")
            try:
                humans = match_references(next(iter(sets.values())), known, missing)
                tables["humans"] = cidery.measure_diversity(
                    humans, measure, references="leave-one-out", training=seen, **settings
                )
            except InputError as error:
                notes.append(f"humans are left out: {error}")
            else:
                sets["humans"] = humans
        step("drawing")
        if plot is not None:
            notes.append(f"drawn: {_draw(plot, tables, sets, known, settings)}")
    if images:
        write_rows(images, next(iter(tables.values())).to_columns())
    _show(results, tables, notes, format)


def _name_systems(results: str, others: list[str]) -> dict[str, str]:
    """Return files by name; RESULTS is called what its file is called."""
    files = {Path(results).name.partition(".")[0]: results}
    for item in others:
        name, equals, file = item.partition("=")
        if not (name and equals and file):
            raise typer.BadParameter(f"expected NAME=FILE, not {item!r}", param_hint="--system")
        if name in files or name == "humans":
            raise typer.BadParameter(f"{name!r} is taken", param_hint="--system")
        files[name] = file
    return files


def _draw(
    plot: str,
    tables: dict[str, ScoreTable],
    sets: dict[str, Any],
    references: Any,
    settings: dict[str, Any],
) -> str:
    """Draw what there are data for, and say into which files."""
    from cidery.diversity import (
        count_words,
        diversity_by_count,
        group_rows,
        latent_semantics,
        map_captions,
    )
    from cidery.frequencies import DocumentFrequencies
    from cidery.plots import diversity as plots

    groups: dict[str, dict[Any, list[str]]] = {}
    for name, rows in sets.items():
        found = group_rows(rows) if isinstance(rows, list) else rows
        groups[name] = {image: found[image] for image in tables[name].ids}
    first = next(iter(groups.values()))
    tokenizer = settings["tokenizer"]
    shared = {"tokenizer": tokenizer, "frequencies": settings["frequencies"]}
    if shared["frequencies"] == "references":
        shared["frequencies"] = DocumentFrequencies.from_references(references, tokenizer=tokenizer)
    figures: dict[str, Figure] = {}
    ready = references is not None and all("self-cider" in t.corpus for t in tables.values())
    if ready:
        curves = {
            name: diversity_by_count(
                rows, references, **{k: v for k, v in settings.items() if k != "stop_words"}
            )
            for name, rows in sets.items()
            if name != "humans"
        }
        figures["tradeoff"] = plots.plot_tradeoff(tables)
        figures["f"] = plots.plot_f_scores(tables)
        figures["counts"] = plots.plot_counts(curves)
    figures["words"] = plots.plot_word_frequencies(
        {name: count_words(rows, tokenizer=tokenizer) for name, rows in groups.items()}
    )
    figures["radar"] = plots.plot_radar(
        {
            name: latent_semantics(captions, settings["kernel"], **shared)
            for name, rows in groups.items()
            for captions in list(rows.values())[:1]
        }
    )
    mapped = dict(list(first.items())[:MAPPED])
    figures["map"] = plots.plot_map(map_captions(mapped, settings["kernel"], **shared))
    return ", ".join(map(str, plots.save_figures(figures, plot)))


def _show(results: str, tables: dict[str, ScoreTable], notes: list[str], format: str) -> None:
    first = next(iter(tables.values()))
    header = ["measure", *tables]
    lines = [
        [measure, *(_spell(measure, table.corpus[measure]) for table in tables.values())]
        for measure in first.corpus
    ]
    if format == "json":
        others = {
            name: {"images": table.image_count, "scores": dict(table.corpus)}
            for name, table in list(tables.items())[1:]
        }
        show_json(first.to_dict() | ({"systems": others} if others else {}))
    elif format == "csv":
        show_csv(
            [
                {"measure": measure} | {name: t.corpus[measure] for name, t in tables.items()}
                for measure in first.corpus
            ]
        )
    elif format == "markdown":
        from cidery.scoring.tables import markdown_table

        typer.echo(markdown_table(header, lines))
    elif format == "latex":
        from cidery.scoring.tables import latex_table

        typer.echo(latex_table(header, lines))
    else:
        show_title(f"{results}: {first.image_count} images")
        show_table(header, lines)
        if notes:
            show_notes(*notes)
        show_signatures(first.signatures.values())


def _spell(measure: str, value: float) -> str:
    return f"{value:.0f}" if measure == "vocabulary" else f"{value:.4f}"
