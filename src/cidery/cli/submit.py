"""`cidery submit`."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Literal

import typer

from cidery.cli import parsing
from cidery.cli.progress_bar import progress
from cidery.cli.rendering import show_json, show_table
from cidery.errors import InputError
from cidery.tables import Column, Table

app = parsing.new_app()


@app.command(
    epilog=parsing.examples(
        "cidery submit captions-2026 results.json --url https://captions.example.org",
        "cidery submit captions-2026 results.json.gz --title 'beam 5' --format json",
        "cidery submit captions-2026 seed2.json --run-of 17",
    )
)
def submit(
    challenge: Annotated[
        str, typer.Argument(help="Short name of the challenge.", show_default=False)
    ],
    file: Annotated[
        Path,
        typer.Argument(help="COCO results: JSON, or one JSON file in .gz or .zip.", metavar="FILE"),
    ],
    url: Annotated[str, typer.Option(help="Address of the server.", envvar="CIDERY_URL")],
    token: Annotated[
        str,
        typer.Option(
            help="API token from your account's page; with the environment variable it does not "
            "appear in the shell's history.",
            envvar="CIDERY_TOKEN",
        ),
    ],
    title: Annotated[
        str | None, typer.Option(help="Title of the submission. Default: the file's name.")
    ] = None,
    private: Annotated[
        bool, typer.Option("--private", help="Do not show it on the leaderboard.")
    ] = False,
    run_of: Annotated[
        int | None,
        typer.Option(
            help="Number of your submission of which this is another run, such as a training with "
            "another seed.",
            metavar="NUMBER",
            min=1,
        ),
    ] = None,
    wait: Annotated[bool, typer.Option(help="Wait for the scores.")] = True,
    format: Annotated[Literal["table", "json"], typer.Option(help="Output format.")] = "table",
) -> None:
    """Submit captions to a challenge and print their scores."""
    from cidery.client import Client

    client = Client(url, token)
    with progress(2 if wait else 1) as step:
        step("sending")
        number = client.submit(
            challenge, file, title or file.name, step.report, private=private, run_of=run_of
        )
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
    with suppress(InputError):  # the submission itself succeeded
        _show_quota(client.find_quota(challenge))


def _show_quota(quota: Mapping[str, int] | None) -> None:
    if quota:
        typer.echo(
            f"{quota['left_today']} of {quota['per_day']} submissions left today, "
            f"{quota['left']} of {quota['in_all']} in all",
            err=True,
        )
