"""Migrations and backups of the database."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

from cidery.errors import SettingError
from cidery_server.web.environment import Environment


def migrate() -> None:
    """Create the tables or migrate them."""
    from django.core.management import call_command
    from django.db import connections

    _make_files()
    call_command("migrate", verbosity=0, interactive=False)
    call_command("createcachetable", verbosity=0)
    connections.close_all()


def check_migrated() -> None:
    """Raise an error if the tables are missing or of another version."""
    from django.db import connection
    from django.db.migrations.executor import MigrationExecutor

    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        raise SettingError(
            "the database has no tables of this version of cidery; start cidery serve once to "
            "create or migrate them"
        )


def _make_files() -> None:
    """Create the files of SQLite with permissions for their owner only.

    SQLite gives the files beside them the same permissions.
    """
    from django.conf import settings

    database = settings.DATABASES["default"]
    if database["ENGINE"].endswith("sqlite3"):
        os.close(os.open(database["NAME"], os.O_RDWR | os.O_CREAT, 0o600))
    if "filename" in settings.QUEUE:
        os.close(os.open(settings.QUEUE["filename"], os.O_RDWR | os.O_CREAT, 0o600))


def back_up(environment: Environment, target: Path) -> None:
    """Write a consistent copy of the database, while the app runs; only its owner may read it.

    SQLite becomes a database file of its own, PostgreSQL an archive for `pg_restore`.
    """
    if target.exists():
        raise SettingError(f"{target} already exists; choose a new file")
    source = environment.database_file
    if source is not None and not source.exists():
        raise SettingError(f"no database at {source}; check --data")
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    os.close(descriptor)
    if source is None:
        _dump_postgresql(environment.database, target)
    else:
        _copy_sqlite(source, target)


def _copy_sqlite(source: Path, target: Path) -> None:
    with (
        closing(sqlite3.connect(f"file:{source}?mode=ro", uri=True)) as original,
        closing(sqlite3.connect(target)) as copy,
    ):
        original.backup(copy)


def _dump_postgresql(url: str, target: Path) -> None:
    command = ["pg_dump", "--format=custom", "--no-owner", f"--file={target}"]
    # The URL goes in the environment: every user of the machine can read a command's arguments.
    environment = os.environ | _libpq_variables(url)
    try:
        done = subprocess.run(command, env=environment, capture_output=True, check=False)
    except FileNotFoundError:
        target.unlink()
        raise SettingError(
            "pg_dump is required to back up PostgreSQL; install the PostgreSQL client"
        ) from None
    if done.returncode:
        target.unlink()
        raise SettingError(f"pg_dump failed: {done.stderr.decode(errors='replace').strip()}")


def _libpq_variables(url: str) -> dict[str, str]:
    from psycopg.conninfo import conninfo_to_dict

    names = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "password": "PGPASSWORD"}
    names |= {"dbname": "PGDATABASE", "sslmode": "PGSSLMODE"}
    given = conninfo_to_dict(url)
    return {variable: str(given[name]) for name, variable in names.items() if given.get(name)}
