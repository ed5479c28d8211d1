"""Options of commands on an installation of the web app, and how they make or open it."""

from __future__ import annotations

import atexit
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

if TYPE_CHECKING:
    from cidery_server.web.environment import Environment

Data: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        help="The directory of the installation; by default CIDERY_DATA, or ./cidery-data.",
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


def read_environment(data: Path | None, database: str | None, **others: Any) -> Environment:
    """Return the options given and, for the rest, what the environment variables say."""
    from cidery_server.web.environment import Environment

    given = {"data": data and data.absolute(), "database": database, **others}
    chosen = {name: value for name, value in given.items() if value is not None}
    return replace(Environment.read(), **chosen)


def make_installation(data: Path | None, database: str | None, **others: Any) -> Environment:
    """Open an installation; make it, or bring its tables up to date, where that is needed."""
    from cidery_server.web.database import migrate
    from cidery_server.web.environment import set_up

    environment = read_environment(data, database, **others)
    set_up(environment)
    _close_at_exit()
    migrate()
    return environment


def open_installation(data: Path | None, database: str | None, **others: Any) -> Environment:
    """Open an installation that exists; where there is none, say so and create nothing."""
    from cidery_server.web.database import check_migrated
    from cidery_server.web.environment import set_up_existing

    environment = read_environment(data, database, **others)
    set_up_existing(environment)
    _close_at_exit()
    check_migrated()
    return environment


def _close_at_exit() -> None:
    """Close the database when the process ends, so that SQLite removes its temporary files."""
    from django.db import connections

    atexit.register(connections.close_all)
