"""Commands that read or change an installation make none where there is none."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from cidery.corpus import bundled
from server.tests.support.installations import PostgreSQL
from support.commands import Finished, run_cidery

COMMANDS = (
    "study list",
    "study list --format json",
    "study status closer",
    "study open closer",
    "study close closer",
    "study export closer",
    "study invite closer",
    "challenge list",
    "challenge close orchard",
    "challenge open-scores orchard",
    "challenge rescore orchard",
    "challenge export orchard",
    "serve --backup copy",
)
UNCHANGING = (
    "study list",
    "study status closer",
    "study export closer",
    "challenge list",
    "challenge export orchard",
)
HOW_TO = "cidery serve, cidery study create FILE or cidery challenge create FILE"


def run(command: str, folder: Path, **environment: str) -> Finished:
    given = {name: os.environ[name] for name in os.environ if not name.startswith("CIDERY_DATA")}
    return run_cidery(command.split(), environment=given | environment, folder=folder)


def list_files(folder: Path) -> dict[str, bytes]:
    """Return what is in a folder, and in the folders below it."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b""
        for path in folder.rglob("*")
    }


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_is_made_where_there_is_nothing(tmp_path: Path, command: str) -> None:
    done = run(command, tmp_path)
    assert done.status == 2
    assert str(tmp_path / "cidery-data") in done.stderr
    assert (HOW_TO in done.stderr) != command.startswith("serve --backup")
    assert list_files(tmp_path) == {}


def test_an_empty_postgresql_stays_empty(postgresql: PostgreSQL, tmp_path: Path) -> None:
    import psycopg

    database = postgresql.new_database()
    (tmp_path / "cidery-data").mkdir()
    (tmp_path / "cidery-data" / "secret-key").write_text("secret\n")
    before = list_files(tmp_path)
    for command in ("study list", "challenge list"):
        done = run(command, tmp_path, CIDERY_DATABASE=database)
        assert (done.status, "start cidery serve once" in done.stderr) == (2, True)
    assert list_files(tmp_path) == before
    with psycopg.connect(database) as connection:
        found = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")
        assert found.fetchone() == (0,)


def test_reading_leaves_an_installation_as_it_was(tmp_path: Path) -> None:
    for name in bundled.NAMES:
        shutil.copy(bundled.path(name), tmp_path)
    results = {"ours": "system_a.json", "theirs": "system_b.json"}
    study = {"name": "closer", "title": "Closer?", "design": "pairwise"}
    study["question"] = "Which is better?"
    study["items"] = {"results": results, "sample": 2}  # type: ignore[assignment]
    (tmp_path / "study.json").write_text(json.dumps(study))
    challenge = 'slug = "orchard"\ntitle = "Orchard"\nmetrics = ["rouge-l"]\n'
    (tmp_path / "challenge.toml").write_text(
        f'{challenge}references = {{c5 = "references.json"}}\n'
    )
    for command in ("study create study.json", "challenge create challenge.toml"):
        done = run(command, tmp_path)
        assert done.status == 0, done.stderr
    assert sorted(path.name for path in (tmp_path / "cidery-data").iterdir()) == [
        "cidery.sqlite3",
        "queue.sqlite3",
        "secret-key",
    ]
    before = list_files(tmp_path)
    for command in UNCHANGING:
        done = run(command, tmp_path)
        assert done.status == 0, done.stderr
        assert list_files(tmp_path) == before, command


@pytest.mark.parametrize("command", ["study", "challenge"])
def test_descriptions_of_commands_are_complete(tmp_path: Path, command: str) -> None:
    done = run(f"{command} --help", tmp_path, COLUMNS="80")
    assert done.status == 0
    assert "..." not in done.stdout.partition("Commands:")[2]
