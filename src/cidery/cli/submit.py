"""`cidery submit`: how a team takes part in a challenge."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Literal

import typer

from cidery.cli import parsing
from cidery.cli.progress import progress
from cidery.cli.rendering import show_json, show_table
from cidery.errors import InputError
from cidery.tables import Column, Table

app = parsing.new_app()


@app.command(
    epilog=parsing.examples(
        "cidery submit captions-2026 results.json --url https://captions.example.org",
        "cidery submit captions-2026 results.json.gz --title 'beam 5' --format json",
    )
)
def submit(
    challenge: Annotated[
        str, typer.Argument(help="The challenge's short name.", show_default=False)
    ],
    file: Annotated[
        Path,
        typer.Argument(help="COCO results: JSON, or one JSON file in .gz or .zip.", metavar="FILE"),
    ],
    url: Annotated[str, typer.Option(help="The server's address.", envvar="CIDERY_URL")],
    token: Annotated[
        str,
        typer.Option(
            help="An API token from your account's page; the environment variable keeps it out "
            "of the shell's history.",
            envvar="CIDERY_TOKEN",
        ),
    ],
    title: Annotated[
        str | None, typer.Option(help="What to call the submission; by default the file's name.")
    ] = None,
    private: Annotated[
        bool, typer.Option("--private", help="Keep it off the leaderboard.")
    ] = False,
    wait: Annotated[bool, typer.Option(help="Wait for the scores.")] = True,
    format: Annotated[
        Literal["table", "json"], typer.Option(help="How to print the scores.")
    ] = "table",
) -> None:
    """Submit captions to a challenge and print their scores."""
    from cidery.client import Client

    client = Client(url, token)
    with progress(2 if wait else 1) as step:
        step("sending")
        number = client.submit(challenge, file, title or file.name, step.report, private=private)
        page = None
        if wait:
            step("waiting")
            page = client.wait(number, step.report)
    address = f"{url.rstrip('/')}/submissions/{number}"
    if page is None:
        typer.echo(address)
    elif format == "json":
        show_json(page)
    elif page["hides_scores"]:
        typer.echo(f"{file}: scored by {challenge}, but its scores are hidden now; see {address}")
    else:
        columns = [
            *(Column("references", key="reference_set"), Column("metric")),
            Column("score", "{value:.{decimals}f}"),
            Column("95 % interval", "[{low:.{decimals}f}, {high:.{decimals}f}]"),
        ]
        title = f"{file}: scored by {challenge}, {address}"
        show_table(Table(columns, page["scores"], title))
    with suppress(InputError):  # what matters is done
        _show_quota(client.find_quota(challenge))


def _show_quota(quota: Mapping[str, int] | None) -> None:
    if quota:
        typer.echo(
            f"{quota['left_today']} of {quota['per_day']} submissions left today, "
            f"{quota['left']} of {quota['in_all']} in all",
            err=True,
        )
