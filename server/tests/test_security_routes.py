"""Every route as a stranger, a judge, another team, the owner and the team itself."""

from __future__ import annotations

import httpx
import pytest

from server.tests.support.attacks import OTHER, ROLES, TEAM, World
from server.tests.support.expected_routes import EXPECTED, addresses, fill
from server.tests.support.installations import Visitor

METHODS = ("GET", "POST")


@pytest.fixture(scope="module")
def paths(local_app: None) -> dict[str, list[str]]:
    """The routes of the app itself, by name: the page and its JSON endpoint."""
    from cidery_server.web.routes import routes

    found: dict[str, list[str]] = {}
    for route in routes():
        found.setdefault(route.name, []).append(route.path)
    return found


def test_no_route_escapes_the_walk(paths: dict[str, list[str]]) -> None:
    assert set(paths) == {name.partition(" of ")[0] for name in EXPECTED}
    for name, both in paths.items():
        page, *endpoint = sorted(both, key=len)
        assert endpoint == ([] if name == "openapi" else [f"/api{page}"])


def visit(world: World, role: str, method: str, path: str) -> httpx.Response:
    visitor = world[role]
    if path.endswith("/sign-out") and method == "POST" and role in ("team", "other", "owner"):
        # A session of its own: the others are still needed.
        visitor = world.app.visitor()
        visitor.sign_in({"team": TEAM, "other": OTHER, "owner": "owner"}[role])
    if method == "GET":
        return visitor.get(path)
    json = path.startswith("/api/")
    return visitor.post(path, **({"json": {}} if json else {"data": {}}))


def on_page(status: int, method: str) -> tuple[int, ...]:
    """Return what a page answers where its JSON endpoint answers so."""
    if status == 401:
        return (302,)
    return (200, 201, 302) if method == "POST" and status < 300 else (status,)


def new_key(visitor: Visitor) -> str:
    visitor.make_token()
    return str(visitor.get("/api/account").json()["tokens"][-1]["key"])


@pytest.mark.parametrize("name", EXPECTED)
def test_authorization(world: World, paths: dict[str, list[str]], name: str) -> None:
    expected = EXPECTED[name]
    values = addresses(world)[name]
    for route in paths[name.partition(" of ")[0]]:
        if name == "revoke-token":
            values = {"key": new_key(world["team"])}
        if name == "study-undo":
            world.judge.answer(world.judge.task(), "1")
        path = fill(route, values)
        is_json = path.startswith("/api/")
        for method in METHODS:
            listed = (expected.get if method == "GET" else expected.post).split()
            if method == "POST" and expected.page and not is_json:
                listed = expected.page.split()
            for place, role in enumerate(ROLES):
                status = int(listed[place % len(listed)])
                if status == 405 and name.endswith("of the owner"):
                    continue
                answer = visit(world, role, method, path)
                wanted = (status,) if is_json else on_page(status, method)
                assert answer.status_code in wanted, (method, path, role, answer.text[:300])


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "TRACE"])
def test_other_methods_do_nothing(world: World, paths: dict[str, list[str]], method: str) -> None:
    values = addresses(world)
    for name, both in paths.items():
        for route in both:
            for role in ("stranger", "team", "owner"):
                visitor = world[role]
                headers = {"X-CSRFToken": visitor.http.cookies.get("csrftoken", "")}
                path = fill(route, values[name])
                answer = visitor.http.request(method, path, headers=headers)
                assert answer.status_code in (302, 401, 403, 405), (method, path, role)


def test_what_is_not_ones_own_looks_like_nothing(world: World) -> None:
    """Another team's submission and a hidden challenge look like something that does not exist."""
    for known, unknown in (
        (f"/api/submissions/{world.submissions['secret']}", "/api/submissions/99999"),
        ("/api/challenges/cellar", "/api/challenges/never-was"),
        ("/api/challenges/cellar/submissions", "/api/challenges/never-was/submissions"),
    ):
        answers = [world["team"].get(path) for path in (known, unknown)]
        assert answers[0].status_code == answers[1].status_code == 404
        assert answers[0].json() == answers[1].json()
    listed = world["team"].get("/api/challenges").json()["challenges"]
    slugs = {challenge["slug"] for challenge in listed}
    assert {"orchard", "attic", "spare"} <= slugs
    assert "cellar" not in slugs
    assert world["team"].get("/api/challenges/attic").json()["leaderboard"] is None
    choices = world["team"].get("/api/challenges/attic/compare").json()["choices"]
    assert choices == []
    pair = {"first": world.submissions["secret"], "second": world.submissions["team"]}
    assert world["team"].get("/api/challenges/attic/compare", params=pair).status_code == 404


def test_tokens_admit_as_sessions_do(world: World) -> None:
    """The owner's pages, asked with a team's token, and the other way round."""
    for role, status in (("team", 403), ("owner", 200)):
        answer = world.app.visitor().get("/api/accounts", headers=world.bearer(role))
        assert answer.status_code == status
    other = world.app.visitor().get(
        f"/api/submissions/{world.submissions['secret']}", headers=world.bearer("team")
    )
    assert other.status_code == 404


def test_nobody_makes_themselves_more_than_they_are(world: World) -> None:
    """Fields that a form does not have are not taken: no kind, no id, no state, no team."""
    visitor = world.app.visitor()
    content = {"name": "Climber", "password": "cider in the evening"}
    more = {"kind": "owner", "id": 1, "is_active": True, "is_owner": True}
    refused = visitor.post("/api/sign-up", json=content | more)
    assert set(refused.json()["errors"]) == set(more)
    visitor.post("/sign-up", data=content | more)
    assert visitor.get("/api/account").json()["account"]["kind"] == "team"
    assert visitor.get("/api/accounts").status_code == 403
    answer = visitor.post(
        "/api/challenges/orchard/submissions",
        data={"title": "x", "team": OTHER, "state": "scored", "created": "2020-01-01"},
        files={"file": ("r.json", b"[]")},
    )
    assert answer.status_code == 400
    before = world["owner"].get("/api/challenges/orchard").json()["challenge"]
    world["owner"].post("/api/challenges/orchard/settings", json={"slug": "moved", "metrics": []})
    assert world["owner"].get("/api/challenges/orchard").json()["challenge"] == before
