"""`cidery study`: create, manage and export human studies."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cidery.cli import (
    TableOrJson,
    examples,
    new_app,
    on_terminal,
    show_json,
    show_notes,
    show_pairs,
    show_table,
    show_title,
)
from cidery.tables import Column, Table, show_controls
from cidery_server.commands.installation import Data, Database, make_installation, open_installation

if TYPE_CHECKING:
    from cidery.statistics import Interval

app = new_app(no_args_is_help=True)

Name = Annotated[
    str,
    typer.Argument(
        help="Name of the study, as in its address.", metavar="NAME", show_default=False
    ),
]


@app.callback(
    epilog=examples(
        "cidery study create study.json",
        "cidery study invite which-is-closer --personal 20",
        "cidery study status which-is-closer",
        "cidery study export which-is-closer -o judgments.jsonl",
    )
)
def study() -> None:
    """Create, manage and export human studies.

    `cidery serve` shows them to judges.
    """


@app.command(
    epilog=examples(
        "cidery study create study.json",
        "cidery study create study.json --database postgresql://cidery@db/cidery",
    )
)
def create(
    file: Annotated[
        str,
        typer.Argument(
            help="JSON file that describes the study.", metavar="FILE", show_default=False
        ),
    ],
    data: Data = None,
    database: Database = None,
) -> None:
    """Create a study from a JSON file."""
    address = make_installation(data, database).address
    from cidery_server.studies.creation import create_study
    from cidery_server.studies.definition import read_definition

    made = create_study(read_definition(file))
    typer.echo(
        f"{made.name}: {made.item_count} items, {made.judges_each} judges per item, "
        f"{made.check_count} attention checks; {address}/studies/{made.name}"
    )


@app.command("list", epilog=examples("cidery study list --data /srv/cidery"))
def list_studies(
    format: TableOrJson = "table", data: Data = None, database: Database = None
) -> None:
    """List the studies."""
    open_installation(data, database)
    from cidery_server.studies.summaries import summarize_all

    found = summarize_all()
    if format == "json":
        show_json([one.to_dict() for one in found])
    elif not found:
        typer.echo("no studies; create one with: cidery study create FILE")
    else:
        columns = [
            *map(Column, ("study", "design", "state", "items", "judges per item")),
            Column("answered", align="right"),
        ]
        rows = [(s.name, s.design, s.state, s.items, s.judges_each, s.progress) for s in found]
        show_table(Table.of(columns, rows))


@app.command(epilog=examples("cidery study status which-is-closer --format json"))
def status(
    name: Name,
    format: TableOrJson = "table",
    data: Data = None,
    database: Database = None,
) -> None:
    """Show a study's progress, agreement and judges.

    Also shows times and attention checks.
    """
    open_installation(data, database)
    from cidery_server.studies.summaries import find_study, summarize

    found = summarize(find_study(name))
    if format == "json":
        show_json(found.to_dict())
        return
    show_title(f"{found.name}: {found.title}")
    facts = {
        "state": found.state,
        "answered": found.progress,
        "Krippendorff's alpha": _show(found.alpha),
        "Fleiss' kappa": _show(found.kappa),
        "median time": "–" if found.median_seconds is None else f"{found.median_seconds:.1f} s",
        "attention checks right": f"{found.checks_right} of {found.checks}",
    }
    for one in found.agreement:
        facts[f"alpha, {one.question}"] = _show(one.alpha)
    show_pairs(facts)
    if found.judges:
        checks = Column("checks right", align="right")
        rows = [
            (
                one.worker,
                one.answers,
                f"{one.checks_right} of {one.checks}",
                ", ".join(one.codes),
                "no" if one.excluded else "yes",
            )
            for one in found.judges
        ]
        show_table(Table.of(["judge", "answers", checks, "codes", "counts"], rows))


def _show(interval: Interval | None) -> str:
    return "–" if interval is None else str(interval)


@app.command(
    epilog=examples(
        "cidery study results which-is-closer",
        "cidery study results which-is-closer --metric rouge-l --format json",
    )
)
def results(
    name: Name,
    metric: Annotated[
        str,
        typer.Option(
            help="Metric whose scores refine the estimates, if there are references.",
            metavar="NAME",
        ),
    ] = "cider-d",
    format: TableOrJson = "table",
    data: Data = None,
    database: Database = None,
) -> None:
    """Compare systems by their answers so far.

    Shows estimates, intervals, p-values and the number of answers still needed.
    """
    open_installation(data, database)
    from cidery_server.studies.summaries import find_study
    from cidery_server.studies.system_results import rank_systems

    found = rank_systems(find_study(name), metric)
    if format == "json":
        show_json(
            {
                "study": name,
                "problem": found.problem,
                "standings": [one.to_dict() for one in found.standings],
            }
        )
        return
    for standings in found.standings:
        show_table(standings.table())
        for sentence in standings.verdict():
            typer.echo(sentence)
    if found.problem:
        show_notes(found.problem)


@app.command("open", epilog=examples("cidery study open which-is-closer"))
def open_study(name: Name, data: Data = None, database: Database = None) -> None:
    """Open a study: judges receive items."""
    _set_state(name, "open", data, database)


@app.command(epilog=examples("cidery study close which-is-closer"))
def close(name: Name, data: Data = None, database: Database = None) -> None:
    """Close a study: judges receive no more items."""
    _set_state(name, "closed", data, database)


def _set_state(
    name: str, state: Literal["open", "closed"], data: Path | None, database: str | None
) -> None:
    open_installation(data, database)
    from cidery_server.studies.models import Study
    from cidery_server.studies.moderation import set_state
    from cidery_server.studies.summaries import find_study

    set_state(find_study(name), Study.State(state))
    typer.echo(f"{name} is {state}")


@app.command(epilog=examples("cidery study copy which-is-closer which-is-closer-2"))
def copy(
    name: Name,
    new: Annotated[str, typer.Argument(help="Name of the copy.", metavar="NEW")],
    title: Annotated[
        str,
        typer.Option(help="Title of the copy. Default: the title of the study.", metavar="TEXT"),
    ] = "",
    data: Data = None,
    database: Database = None,
) -> None:
    """Copy the questions and items of a study, not its answers."""
    open_installation(data, database)
    from cidery_server.studies.creation import check_fields
    from cidery_server.studies.lifecycle import copy_study
    from cidery_server.studies.summaries import find_study

    found = find_study(name)
    check_fields(new, title or found.title, found.design, found.judges_each)
    made = copy_study(found, new, title or found.title)
    typer.echo(f"{made.name}: {made.item_count} items, {made.judges_each} judges per item")


@app.command(epilog=examples("cidery study erase which-is-closer --yes"))
def erase(
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    data: Data = None,
    database: Database = None,
) -> None:
    """Permanently delete a study with all its answers."""
    open_installation(data, database)
    from cidery_server.studies.lifecycle import erase_study
    from cidery_server.studies.summaries import find_study

    found = find_study(name)
    if not yes:
        typer.confirm(f"Permanently erase {name} with all its answers?", abort=True)
    erase_study(found)
    typer.echo(f"{name} is erased")


@app.command(epilog=examples("cidery study forget which-is-closer W123 --yes"))
def forget(
    name: Name,
    worker: Annotated[str, typer.Argument(help="Id of the judge, as in exports.", metavar="JUDGE")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    data: Data = None,
    database: Database = None,
) -> None:
    """Permanently delete the data of a judge.

    Items of the judge are given to other judges.
    """
    open_installation(data, database)
    from cidery_server.studies.summaries import find_study
    from cidery_server.studies.withdrawal import find_judge, forget_judge

    judge = find_judge(find_study(name), worker)
    if not yes:
        typer.confirm(f"Permanently erase all answers of {worker} in {name}?", abort=True)
    forget_judge(judge.pk)
    typer.echo(f"{worker} is erased from {name}")


@app.command(
    epilog=examples(
        "cidery study export which-is-closer -o judgments.jsonl",
        "cidery study export sentences --format coco -o annotations.json",
    )
)
def export(
    name: Name,
    format: Annotated[
        Literal["jsonl", "csv", "answers", "results", "codes", "consents", "coco"],
        typer.Option(
            "--format",
            "-f",
            help="jsonl, csv: judgments; answers, results (by system), codes (visits with "
            "completion codes), consents: tables as CSV; coco: collected sentences.",
        ),
    ] = "jsonl",
    output: Annotated[
        str,
        typer.Option("--output", "-o", help="File to write; - is standard output.", metavar="FILE"),
    ] = "-",
    data: Data = None,
    database: Database = None,
) -> None:
    """Write the answers of a study to a file.

    `cidery meta judgments` reads the format.
    """
    open_installation(data, database)
    from cidery_server.studies.exports import export_study
    from cidery_server.studies.summaries import find_study

    text = export_study(find_study(name), format)
    if output == "-":
        sys.stdout.write(show_controls(text) if on_terminal() else text)
    else:
        Path(output).write_text(text, encoding="utf-8", newline="")


@app.command(epilog=examples("cidery study references which-is-better references.json"))
def references(
    name: Name,
    file: Annotated[
        Path,
        typer.Argument(help="References, in any format that cidery reads.", metavar="FILE"),
    ],
    data: Data = None,
    database: Database = None,
) -> None:
    """Add references to a study.

    With references, its answers can evaluate metrics.
    """
    open_installation(data, database)
    from cidery_server.studies.creation import add_references
    from cidery_server.studies.summaries import find_study

    count = add_references(find_study(name), file)
    typer.echo(f"{name}: {count} images have references now")


@app.command(
    "import",
    epilog=examples("cidery study import judgments.jsonl --name old-study"),
)
def import_judgments(
    file: Annotated[
        str,
        typer.Argument(help="Judgments, as JSON lines or CSV.", metavar="FILE", show_default=False),
    ],
    name: Annotated[str, typer.Option(help="Name of the new study.", metavar="NAME")],
    title: Annotated[
        str, typer.Option(help="Title of the new study. Default: its name.", metavar="TEXT")
    ] = "",
    data: Data = None,
    database: Database = None,
) -> None:
    """Create a closed study from existing judgments."""
    make_installation(data, database)
    from cidery_server.studies.creation import import_study

    made = import_study(file, name, title)
    typer.echo(f"{made.name}: {made.item_count} items, up to {made.judges_each} answers each")


@app.command(
    epilog=examples(
        "cidery study invite which-is-closer --for prolific",
        "cidery study invite which-is-closer --for student --personal 20",
    )
)
def invite(
    name: Name,
    whom: Annotated[
        str,
        typer.Option(
            "--for",
            help="Label for this group of judges; only visible to the owner.",
            metavar="TEXT",
        ),
    ] = "judges",
    personal: Annotated[
        int,
        typer.Option(
            help="Number of personal links, one per judge. 0: one link for a crowdsourcing site.",
            metavar="COUNT",
            min=0,
            max=200,
        ),
    ] = 0,
    url: Annotated[
        str | None, typer.Option(help="Public address of the app.", metavar="URL")
    ] = None,
    data: Data = None,
    database: Database = None,
) -> None:
    """Create links that invite judges.

    The links are printed once and cannot be shown again.
    """
    address = open_installation(data, database, url=url).address
    from cidery_server.studies.invites import make_links
    from cidery_server.studies.summaries import find_study

    for link in make_links(find_study(name), whom, personal=personal):
        typer.echo(f"{address}{link}")
    if not personal:
        show_notes("the crowdsourcing site must add ids to the link: ?worker=…&assignment=…")
