"""The API's own description, turned against it by schemathesis, in every role."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from server.tests.support.attacks import World, make_challenge, results, submit
from server.tests.support.installations import TIMEOUT_SECONDS
from server.tests.support.studies import join, make_links, make_study, triplets

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")
EXAMPLES = 50 if os.environ.get("CIDERY_EXAMPLES") == "new" else 3
UNTOUCHED = ("/api/sign-out", "/api/accounts")
"""What would end the sessions that other tests need."""
ROLES = ("stranger", "judge", "team", "owner")


@pytest.fixture(scope="module")
def target(world: World) -> dict[str, Any]:
    """What there is to be hit: parameters of addresses, and the judge's headers."""
    make_challenge(world["owner"], "fuzzed")
    submission = submit(world["team"], "fuzzed", results("dog")).json()["id"]
    study = make_study(world["owner"], triplets(20), name="fuzzed")
    (link,) = make_links(world["owner"], study)
    judge = join(world.app, link, study)
    task = judge.answer(judge.task(), "1")
    shown = world["owner"].get(f"/api/studies/{study}").json()
    return {
        "visitor": judge.visitor,
        "assignment": task["assignment"],
        "addresses": {
            "challenge": "fuzzed",
            "name": study,
            "submission": submission,
            "judge": shown["judges"][0]["id"],
            "item": world.ask("SELECT max(id) FROM studies_item")[0][0],
            "kind": "answers",
            "chart": "times",
            "key": link.rpartition("/")[2],
        },
    }


def headers_of(world: World, role: str, target: dict[str, Any]) -> dict[str, str]:
    """Return what lets a role in: a token, or cookies and what forms hold against forgery."""
    if role in world.tokens:
        return world.bearer(role)
    cookies = (target["visitor"] if role == "judge" else world[role]).http.cookies
    sent = "; ".join(f"{name}={value}" for name, value in cookies.items())
    return {"Cookie": sent, "X-CSRFToken": cookies["csrftoken"]}


@pytest.fixture(scope="module")
def operations(world: World) -> list[Any]:
    """What the API says can be asked of it."""
    schema = schemathesis.openapi.from_url(f"{world.app.url}/openapi.json")
    return [found.ok() for found in schema.get_all_operations()]


@pytest.mark.parametrize("role", ROLES)
def test_nothing_fails(
    world: World, target: dict[str, Any], operations: list[Any], role: str
) -> None:
    world[role].get("/sign-in")  # brings the CSRF cookie
    headers = headers_of(world, role, target)
    assert len(operations) > 30
    for operation in operations:
        if operation.method == "post" and operation.path.endswith(UNTOUCHED):
            continue
        attack(operation, headers, target)
    # Other tests read English pages.
    back = world[role].http.post("/api/language", json={"language": "en"}, headers=headers)
    assert back.status_code < 300, back.text
    assert "Internal Server Error" not in world.app.log.read_text()


def attack(operation: Any, headers: dict[str, str], target: dict[str, Any]) -> None:
    @seed(1)
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(), hit=st.sampled_from((True, True, False)))
    def run(case: Any, hit: bool) -> None:
        case.headers = {
            key: value for key, value in (case.headers or {}).items() if key != "Authorization"
        }
        case.cookies = {}
        if hit:
            aim(case, target)
        answer = case.call(headers=headers, timeout=TIMEOUT_SECONDS)
        assert answer.status_code < 500, (case.as_curl_command(), answer.text)
        if answer.status_code < 300:
            operation.validate_response(answer)

    run()


def aim(case: Any, target: dict[str, Any]) -> None:
    """Turn a request to what there is: at random addresses there is hardly ever anything."""
    for name in case.path_parameters or {}:
        case.path_parameters[name] = target["addresses"].get(name, case.path_parameters[name])
    if isinstance(case.body, dict) and "assignment" in case.body:
        case.body["assignment"] = target["assignment"]
