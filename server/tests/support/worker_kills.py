"""Kills workers at random while submissions are scored, and counts what came of it."""

from __future__ import annotations

import json
import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cidery.corpus import bundled
from server.tests.support.installations import Installation, Visitor, wait_until

CHALLENGE: dict[str, Any] = {
    "slug": "killed",
    "title": "Under fire",
    "metrics": ["cider-d", "bleu", "rouge-l"],
    "per_day": 100_000,
    "in_all": 100_000,
    "entry": "open",
    "probes_shown": 1000,
    "references": {"c5": "references.json"},
}
SCORES = 6
"""Columns of the challenge: what one submission must have, no more and no less."""
COPIES = 10
"""Of the example's images, so that scoring takes long enough to be interrupted."""
PATIENCE = 3600
FEWEST_KILLS = 2
"""A machine that scores everything between two looks is given more to score."""
SHORT_LEASE = {"CIDERY_LEASE": "4"}


@dataclass
class Outcome:
    """What the killing led to."""

    submitted: int
    kills: int
    seconds: float
    states: dict[str, int]
    scores: dict[int, int]
    """How many submissions have so many scores."""
    lost: int

    @property
    def is_exact(self) -> bool:
        return (
            self.lost == 0
            and self.states == {"scored": self.submitted}
            and self.scores == {SCORES: self.submitted}
        )


def run_under_fire(app: Installation, submissions: int, *, seed: int) -> Outcome:
    """Submit while workers are killed, kill everything on the way, start again, wait, count."""
    team, owner = _open_challenge(app)
    killer = Killer(app, owner, random.Random(seed))
    begin = time.monotonic()
    with killer.killing():
        with ThreadPoolExecutor(4) as pool:
            numbers = list(pool.map(lambda _: _submit(app, team), range(submissions)))
        wait_until(lambda: _count(owner)["scored"] * 2 >= submissions, PATIENCE)
        for _ in range(submissions * FEWEST_KILLS):
            if killer.kills < FEWEST_KILLS:
                numbers.append(_submit(app, team))
                time.sleep(0.5)
    _kill_everything(app)
    app.start()
    with killer.killing():
        wait_until(lambda: _count(owner)["scored"] == len(numbers), PATIENCE)
    seconds = time.monotonic() - begin
    states = _count(owner)
    scores = Counter(
        len(owner.get(f"/api/submissions/{number}").json()["scores"]) for number in numbers
    )
    lost = len(set(numbers)) - sum(states.values())
    return Outcome(len(numbers), killer.kills, seconds, dict(states), dict(scores), lost)


@dataclass
class Killer:
    """Kills a worker at random whenever something has been scored since the last kill.

    So the work goes on however slowly a machine starts processes.
    """

    app: Installation
    owner: Visitor
    rng: random.Random
    kills: int = 0
    scored: int = 0

    @contextmanager
    def killing(self) -> Iterator[None]:
        stop = threading.Event()
        thread = threading.Thread(target=self._kill_on, args=(stop,))
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def _kill_on(self, stop: threading.Event) -> None:
        while not stop.wait(self.rng.uniform(0.0, 0.5)):
            scored = _count(self.owner)["scored"]
            workers = find_workers(self.app)
            if scored > self.scored and workers:
                self.scored = scored
                with suppress(ProcessLookupError):
                    os.kill(self.rng.choice(workers), signal.SIGKILL)
                    self.kills += 1


def _open_challenge(app: Installation) -> tuple[Visitor, Visitor]:
    content = json.loads(Path(bundled.path("references.json")).read_text())
    content["annotations"] = [
        {"image_id": 1000 * copy + annotation["image_id"], "caption": annotation["caption"]}
        for copy in range(COPIES)
        for annotation in content["annotations"]
    ]
    (app.folder / "references.json").write_text(json.dumps(content))
    results = json.loads(Path(bundled.path("system_a.json")).read_text())
    copied = [
        {"image_id": 1000 * copy + entry["image_id"], "caption": entry["caption"]}
        for copy in range(COPIES)
        for entry in results
    ]
    (app.folder / "results.json").write_text(json.dumps(copied))
    path = app.folder / "challenge.json"
    path.write_text(json.dumps(CHALLENGE))
    app.run("challenge", "create", str(path))
    team = app.visitor()
    team.sign_up("Survivors")
    return team, app.owner()


def _submit(app: Installation, team: Visitor) -> int:
    answer = team.post(
        "/api/challenges/killed/submissions",
        data={"title": "try"},
        files={"file": ("r.json", (app.folder / "results.json").read_bytes())},
    )
    assert answer.status_code == 201, answer.text
    return int(answer.json()["id"])


def _count(owner: Visitor) -> Counter[str]:
    page = owner.get("/api/challenges/killed/submissions").json()
    return Counter(submission["state"] for submission in page["submissions"])


def find_workers(app: Installation) -> list[int]:
    """Return the processes that score."""
    assert app.process is not None
    children = Path(f"/proc/{app.process.pid}/task/{app.process.pid}/children").read_text()
    return [number for number in map(int, children.split()) if _is_worker(number)]


def _is_worker(process: int) -> bool:
    with suppress(OSError):
        return b"cidery_server.web.worker" in Path(f"/proc/{process}/cmdline").read_bytes()
    return False


def _kill_everything(app: Installation) -> None:
    """Kill the supervisor, the web server and the workers, as a power cut would."""
    assert app.process is not None
    supervisor = app.process.pid
    children = Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split()
    grandchildren = [
        grandchild
        for child in children
        for grandchild in Path(f"/proc/{child}/task/{child}/children").read_text().split()
    ]
    for number in (supervisor, *map(int, children), *map(int, grandchildren)):
        with suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)
    app.process.wait()
