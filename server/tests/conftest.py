"""Fixtures of the app's tests: databases and running installations."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator

import pytest

from cidery.corpus import bundled
from server.tests.support.attacks import World, attacked
from server.tests.support.installations import (
    Installation,
    PostgreSQL,
    choose_database,
    copy_tables,
    running,
    share_postgresql,
)


@pytest.fixture(scope="session")
def postgresql() -> PostgreSQL:
    """A real PostgreSQL, one for all processes of the run."""
    programs = PostgreSQL.find()
    if programs is None:
        pytest.skip("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    return share_postgresql(programs)


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> str:
    """The URL of a new database: nothing for SQLite, then PostgreSQL's."""
    return choose_database(request)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what depends on the database on both kinds; the rest of the app leaves that to Django."""
    if "installation" in metafunc.fixturenames:
        marker = metafunc.definition.get_closest_marker("both_databases")
        is_both = marker is not None or os.environ.get("CIDERY_EXAMPLES") == "new"
        kinds = ["sqlite", "postgresql"] if is_both else ["sqlite"]
        metafunc.parametrize("installation", kinds, indirect=True, scope="session")


@pytest.fixture(scope="session")
def installation(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installation]:
    """The real app, running on the database of the parameter; tests that need no other share it."""
    folder = tmp_path_factory.mktemp("installation")
    with running(folder, choose_database(request)) as app:
        yield app


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """An installation with teams, judges and hidden references, for attacks."""
    with attacked(tmp_path_factory.mktemp("world")) as made:
        yield made


@pytest.fixture(scope="session")
def browsed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """The app for tests in a browser, with a challenge and the bundled captions in its folder."""
    folder = tmp_path_factory.mktemp("browsed")
    for name in bundled.NAMES:
        shutil.copy(bundled.path(name), folder)
    challenge = {
        "slug": "orchard",
        "title": "Orchard captions",
        "metrics": ["rouge-l", "bleu-4"],
        "entry": "open",
        "probes_shown": 1000,
        "references": {"c5": "references.json"},
    }
    (folder / "challenge.json").write_text(json.dumps(challenge))
    with running(folder) as app:
        app.run("challenge", "create", str(folder / "challenge.json"))
        yield app


@pytest.fixture(scope="session")
def local_app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Django in this process, on an SQLite of its own: for what needs no server."""
    from cidery_server.web.environment import Environment, set_up

    # Other tests may leave an event loop of the browser in this thread; Django does not use it.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    local = Installation(tmp_path_factory.mktemp("local"))
    copy_tables(local)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("CIDERY_DATA", "CIDERY_PROXIES", "CIDERY_LEASE", "DJANGO_SETTINGS_MODULE"):
            patch.setenv(name, "")  # so that it is unset afterwards
        set_up(Environment(data=local.folder / "data"))
    yield
    from django.db import connections

    connections.close_all()
