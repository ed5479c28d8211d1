"""`cidery redteam`."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cidery.cli import options, parsing
from cidery.cli.progress_bar import progress
from cidery.cli.rendering import (
    show_result,
)
from cidery.tables import Column, Table

if TYPE_CHECKING:
    from cidery.rewards import RedTeam

app = parsing.new_app()
INTERRUPTED = 130
_TERM = re.compile(r"(?:(?P<weight>[+-]?[\d.]+(?:e[+-]?\d+)?)\s*\*\s*)?(?P<name>\S+)")


def read_mix(text: str) -> Any:
    """Return a reward: a metric, or a mix such as `cider-d + 0.5*bleu-4 - 0.1*chair-s`.

    Signs are surrounded by spaces, since names have hyphens.
    """
    pieces = re.split(r"\s+([+-])\s+", text.strip())
    terms: dict[Any, float] = {}
    for sign, piece in zip(["+", *pieces[1::2]], pieces[::2], strict=True):
        found = _TERM.fullmatch(piece.strip())
        try:
            weight = float(found["weight"] or 1) if found else None
        except ValueError:
            weight = None
        if found is None or weight is None:
            raise typer.BadParameter(
                f"{piece!r} in {text!r} is not a metric; a mix is written as "
                "'cider-d + 0.5*bleu-4', with spaces around + and -",
                param_hint="--reward",
            )
        metric = parsing.read_metric(found["name"])
        if metric in terms:
            raise typer.BadParameter(f"{text!r} names {found['name']} twice", param_hint="--reward")
        terms[metric] = -weight if sign == "-" else weight
    alone = len(terms) == 1 and next(iter(terms.values())) == 1
    return next(iter(terms)) if alone else terms


@app.command(
    epilog=parsing.examples(
        "cidery redteam references.json",
        "cidery redteam references.json -r cider-d -r cider-r -r 'cider-d + 0.5*bleu-4'",
        "cidery redteam references.json -r my_module:my_reward --attack free --attack repeated",
        "cidery redteam references.json --page redteam.html --plot redteam.pdf",
    )
)
@options.with_options(
    only=(
        "tokenizer",
        "language",
        "frequencies",
        "threads",
        "split",
        "reference_field",
        "id_field",
    ),
    frequencies=options.EnglishFrequencies,
)
def redteam(
    references: options.References,
    pipeline: options.PipelineOptions,
    inputs: options.InputOptions,
    reward: Annotated[
        list[str] | None,
        typer.Option(
            "--reward",
            "-r",
            help="A reward: a metric, a Python function as module:function, or a mix such as "
            "'cider-d + 0.5*bleu-4'; may be repeated. Default: cider-d and cider-r.",
            metavar="MIX",
            show_default=False,
            autocompletion=parsing.complete_metrics,
        ),
    ] = None,
    attack: Annotated[
        list[str] | None,
        typer.Option(
            help="Search: broken, repeated or scrambled (the best nonsense of that kind) or blind "
            "(one caption for all images, by reinforcement learning); may be repeated. free, the "
            "best captions of any kind, is always run. Default: all.",
            metavar="NAME",
            show_default=False,
        ),
    ] = None,
    images: Annotated[
        int,
        typer.Option(help="Number of attacked images, drawn at random.", metavar="COUNT", min=1),
    ] = 50,
    rounds: Annotated[
        int, typer.Option(help="Rounds of hill climbing.", metavar="COUNT", min=1)
    ] = 100,
    tries: Annotated[
        int, typer.Option(help="Changes of each caption per round.", metavar="COUNT", min=1)
    ] = 16,
    steps: Annotated[
        int, typer.Option(help="Steps of the blind policy.", metavar="COUNT", min=1)
    ] = 300,
    held_out: Annotated[
        str | None,
        typer.Option(
            help="Metric or mix that the search does not optimize. Default: cider-r, or cider-d "
            "where the reward contains cider-r.",
            metavar="MIX",
            show_default=False,
            autocompletion=parsing.complete_metrics,
        ),
    ] = None,
    page: Annotated[
        str | None,
        typer.Option(
            help="Also write an HTML page with the table and examples.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    plot: Annotated[
        str | None,
        typer.Option(
            help="Also draw hackability, as .pdf, .svg, .eps or .png.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    format: options.Format = "table",
    seed: options.Seed = 0,
) -> None:
    """Search for nonsense captions with a high reward.

    Ctrl-C ends the search and shows the result so far.
    """
    from cidery.plots.figures import check_figure_file
    from cidery.rewards.redteam import ATTACKS, red_team

    for file, option in ((page, "--page"), (plot, "--plot")):
        if file is not None:
            parsing.check_output(file, references, option=option)
    if plot is not None:
        check_figure_file(plot)
    mixes = {text: read_mix(text) for text in reward or ["cider-d", "cider-r"]}
    with progress((0.02, 0.98), references) as step:
        step("reading references")
        known = inputs.read_references(references)
        step("searching")
        found = red_team(
            known,
            mixes,
            attacks=attack or ATTACKS,
            images=images,
            rounds=rounds,
            tries=tries,
            steps=steps,
            held_out=None if held_out is None else read_mix(held_out),
            frequencies=pipeline.frequencies,
            tokenizer=pipeline.tokenizer,
            language=pipeline.language,
            seed=seed,
            threads=pipeline.threads,
        )
    notes = []
    if page is not None:
        found.write_page(page)
        notes.append(f"written: {page}")
    if plot is not None:
        from cidery.plots import plot_hackability, save_figures

        notes += [
            f"drawn: {file}" for file in save_figures(plot_hackability(found.to_records()), plot)
        ]
    table = found.table()
    if format == "table":
        table = replace(table, below=[_find_examples(found)])
    title = f"{references}: {len(found.images)} attacked images"
    show_result(table, format, title=title, notes=notes, content=found.to_dict())
    if found.interrupted:
        raise typer.Exit(INTERRUPTED)


def _find_examples(found: RedTeam) -> Table:
    """Return the caption of each attack with the highest reward above the human caption's."""
    rows = [
        (attack.reward, attack.name, *found.examples(attack, 1).cells[0][:2])
        for attack in found.attacks
    ]
    return Table.of(["reward", "attack", "caption found", Column("score", align="right")], rows)
