"""Migrations: those of the models as they are, applied and reversed on both kinds of databases."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from server.tests.support.installations import PostgreSQL

APPLY_AND_REVERSE = """
from pathlib import Path
import sys
from cidery_server.web.environment import Environment, set_up
set_up(Environment(data=Path(sys.argv[1]), database=sys.argv[2]))
from django.core.management import call_command
from django.db import connection
from cidery.errors import SettingError
from cidery_server.web.database import check_migrated, migrate

for _ in range(2):
    migrate()
    check_migrated()
    for app in ("challenges", "studies"):
        call_command("migrate", app, "zero", verbosity=0)
        try:
            check_migrated()
        except SettingError:
            pass
        else:
            raise AssertionError(f"tables of {app} are missing")
tables = connection.introspection.table_names()
assert not [name for name in tables if name.startswith(("challenges_", "studies_"))], tables
print("applied and reversed")
"""


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_migrations_apply_and_reverse(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    url = ""
    if kind == "postgresql":
        server: PostgreSQL = request.getfixturevalue("postgresql")
        url = server.new_database()
    command = [sys.executable, "-c", APPLY_AND_REVERSE, str(tmp_path), url]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "applied and reversed\n", done.stderr
