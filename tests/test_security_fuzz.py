"""The API's own description, turned against it: schemathesis, as stranger, team and owner."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from attacking import World
from serving import PATIENCE_SECONDS

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")
EXAMPLES = 4
UNTOUCHED = ("/api/sign-out", "/api/accounts", "/rescore", "/revoke")
"""What would end the sessions and scores that other tests need."""
ROLES = ("stranger", "team", "owner")


def operations(world: World) -> list[Any]:
    schema = schemathesis.openapi.from_url(f"{world.app.url}/openapi.json")
    return [found.ok() for found in schema.get_all_operations()]


@pytest.mark.parametrize("role", ROLES)
def test_nothing_fails(world: World, role: str) -> None:
    headers = {} if role == "stranger" else world.bearer(role)
    found = operations(world)
    assert len(found) > 30
    for operation in found:
        if operation.method == "post" and operation.path.endswith(UNTOUCHED):
            continue
        attack(operation, headers)
    assert "Internal Server Error" not in world.app.log.read_text()


def attack(operation: Any, headers: dict[str, str]) -> None:
    @seed(1)
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy())
    def run(case: Any) -> None:
        case.headers = {
            key: value for key, value in (case.headers or {}).items() if key != "Authorization"
        }
        answer = case.call(headers=headers, timeout=PATIENCE_SECONDS)
        assert answer.status_code < 500, (case.as_curl_command(), answer.text)
        if answer.status_code < 300:
            operation.validate_response(answer)

    run()
