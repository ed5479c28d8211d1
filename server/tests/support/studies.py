"""Studies for tests: made through the API, judged by visitors without a screen."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from typing import Any

import psycopg

from server.tests.support.installations import Installation, Visitor

NUMBERS = count(1)


def triplets(number: int) -> list[dict[str, Any]]:
    """Return items whose first sentence is plainly the closer one."""
    return [
        {
            "image": f"image {n}",
            "pair": [f"a dog runs over field {n}", f"a cat sleeps in house {n}"],
            "reference": f"dog number {n} is running",
            "systems": ["ours", "theirs"],
        }
        for n in range(number)
    ]


def to_lines(records: Iterable[dict[str, Any]]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def make_study(owner: Visitor, items: list[dict[str, Any]], **fields: Any) -> str:
    """Make a study through the API and return its name."""
    checks = to_lines(fields.pop("checks", []))
    given = {
        "name": f"study-{next(NUMBERS)}",
        "title": "Which is closer?",
        "design": "triplet",
        "items": to_lines(items),
        "checks": checks,
        **fields,
    }
    if given["design"] != "triplet" and "images" not in given:
        given.setdefault("question", "Which is better, and how good is it?")
    answer = owner.post("/api/new-study", json=given)
    assert answer.status_code == 201, answer.text
    return str(given["name"])


def make_links(owner: Visitor, study: str, **fields: Any) -> list[str]:
    answer = owner.post(f"/api/studies/{study}/invites", json={"name": "judges", **fields})
    assert answer.status_code == 201, answer.text
    return list(answer.json()["links"])


@dataclass
class Judge:
    """Someone who has joined a study."""

    visitor: Visitor
    study: str

    def task(self) -> dict[str, Any]:
        answer = self.visitor.get(f"/api/studies/{self.study}/task")
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def try_answer(self, task: dict[str, Any], answer: str) -> Any:
        content = {"assignment": task["assignment"], "answer": answer}
        return self.visitor.post(f"/api/studies/{self.study}/task", json=content)

    def answer(self, task: dict[str, Any], answer: str) -> dict[str, Any]:
        """Answer, and return the next task."""
        message = self.try_answer(task, answer)
        assert message.status_code == 200, message.text
        return dict(message.json())

    def undo(self) -> dict[str, Any]:
        message = self.visitor.post(f"/api/studies/{self.study}/undo", json={})
        assert message.status_code == 200, message.text
        return dict(message.json())

    def answer_all(self, choose: Any, most: int = 1000) -> list[dict[str, Any]]:
        """Answer by `choose(task)` until there is nothing to do; return the tasks."""
        tasks, task = [], self.task()
        while task["state"] == "task" and len(tasks) < most:
            tasks.append(task)
            task = self.answer(task, choose(task))
        return tasks


def join(app: Installation, link: str, study: str, **parameters: str) -> Judge:
    visitor = app.visitor()
    path = "/api/" + link.split("/", 3)[3]
    assert visitor.get(path, params=parameters).status_code == 200
    answer = visitor.post(path, params=parameters, json={"agree": True})
    assert answer.status_code == 204, answer.text
    return Judge(visitor, study)


def choose_dog(task: dict[str, Any]) -> str:
    """Return the side on which the dog is."""
    return "1" if "dog" in task["sentences"][0] else "2"


def choose_cat(task: dict[str, Any]) -> str:
    return "2" if choose_dog(task) == "1" else "1"


def query(app: Installation, sql: str) -> list[tuple[Any, ...]]:
    """Ask the database itself, past the app."""
    if app.database:
        with psycopg.connect(app.database) as connection:
            found = connection.execute(sql)
            return found.fetchall() if found.description else []
    with closing(sqlite3.connect(app.folder / "data" / "cidery.sqlite3", timeout=30)) as file:
        rows = file.execute(sql).fetchall()
        file.commit()
        return rows


def pass_time(app: Installation, study: str, hours: int) -> None:
    """Move everything that was given in a study into the past."""
    chosen = f"(SELECT id FROM studies_study WHERE name = '{study}')"
    past = (
        f"given - interval '{hours} hours'"
        if app.database
        else f"datetime(given, '-{hours} hours')"
    )
    query(app, f"UPDATE studies_assignment SET given = {past} WHERE study_id = {chosen}")
