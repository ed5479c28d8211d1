"""Making the database ready, and copying it while the app runs."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

from cidery.errors import SettingError
from cidery_server.web.environment import Environment


def migrate() -> None:
    """Make the tables, or bring them up to date."""
    from django.core.management import call_command
    from django.db import connections

    _make_files()
    call_command("migrate", verbosity=0, interactive=False)
    call_command("createcachetable", verbosity=0)
    connections.close_all()


def check_migrated() -> None:
    """Say that the tables are missing or of another version, where they are; change nothing."""
    from django.db import connection
    from django.db.migrations.executor import MigrationExecutor

    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        raise SettingError(
            "the database has no tables of this version of cidery; start cidery serve once, which "
            "makes them or brings them up to date"
        )


def _make_files() -> None:
    """Make the files of SQLite, which only their owner may read, whatever the folder allows.

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
        raise SettingError(f"{target} exists already; name a new file")
    source = environment.database_file
    if source is not None and not source.exists():
        raise SettingError(f"there is no database at {source}; check --data")
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
        raise SettingError("pg_dump is needed to back up PostgreSQL; install its client") from None
    if done.returncode:
        target.unlink()
        raise SettingError(f"pg_dump failed: {done.stderr.decode(errors='replace').strip()}")


def _libpq_variables(url: str) -> dict[str, str]:
    from psycopg.conninfo import conninfo_to_dict

    names = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "password": "PGPASSWORD"}
    names |= {"dbname": "PGDATABASE", "sslmode": "PGSSLMODE"}
    given = conninfo_to_dict(url)
    return {variable: str(given[name]) for name, variable in names.items() if given.get(name)}
