"""Options of the commands that open an installation of the web app, and how they open it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

if TYPE_CHECKING:
    from cidery.app.web.environment import Environment

Data: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        help="The directory that keeps everything; by default CIDERY_DATA, or ./cidery-data.",
        metavar="DIR",
    ),
]
Database: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="postgresql://user:password@host/name; by default CIDERY_DATABASE, or a file in DIR.",
        metavar="URL",
    ),
]


def open_app(data: Path | None, database: str | None, **others: Any) -> Environment:
    """Make Django ready with the options given and, for the rest, the environment variables."""
    from cidery.app.web.environment import Environment, set_up

    given = {"data": data and data.absolute(), "database": database, **others}
    chosen = {name: value for name, value in given.items() if value is not None}
    environment = replace(Environment.read(), **chosen)
    set_up(environment)
    return environment
