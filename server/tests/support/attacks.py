"""An installation worth attacking: two teams, a judge, hidden references, payloads everywhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from server.tests.support.installations import PASSWORD, Installation, Visitor, running, wait_until
from server.tests.support.studies import Judge, join, make_links, make_study, query

IMAGES = 12
REFERENCE = "zqreference"
"""In every hidden reference, and nowhere else."""
CAPTION = "zqcaption"
"""In every caption that the other team submits."""
SYSTEM = "zqsystem"
"""In the names of the systems whose captions judges compare."""
WORKER = "zqworker"
"""In the name by which a crowdsourcing site knows another judge."""
CONTACT = "zqcontact"
CANARIES = (REFERENCE, CAPTION, SYSTEM, WORKER, CONTACT)
PAYLOAD = "<script>alert(1)</script><img src=x onerror=alert(2)>"
TEAM, OTHER = "Team <img src=x onerror=alert(3)>", "Other team"
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360000000000500015e0e7a0e0000000049454e44ae426082"
)
ROLES = ("stranger", "judge", "other", "owner", "team")


def references() -> dict[str, Any]:
    """Return hidden references: every one holds a canary of its own."""
    return {
        "images": [{"id": image} for image in range(IMAGES)],
        "annotations": [
            {
                "id": 10 * image + number,
                "image_id": image,
                "caption": f"a {REFERENCE}{image}x{number} is walking over field {image}",
            }
            for image in range(IMAGES)
            for number in range(2)
        ],
    }


def results(word: str, images: int = IMAGES) -> list[dict[str, Any]]:
    return [
        {"image_id": image, "caption": f"a {word} is walking over field {image} {PAYLOAD}"}
        for image in range(images)
    ]


@dataclass
class World:
    """The installation, and everyone who visits it."""

    app: Installation
    visitors: dict[str, Visitor]
    tokens: dict[str, str]
    judge: Judge
    links: dict[str, str]
    """study -> an invite's path"""
    submissions: dict[str, int]
    """`team` and `other` can be seen by all, `secret` is the other team's alone."""

    def __getitem__(self, role: str) -> Visitor:
        return self.visitors[role]

    def bearer(self, role: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.tokens[role]}"}

    def wait_for(self, number: int) -> None:
        def scored() -> bool:
            shown = self["owner"].get(f"/api/submissions/{number}").json()["submission"]
            assert shown["state"] != "failed", self.app.log.read_text()
            return bool(shown["state"] == "scored")

        wait_until(scored, what=f"scoring submission {number}")

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        return query(self.app, sql)


def submit(team: Visitor, challenge: str, content: Any, title: str = PAYLOAD) -> httpx.Response:
    packed = content if isinstance(content, bytes) else json.dumps(content).encode()
    return team.post(
        f"/api/challenges/{challenge}/submissions",
        data={"title": title},
        files={"file": ("results.json", packed)},
    )


def make_challenge(owner: Visitor, slug: str, **fields: Any) -> None:
    content = {
        "slug": slug,
        "title": f"{slug} {PAYLOAD}",
        "description": f"Describe it. {PAYLOAD}\n\nhttps://example.org",
        "metrics": "cider-d bleu-1",
        "per_day": 1000,
        "in_all": 1000,
        "entry": "open",
        "probes_shown": 1000,
        "leaderboard_open": True,
        "references_name": "c2",
        **fields,
    }
    file = ("references.json", json.dumps(references()).encode())
    answer = owner.post("/api/new-challenge", data=content, files={"references": file})
    assert answer.status_code == 201, answer.text


def items() -> list[dict[str, Any]]:
    return [
        {
            "image": f"{n}.png",
            "pair": [f"a dog runs {PAYLOAD} {n}", f"a cat sleeps {PAYLOAD} {n}"],
            "reference": f"dog {n} is running {PAYLOAD}",
            "systems": [f"{SYSTEM}1", f"{SYSTEM}2"],
        }
        for n in range(8)
    ]


def checks() -> list[dict[str, Any]]:
    return [
        {
            "image": f"{n}.png",
            "pair": [f"right answer {n}", f"wrong answer {n}"],
            "reference": f"right answer {n}",
            "vote": 1,
        }
        for n in range(4)
    ]


def make_local_study(app: Installation) -> None:
    """Make a study with images in a folder, as only who runs the server can."""
    folder = app.folder / "study"
    (folder / "images").mkdir(parents=True)
    for n in range(8):
        (folder / "images" / f"{n}.png").write_bytes(PIXEL)
    (folder / "secret.png").write_bytes(PIXEL)
    for name in ("escaping.png", "long.png"):
        (folder / "images" / name).write_bytes(PIXEL)
    escaping, too_long = ({**items()[0], "image": f"{name}.png"} for name in ("escaping", "long"))
    lines = [*items(), escaping, too_long]
    (folder / "items.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    content = {
        "name": "local",
        "title": f"Local {PAYLOAD}",
        "instructions": PAYLOAD,
        "consent": PAYLOAD,
        "design": "triplet",
        "images": "images/{image}",
        "check_every": 2,
        "items": {"file": "items.jsonl"},
        "checks": checks(),
    }
    (folder / "study.json").write_text(json.dumps(content))
    app.run("study", "create", str(folder / "study.json"))
    # A study whose images are not all there is not made: they go away, or elsewhere, later.
    for name, other in (("escaping.png", "../secret.png"), ("long.png", "x" * 1000)):
        changed = f"replace(CAST(content AS text), '{name}', '{other}')"
        changed = f"CAST({changed} AS jsonb)" if app.database else changed
        query(app, f"UPDATE studies_item SET content = {changed}")


def build(app: Installation) -> World:
    owner = app.owner()
    stranger, team, other = (app.visitor() for _ in range(3))
    for visitor, name in ((team, TEAM), (other, OTHER)):
        content = {"name": name, "password": PASSWORD, "contact": CONTACT}
        assert visitor.post("/api/sign-up", json=content).status_code == 201
    for slug, fields in {
        "orchard": {},
        "attic": {"leaderboard_open": False},
        "cellar": {"visibility": "hidden"},
        "spare": {},
    }.items():
        make_challenge(owner, slug, **fields)
    make_local_study(app)
    make_study(
        owner,
        [{"image": str(n)} for n in range(3)],
        name="sentences",
        design="collection",
        title=PAYLOAD,
        min_words=2,
    )
    links = {
        study: "/" + make_links(owner, study)[0].split("/", 3)[3]
        for study in ("local", "sentences")
    }
    judge = join(app, app.url + links["local"], "local", worker="J1", assignment="first")
    task = judge.task()
    judge.answer(task, "1")
    rival = join(app, app.url + links["local"], "local", worker=WORKER, assignment="x")
    rival.task()
    writer = join(app, app.url + links["sentences"], "sentences", worker=WORKER)
    writer.answer(writer.task(), "Two dogs <b>play happily</b> on the lawn")
    visitors = {"stranger": stranger, "judge": judge.visitor, "team": team, "other": other}
    visitors["owner"] = owner
    tokens = {role: visitors[role].make_token() for role in ("team", "other", "owner")}
    submissions = {
        "team": submit(team, "orchard", results("dog")).json()["id"],
        "other": submit(other, "orchard", results(CAPTION)).json()["id"],
        "secret": submit(other, "attic", results(CAPTION)).json()["id"],
    }
    world = World(app, visitors, tokens, judge, links, submissions)
    for number in submissions.values():
        world.wait_for(number)
    return world


@contextmanager
def attacked(folder: Path, database: str = "", **settings: Any) -> Iterator[World]:
    """Run such an installation while the block lasts."""
    with running(folder, database, **settings) as app:
        yield build(app)
