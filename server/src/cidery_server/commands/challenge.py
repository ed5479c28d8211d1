"""`cidery challenge`: create and manage challenges."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import typer

from cidery.cli import examples, new_app, show_json, show_table
from cidery.tables import Table, show_controls
from cidery_server.commands.installation import Data, Database, make_installation, open_installation

app = new_app(
    no_args_is_help=True,
    epilog=examples(
        "cidery challenge create challenge.json",
        "cidery challenge list",
        "cidery challenge export captions-2026 --format csv",
    ),
)
Slug: TypeAlias = Annotated[
    str, typer.Argument(help="Short name of the challenge.", metavar="SLUG")
]


@app.callback()
def _top() -> None:
    """Create and manage challenges.

    `cidery serve` shows them to teams.
    """


@app.command(epilog=examples("cidery challenge create challenge.json --data /srv/cidery"))
def create(
    file: Annotated[
        Path, typer.Argument(help="JSON or TOML file; paths in it are relative to it.")
    ],
    data: Data = None,
    database: Database = None,
) -> None:
    """Create a challenge from a file.

    The file has slug, title, metrics and references ({"c5": "c5.json"}), and may have description,
    frequencies, opens, closes, per_day, in_all, visibility, entry, leaderboard_open, scores_hidden,
    exact_scores, probes_shown, image_scores_open, slices (a file, FILE:COLUMN, a field of the
    references, length), and phases, a list of tables with the fields that differ in each.
    """
    make_installation(data, database)
    from cidery_server.challenges.creation import create_from_file

    for challenge in create_from_file(file):
        typer.echo(f"created {challenge.slug}: {len(challenge.images)} images")


@app.command("add-phase", epilog=examples("cidery challenge add-phase captions-2026 test.json"))
def add_phase(
    slug: Slug,
    file: Annotated[
        Path, typer.Argument(help="JSON or TOML file; paths in it are relative to it.")
    ],
    data: Data = None,
    database: Database = None,
) -> None:
    """Add a phase to a challenge.

    A phase has other references, dates and limits, and the same teams. The file has phase (its
    name) and references. It may have the other fields of a challenge except slug, title, entry and
    probes_shown.
    """
    open_installation(data, database)
    from cidery_server.challenges.creation import add_phase_from_file
    from cidery_server.challenges.management import find_challenge

    phase = add_phase_from_file(find_challenge(slug), file)
    typer.echo(f"created {phase.slug}: {len(phase.images)} images")
    for other in phase.sharing.order_by("pk"):
        typer.echo(f"shares references with {other.slug}: their submissions count together")


@app.command(
    "import",
    epilog=examples(
        "cidery challenge import my-challenge --dry-run",
        "cidery challenge import my-challenge --slug captions-2026",
    ),
)
def import_(
    folder: Annotated[
        Path, typer.Argument(help="EvalAI folder, with challenge_config.yaml.", metavar="FOLDER")
    ],
    slug: Annotated[
        str, typer.Option(help="Short name of the challenge. Default: derived from its title.")
    ] = "",
    metrics: Annotated[
        str, typer.Option(help="Names of metrics. Default: those of the leaderboard.")
    ] = "",
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Only list what would be created, and what is not supported."
        ),
    ] = False,
    data: Data = None,
    database: Database = None,
) -> None:
    """Create a challenge from an EvalAI folder.

    Settings that are not supported are listed.
    """
    from cidery_server.challenges.evalai import read_evalai

    found = read_evalai(folder, slug, metrics.replace(",", " ").split())
    for note in found.notes:
        typer.echo(show_controls(note))
    if dry_run:
        for one in found.definitions:
            images = len(next(iter(one.reference_sets.values())))
            name = f", phase {one.fields['phase']}" if "phase" in one.fields else ""
            typer.echo(f"would create {one.fields['slug']}{name}: {images} images")
        return
    make_installation(data, database)
    from cidery_server.challenges.creation import create_from_definitions

    for challenge in create_from_definitions(found.definitions, str(folder)):
        typer.echo(f"created {challenge.slug}: {len(challenge.images)} images")


@app.command("list", epilog=examples("cidery challenge list --data /srv/cidery"))
def list_(data: Data = None, database: Database = None) -> None:
    """List all challenges."""
    open_installation(data, database)
    from cidery_server.challenges.management import list_challenges

    header = ("slug", "title", "open", "visibility", "teams", "submissions")
    show_table(Table.of(header, list_challenges()))


@app.command(epilog=examples("cidery challenge close captions-2026"))
def close(slug: Slug, data: Data = None, database: Database = None) -> None:
    """Close a challenge: accept no more submissions."""
    open_installation(data, database)
    from cidery_server.challenges.management import close_challenge, find_challenge

    close_challenge(find_challenge(slug))
    typer.echo(f"closed {slug}")


@app.command(epilog=examples("cidery challenge teams captions-2026"))
def teams(slug: Slug, data: Data = None, database: Database = None) -> None:
    """List the teams of a challenge.

    Teams that wait for approval are included.
    """
    open_installation(data, database)
    from cidery_server.challenges.management import find_challenge, list_teams

    columns = ("team", "state", "submissions")
    show_table(Table.of(columns, list_teams(find_challenge(slug))))


@app.command(epilog=examples('cidery challenge approve captions-2026 "Cider makers"'))
def approve(
    slug: Slug,
    team: Annotated[str, typer.Argument(help="Name of the team.", metavar="TEAM")],
    refuse: Annotated[bool, typer.Option("--refuse", help="Refuse the team instead.")] = False,
    data: Data = None,
    database: Database = None,
) -> None:
    """Approve a team, also one that has not asked for approval."""
    open_installation(data, database)
    from cidery_server.challenges.management import decide_on_team, find_challenge

    decide_on_team(find_challenge(slug), team, approve=not refuse)
    typer.echo(f"{team} may {'not ' if refuse else ''}submit to {slug}")


@app.command("open-scores", epilog=examples("cidery challenge open-scores captions-2026"))
def open_scores(slug: Slug, data: Data = None, database: Database = None) -> None:
    """Show teams their scores per image."""
    open_installation(data, database)
    from cidery_server.challenges.management import find_challenge, open_image_scores

    challenge = find_challenge(slug)
    open_image_scores(challenge)
    if challenge.opens_images:
        typer.echo(f"teams of {slug} see their scores per image")
    else:
        typer.echo(f"not shown yet: a phase that shares references with {slug} still hides its own")


@app.command(epilog=examples("cidery challenge rescore captions-2026"))
def rescore(slug: Slug, data: Data = None, database: Database = None) -> None:
    """Score every submission again.

    Old scores are shown until the new ones are ready.
    """
    open_installation(data, database)
    from cidery_server.challenges.management import find_challenge, rescore_challenge

    typer.echo(f"queued {rescore_challenge(find_challenge(slug))} submissions")


@app.command(epilog=examples("cidery challenge export captions-2026 --format csv > board.csv"))
def export(
    slug: Slug,
    data: Data = None,
    database: Database = None,
    format: Annotated[Literal["json", "csv"], typer.Option(help="Output format.")] = "json",
    slice: Annotated[
        str, typer.Option(help="Only scores of this slice.", metavar="NAME", show_default=False)
    ] = "",
) -> None:
    """Print the leaderboard with all digits."""
    open_installation(data, database)
    from cidery_server.challenges.management import export_leaderboard, find_challenge

    records = export_leaderboard(find_challenge(slug), slice)
    if format == "csv" and records:
        typer.echo(Table((), records).to_csv(), nl=False)
    elif format == "json":
        show_json(records)
