"""Load test of a study with simulated judges; the database is checked afterwards.

    python benchmarks/run.py studies_load    # 200 judges, 2 s between answers, SQLite
    python benchmarks/run.py studies_load --pause 0    # as fast as it goes
    python benchmarks/run.py studies_load --postgresql    # on a PostgreSQL of its own

The app is the real one, `cidery serve` with two processes; the judges are coroutines of this
process, each with a connection of its own. Afterwards every item must have exactly its number of
different judges, and the database exactly as many answers as were acknowledged.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from server.tests.support.installations import PostgreSQL, running, running_postgresql
from server.tests.support.studies import choose_dog, make_links, make_study, query, triplets


@dataclass
class Connection:
    """One HTTP connection, kept open, with its cookies: as little work as a client can do."""

    port: int
    cookies: dict[str, str] = field(default_factory=dict)
    reader: asyncio.StreamReader | None = None
    writer: asyncio.StreamWriter | None = None

    async def ask(self, method: str, path: str, content: object = None) -> tuple[int, bytes]:
        """Send a request and return status and body."""
        if self.writer is None or self.writer.is_closing():
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        body = b"" if content is None else json.dumps(content).encode()
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
            f"Cookie: {cookies}\r\nX-CSRFToken: {self.cookies.get('csrftoken', '')}\r\n\r\n"
        )
        self.writer.write(head.encode() + body)
        return await self._read()

    async def close(self) -> None:
        """Hang up."""
        if self.writer is not None:
            self.writer.close()
            await self.writer.wait_closed()

    async def _read(self) -> tuple[int, bytes]:
        assert self.reader is not None
        assert self.writer is not None
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        status, length = int(head.split(" ", 2)[1]), 0
        for line in head.split("\r\n")[1:]:
            name, _, value = line.partition(": ")
            if name.lower() == "set-cookie":
                key, _, cookie = value.partition(";")[0].partition("=")
                self.cookies[key] = cookie
            elif name.lower() == "content-length":
                length = int(value)
            elif name.lower() == "connection" and value.lower() == "close":
                body = await self.reader.read()
                self.writer.close()
                return status, body
        return status, await self.reader.readexactly(length)


@dataclass
class Tally:
    """Observations of the judges."""

    acknowledged: int = 0
    seconds: list[float] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def percentile(self, share: float) -> float:
        """Return the milliseconds within which this share of answers was acknowledged."""
        ordered = sorted(self.seconds)
        return 1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]


async def judge(port: int, link: str, study: str, pause: float, start: float, tally: Tally) -> None:
    """Join, then answer until there is nothing to do."""
    connection = Connection(port)
    path = "/" + link.split("/", 3)[3]
    await connection.ask("GET", path)
    await connection.ask("POST", f"/api{path}", {"agree": True})
    task_path = f"/api/studies/{study}/task"
    await asyncio.sleep(start)
    status, body = await connection.ask("GET", task_path)
    while status == 200 and (task := json.loads(body))["state"] == "task":
        await asyncio.sleep(pause)
        answer = {"assignment": task["assignment"], "answer": choose_dog(task)}
        began = time.perf_counter()
        status, body = await connection.ask("POST", task_path, answer)
        tally.seconds.append(time.perf_counter() - began)
        tally.acknowledged += status == 200
    await connection.close()
    if status != 200:
        tally.problems.append(f"{status}: {body[:200]!r}")


async def simulate(port: int, link: str, study: str, judges: int, pause: float) -> Tally:
    tally = Tally()
    starts = [max(pause, 1.0) * number / judges for number in range(judges)]
    await asyncio.gather(*(judge(port, link, study, pause, start, tally) for start in starts))
    return tally


def run(
    folder: Path, database: str, *, items: int, each: int, judges: int, pause: float, processes: int
) -> dict[str, object]:
    """Run one load and return what was measured; raise if an answer was lost or doubled."""
    with running(folder, database, workers=0, processes=processes) as app:
        owner = app.owner()
        study = make_study(owner, triplets(items), judges_each=each)
        (link,) = make_links(owner, study)
        began = time.perf_counter()
        tally = asyncio.run(simulate(app.port, link, study, judges, pause))
        took = time.perf_counter() - began
        counts = query(
            app,
            "SELECT item_id, count(*), count(DISTINCT judge_id) FROM studies_assignment "
            "WHERE state = 'answered' GROUP BY item_id",
        )
    assert not tally.problems, tally.problems[:3]
    assert {row[1:] for row in counts} == {(each, each)}, "an item has not its judges"
    assert len(counts) == items
    assert tally.acknowledged == items * each, "an answer was lost or doubled"
    return {
        "database": "PostgreSQL" if database else "SQLite",
        "judges": judges,
        "pause": pause,
        "answers": tally.acknowledged,
        "answers per second": round(tally.acknowledged / took, 1),
        "median ms": round(tally.percentile(0.5), 1),
        "p95 ms": round(tally.percentile(0.95), 1),
        "p99 ms": round(tally.percentile(0.99), 1),
        "max ms": round(1000 * max(tally.seconds), 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--judges", type=int, default=200)
    parser.add_argument("--items", type=int, default=6667, help="three judges each")
    parser.add_argument("--pause", type=float, default=2.0, help="seconds between answers")
    parser.add_argument("--processes", type=int, default=2, help="of the web server")
    parser.add_argument("--postgresql", action="store_true")
    given = parser.parse_args()
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
            items=given.items,
            each=3,
            judges=given.judges,
            pause=given.pause,
            processes=given.processes,
        )
    print(f"| {' | '.join(found)} |\n|---|{'---:|' * (len(found) - 1)}")
    print(f"| {' | '.join(map(str, found.values()))} |")


if __name__ == "__main__":
    main()
