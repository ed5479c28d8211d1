"""Jobs through a real Redis, which goes away and comes back."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cidery.corpus import bundled
from server.tests.support.installations import Installation, Visitor, free_port, running, wait_until


@contextmanager
def running_redis(program: str, port: int, folder: Path) -> Iterator[None]:
    command = [program, "--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder)]
    with subprocess.Popen([*command, "--save", ""], stdout=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.kill()


def test_submissions_survive_the_queue(tmp_path: Path) -> None:
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("Redis is not installed (Debian: apt-get install redis-server)")
    pytest.importorskip("redis", reason="the package redis is not installed")
    port = free_port()
    settings = {"CIDERY_QUEUE": f"redis://127.0.0.1:{port}", "CIDERY_LEASE": "4"}
    with running(tmp_path, settings=settings) as app:
        team = open_challenge(app)
        with running_redis(program, port, tmp_path):
            first = submit(app, team)
            wait_until(lambda: state_of(team, first) == "scored")
        number = submit(app, team)  # while there is no Redis
        assert state_of(team, number) == "queued"
        with running_redis(program, port, tmp_path):
            wait_until(lambda: state_of(team, number) == "scored")


def open_challenge(app: Installation) -> Visitor:
    for name in bundled.NAMES:
        shutil.copy(bundled.path(name), app.folder)
    content: dict[str, Any] = {"slug": "orchard", "title": "Orchard", "metrics": ["rouge-l"]}
    content |= {"per_day": 1000, "in_all": 1000, "entry": "open", "probes_shown": 1000}
    content |= {"references": {"c5": "references.json"}}
    (app.folder / "challenge.json").write_text(json.dumps(content))
    app.run("challenge", "create", str(app.folder / "challenge.json"))
    team = app.visitor()
    team.sign_up("Sender")
    return team


def submit(app: Installation, team: Visitor) -> int:
    answer = team.post(
        "/api/challenges/orchard/submissions",
        data={"title": "try"},
        files={"file": ("r.json", (app.folder / "system_a.json").read_bytes())},
    )
    assert answer.status_code == 201, answer.text
    return int(answer.json()["id"])


def state_of(team: Visitor, number: int) -> str:
    return str(team.get(f"/api/submissions/{number}").json()["submission"]["state"])
