"""The options of commands that select an installation, and functions that open it."""

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
        help="Directory of the installation. Default: $CIDERY_DATA, or ./cidery-data.",
        metavar="DIR",
    ),
]
Database: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="postgresql://user:password@host/name. Default: $CIDERY_DATABASE, or a file in DIR.",
        metavar="URL",
    ),
]


def read_environment(data: Path | None, database: str | None, **others: Any) -> Environment:
    """Return the options, completed by environment variables."""
    from cidery_server.web.environment import Environment

    given = {"data": data and data.absolute(), "database": database, **others}
    chosen = {name: value for name, value in given.items() if value is not None}
    return replace(Environment.read(), **chosen)


def make_installation(data: Path | None, database: str | None, **others: Any) -> Environment:
    """Open an installation; create it or migrate its database if necessary."""
    from cidery_server.web.database import migrate
    from cidery_server.web.environment import set_up

    environment = read_environment(data, database, **others)
    set_up(environment)
    _close_at_exit()
    migrate()
    return environment


def open_installation(data: Path | None, database: str | None, **others: Any) -> Environment:
    """Open an existing installation; raise an error if there is none."""
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
