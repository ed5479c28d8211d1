"""What must stay inside: hidden references, others' captions, tokens, sessions, judges."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import httpx
import pytest

from server.tests.support.attacks import (
    CANARIES,
    CAPTION,
    IMAGES,
    OTHER,
    REFERENCE,
    World,
    make_challenge,
    results,
    submit,
)
from server.tests.support.expected_routes import addresses, fill
from server.tests.support.installations import PASSWORD, running, wait_until
from server.tests.support.studies import join


@pytest.fixture(scope="module")
def every_path(local_app: None, world: World) -> list[str]:
    """Every address of the app, filled with what there is and with what there is not."""
    from cidery_server.web.routes import routes

    values = addresses(world)
    found = [
        fill(route.path, those)
        for route in routes()
        for name, those in values.items()
        if name.partition(" of ")[0] == route.name
    ]
    both = f"first={world.submissions['team']}&second={world.submissions['other']}"
    for prefix in ("", "/api"):
        found += [
            f"{prefix}/challenges/orchard/compare?{both}",
            f"{prefix}/challenges/orchard?sort=c2.bleu-1&order=asc",
            f"{prefix}/challenges/orchard?sort={REFERENCE[:2]}",
            f"{prefix}/submissions/{world.submissions['other']}",
            f"{prefix}/submissions/{world.submissions['other']}/images",
            *(f"{prefix}/studies/local/export/{kind}" for kind in ("jsonl", "csv", "coco", "x")),
        ]
    return found


def malformed() -> Iterator[Any]:
    """Yield submissions whose refusal might quote what they are compared with."""
    good = results("dog")
    yield [*good, {"image_id": 99, "caption": "unknown"}]
    yield [*good, good[0]]
    yield good[:-3]
    yield [{**good[0], "caption": None}, *good[1:]]
    yield [{**good[0], "caption": "\ud800"}, *good[1:]]
    yield [{**good[0], "caption": "x" * 5000}, *good[1:]]
    yield {"annotations": good}
    yield [{"image_id": image} for image in range(IMAGES)]
    yield b"[{"
    yield b"\xff\xfe\x00"
    yield b""


@pytest.mark.parametrize("role", ["stranger", "judge", "team"])
def test_canaries_reach_nobody(world: World, every_path: list[str], role: str) -> None:
    output = [world[role].get(path).text for path in every_path]
    output += [world[role].post(path, json={}).text for path in every_path if "sign-" not in path]
    if role == "team":
        output += [submit(world["team"], "orchard", content).text for content in malformed()]
        assert all(answer.startswith("{") for answer in output[-11:])
    if role == "judge":
        world.judge.task()
    for canary in CANARIES:
        for text in output:
            # The other team's captions show nowhere, not even that they hold this word.
            assert canary not in text, text[:2000]


def test_the_owner_sees_no_references_either(world: World, every_path: list[str]) -> None:
    """They came from the owner; pages have no need to send them back."""
    for path in every_path:
        text = world["owner"].get(path).text
        assert REFERENCE not in text
        assert CAPTION not in text


def test_logs_and_broker_hold_no_canary(world: World) -> None:
    for content in malformed():
        submit(world["team"], "orchard", content)
    log = world.app.log.read_text()
    for secret in (*CANARIES, PASSWORD, *world.tokens.values()):
        assert secret not in log
    for link in world.links.values():
        assert link.rpartition("/")[2] not in log
    assert "Internal Server Error" not in log
    data = world.app.folder / "data"
    broker = b"".join(path.read_bytes() for path in data.glob("queue.sqlite3*"))
    assert broker
    for secret in CANARIES:
        assert secret.encode() not in broker


def test_a_failure_in_a_worker_logs_no_captions(world: World) -> None:
    """Scoring stumbles over what was stored; the log says which submission, not what is in it."""
    make_challenge(world["owner"], "broken")
    number = submit(world["other"], "broken", results(CAPTION)).json()["id"]
    world.wait_for(number)
    world.ask(f"UPDATE challenges_submission SET packed_captions = x'00' WHERE id = {number}")
    assert world["owner"].post("/api/challenges/broken/rescore", json={}).status_code == 204
    tried = f"SELECT attempts FROM challenges_submission WHERE id = {number} AND state = 'scoring'"
    wait_until(lambda: world.ask(tried))
    second = submit(world["other"], "broken", results(CAPTION)).json()["id"]
    world.wait_for(second)  # the worker lives on
    log = world.app.log.read_text()
    assert "Unhandled exception in task" in log
    assert not any(canary in log for canary in CANARIES)
    world.ask(f"UPDATE challenges_submission SET state = 'failed' WHERE id = {number}")


def test_scores_of_images_are_hidden_until_they_are_opened(world: World) -> None:
    slug = "opened"
    make_challenge(world["owner"], slug)
    number = submit(world["team"], slug, results("dog")).json()["id"]
    world.wait_for(number)
    path = f"/api/submissions/{number}/images"
    assert world["team"].get(path).status_code == 403
    assert not world["team"].get(f"/api/submissions/{number}").json()["shows_images"]
    page = world["team"].get(f"/submissions/{number}").text
    assert f"/submissions/{number}/images" not in page
    world["owner"].post(f"/api/challenges/{slug}/settings", json={"image_scores_open": True})
    assert len(world["team"].get(path).json()["images"]) == IMAGES
    explored = f"/api/submissions/{number}/explore"
    content = world["team"].get(explored).json()["content"]
    # No references, no colors of words.
    assert set(content) == {"images", "names", "systems", "slices"}
    assert content["names"] == list(content["systems"])
    assert not any(set(system) - {"captions", "scores"} for system in content["systems"].values())
    assert "dog" in content["systems"][next(iter(content["systems"]))]["captions"][0]
    (shown,) = world["owner"].get(explored).json()["content"]["systems"].values()
    assert set(shown) == {"scores"}  # captions are for the team that sent them
    assert world["other"].get(explored).status_code == 403
    assert world["other"].get(path).status_code == 403  # one's own only
    assert world["stranger"].get(path).status_code == 401
    world["owner"].post(f"/api/challenges/{slug}/settings", json={"image_scores_open": False})
    assert world["team"].get(path).status_code == 403


def test_the_database_opens_nothing(world: World) -> None:
    """Whoever reads the database or a copy of it finds no token, session, invite or password."""
    copy = world.app.folder / "copy.sqlite3"
    world.app.run("serve", "--backup", str(copy))
    content = copy.read_bytes()
    copy.unlink()
    secrets = [PASSWORD, *world.tokens.values()]
    secrets += [link.rpartition("/")[2] for link in world.links.values()]
    secrets += [world[role].http.cookies["sessionid"] for role in ("team", "other", "owner")]
    secrets += [world["judge"].http.cookies["judge-local"]]
    secrets += [(world.app.folder / "data" / "secret-key").read_text().strip()]
    for secret in secrets:
        assert secret.encode() not in content
    session = world["owner"].http.cookies["sessionid"]
    assert sha256(session.encode()).hexdigest()[:40].encode() in content
    (stored,) = world.ask(f"SELECT password FROM web_account WHERE name = '{OTHER}'")
    assert stored[0].startswith("argon2$argon2id$")


def test_files_are_for_their_owner_alone(world: World) -> None:
    for path in (world.app.folder / "data").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_headers_are_on_every_answer(world: World, every_path: list[str]) -> None:
    style = re.search(r'href="(/static/[^"]+\.css)"', world["stranger"].get("/").text)
    assert style
    script = "/static/studies/task.js"
    more = [style[1], script, "/static/nothing.css", "/nowhere", "/api/nowhere"]
    for path in [*every_path, *more]:
        for role in ("stranger", "owner"):
            check_headers(world[role].get(path), private=path not in (style[1], script))
    for answer in (
        world["stranger"].http.post("/api/sign-in", json={}, headers={"X-CSRFToken": "x"}),
        world["stranger"].post("/api/sign-in", content=b"x" * (6 * 2**20)),
        world["stranger"].get("/", headers={"Host": "a b"}),
        world["stranger"].http.delete("/api/challenges"),
        world["stranger"].get("/challenges", headers={"Accept": "image/png"}),
    ):
        assert answer.status_code >= 400
        check_headers(answer, private=True)


def check_headers(answer: httpx.Response, *, private: bool) -> None:
    headers = answer.headers
    policy = dict(
        part.strip().partition(" ")[::2] for part in headers["content-security-policy"].split(";")
    )
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["form-action"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert headers["x-frame-options"] == "DENY"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    if private:
        kept = headers["cache-control"]
        assert "public" not in kept
        is_picture = headers["content-type"].startswith("image/png")  # of a judge's own item
        assert ("private" if is_picture else "no-store") in kept, answer.url


def test_cookies_are_out_of_reach(world: World) -> None:
    visitor = world.app.visitor()
    visitor.get("/sign-in")
    visitor.sign_in(OTHER)
    judge = join(world.app, world.app.url + world.links["local"], "local", worker="cookies")
    jars = [*visitor.http.cookies.jar, *judge.visitor.http.cookies.jar]
    assert {cookie.name for cookie in jars} == {"sessionid", "csrftoken", "judge-local"}
    for cookie in jars:
        assert cookie.has_nonstandard_attr("HttpOnly")
        assert cookie.get_nonstandard_attr("SameSite") == "Lax"
        assert not cookie.domain_specified


def test_a_session_is_new_after_signing_in(world: World) -> None:
    """A key that an attacker has planted in a browser is worth nothing afterwards."""
    visitor = world.app.visitor()
    visitor.get("/sign-in")
    visitor.http.cookies.set("sessionid", "plantedplantedplantedplantedplan", domain="127.0.0.1")
    visitor.sign_in(OTHER)
    keys = [c.value for c in visitor.http.cookies.jar if c.name == "sessionid"]
    assert keys[-1] != "plantedplantedplantedplantedplan"
    assert visit_with(world, "plantedplantedplantedplantedplan") == 401
    before = world.app.visitor()
    before.sign_up("Fixated")
    first = before.http.cookies["sessionid"]
    before.sign_in(OTHER)
    assert before.http.cookies["sessionid"] != first
    second = before.http.cookies["sessionid"]
    assert before.post("/api/sign-out", json={}).status_code == 204
    for key in (first, second):
        assert visit_with(world, key) == 401


def visit_with(world: World, session: str) -> int:
    headers = {"Cookie": f"sessionid={session}"}
    return world.app.visitor().get("/api/account", headers=headers).status_code


def test_a_new_password_ends_other_sessions(world: World) -> None:
    team = world.app.visitor()
    team.sign_up("Forgetful")
    thief = world.app.visitor()
    thief.sign_in("Forgetful")
    accounts = world["owner"].get("/api/accounts").json()["accounts"]
    number = next(a["id"] for a in accounts if a["name"] == "Forgetful")
    message = (
        world["owner"].post("/api/accounts", json={"account": number, "action": "link"}).json()
    )
    path = "/api/" + message["link"].split("/", 3)[3]
    assert team.post(path, json={"password": "another good password"}).status_code == 200
    assert thief.get("/api/account").status_code == 401
    assert team.get("/api/account").status_code == 200
    assert thief.post(path, json={"password": "another good password"}).status_code == 404


def test_a_restored_copy_goes_on_scoring(world: World) -> None:
    """Hidden references and captions are in the copy, which needs nothing else to score."""
    folder = world.app.folder / "restored"
    (folder / "data").mkdir(parents=True)
    world.app.run("serve", "--backup", str(folder / "data" / "cidery.sqlite3"))
    before = world["owner"].get(f"/api/submissions/{world.submissions['team']}").json()["scores"]
    with running(folder) as restored:
        team, owner = restored.visitor(), restored.visitor()
        team.sign_in(OTHER)
        owner.sign_in("owner")
        assert owner.post("/api/challenges/orchard/rescore", json={}).status_code == 204
        path = f"/api/submissions/{world.submissions['team']}"
        wait_until(lambda: owner.get(path).json()["submission"]["state"] == "scored")
        assert owner.get(path).json()["scores"] == before
        bearer = world.bearer("team")
        assert restored.visitor().get("/api/account", headers=bearer).status_code == 200
        judges = owner.get("/api/studies/local").json()["judges"]
        assert "J1" in {judge["worker"] for judge in judges}
