"""How many submissions of 5,000 captions an evaluation server scores in a minute.

    python benchmarks/submissions_load.py                    # 200 submissions, SQLite, two workers
    python benchmarks/submissions_load.py --postgresql       # on a PostgreSQL of its own

The app is the real one, `cidery serve`, with the rules of new challenges but for limits. Twenty
teams send files at once; the clock runs from the first request until the last score is stored.
Captions are different in every submission, so that each is compared with all others.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1]))

from workloads import small

from server.tests.support.installations import (
    PostgreSQL,
    Visitor,
    running,
    running_postgresql,
    wait_until,
)
from server.tests.support.studies import query

TEAMS = 20
METRICS = "cider-d bleu-4 rouge-l"


def vary(captions: Mapping[int, str], seed: int) -> bytes:
    """Return results in which most images have another image's caption."""
    rng = random.Random(seed)
    others = list(captions.values())
    found = [
        {"image_id": image, "caption": caption if rng.random() < 0.3 else rng.choice(others)}
        for image, caption in captions.items()
    ]
    return json.dumps(found).encode()


def send(team: Visitor, contents: Sequence[bytes]) -> list[float]:
    """Submit one file after the other and return the seconds that each request took."""
    took = []
    for number, content in enumerate(contents):
        began = time.perf_counter()
        answer = team.post(
            "/api/challenges/load/submissions",
            data={"title": f"try {number}"},
            files={"file": ("results.json", content)},
        )
        took.append(time.perf_counter() - began)
        assert answer.status_code == 201, answer.text
    return took


def run(
    folder: Path,
    database: str,
    captions: Mapping[int, str],
    references: Mapping[int, Sequence[str]],
    *,
    submissions: int,
    workers: int,
    processes: int,
) -> dict[str, object]:
    """Run one load and return what was measured; raise if a submission was not scored."""
    with running(folder, database, workers=workers, processes=processes) as app:
        owner = app.owner()
        fields = {"slug": "load", "title": "Load", "metrics": METRICS, "entry": "open"}
        limits = {"per_day": submissions, "in_all": submissions, "probes_shown": submissions}
        file = ("references.json", json.dumps({str(i): c for i, c in references.items()}).encode())
        made = owner.post("/api/new-challenge", data=fields | limits, files={"references": file})
        assert made.status_code == 201, made.text
        teams = [app.visitor() for _ in range(min(TEAMS, submissions))]
        for number, team in enumerate(teams):
            team.sign_up(f"Team number {number}")
        contents = [vary(captions, seed) for seed in range(submissions)]
        began = time.perf_counter()
        with ThreadPoolExecutor(len(teams)) as pool:
            shares = [contents[number :: len(teams)] for number in range(len(teams))]
            requests = [took for one in pool.map(send, teams, shares) for took in one]
        accepted = time.perf_counter() - began

        def count() -> int:
            scored = "SELECT count(*) FROM challenges_submission WHERE state = 'scored'"
            return int(query(app, scored)[0][0])

        wait_until(lambda: count() == submissions, 3600, what="scoring")
        took = time.perf_counter() - began
        (scores,) = query(app, "SELECT count(*) FROM challenges_score")
    assert scores[0] == submissions * len(METRICS.split()), "a submission has not its scores"
    return {
        "database": "PostgreSQL" if database else "SQLite",
        "submissions": submissions,
        "captions each": len(captions),
        "seconds until all were accepted": round(accepted, 1),
        "seconds until all were scored": round(took, 1),
        "scored per minute": round(60 * submissions / took, 1),
        "median seconds of a request": round(sorted(requests)[len(requests) // 2], 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--submissions", type=int, default=200)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--processes", type=int, default=2, help="of the web server")
    parser.add_argument("--postgresql", action="store_true")
    given = parser.parse_args()
    captions, references = small()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cidery-load-")))
        database = ""
        if given.postgresql:
            programs = PostgreSQL.find()
            if programs is None:
                sys.exit("PostgreSQL is not installed")
            database = stack.enter_context(running_postgresql(programs)).new_database()
        found = run(
            folder / "app",
            database,
            captions,
            references,
            submissions=given.submissions,
            workers=given.workers,
            processes=given.processes,
        )
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
