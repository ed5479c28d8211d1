"""Every route of the app, and what it answers to whom."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from server.tests.support.attacks import World


@dataclass(frozen=True)
class Expected:
    """What the endpoint answers, in the order of ROLES: stranger, judge, other, owner, team."""

    get: str
    post: str = "405 405 405 405 405"
    page: str = ""
    """What the page answers to POST, where it differs by more than where it leads."""


OPEN = "200 200 200 200 200"
MEMBERS = "401 401 200 200 200"
OWNERS = "401 401 403 200 403"
INVALID = "401 401 403 400 403"
"""To the owner alone an empty form is a wrong form."""
UNWRITABLE = "401 401 403 405 403"
EXPECTED: Mapping[str, Expected] = {
    "home": Expected(OPEN),
    "health": Expected(OPEN),
    "api-guide": Expected(OPEN),
    "openapi": Expected(OPEN),
    "language": Expected(OPEN, "400 400 400 400 400"),
    "sign-up": Expected(OPEN, "400 400 400 400 400"),
    "sign-in": Expected(OPEN, "400 400 400 400 400"),
    "sign-out": Expected(OPEN, "204 204 204 204 204"),
    "account": Expected(MEMBERS, "401 401 201 201 201"),
    "change-password": Expected(MEMBERS, "401 401 400 400 400"),
    "revoke-token": Expected("401 401 404 404 200", "401 401 404 404 204"),
    "accounts": Expected(OWNERS, INVALID),
    "set-password": Expected("404 404 404 404 404", "400 400 400 400 400", "404 404 404 404 404"),
    "challenges": Expected(OPEN),
    "new-challenge": Expected(OWNERS, INVALID),
    "challenge": Expected(OPEN),
    "challenge of the owner": Expected("404 404 404 200 404"),
    "images": Expected(OPEN),
    "images of the owner": Expected("404 404 404 200 404"),
    "settings": Expected(OWNERS, "401 401 403 200 403", "401 401 403 400 403"),
    "new-phase": Expected(OWNERS, INVALID),
    "rescore": Expected(OWNERS, "401 401 403 204 403"),
    "submissions": Expected(MEMBERS, "401 401 400 400 400"),
    "submissions of the owner": Expected(
        "401 401 404 200 404", "401 401 400 400 400", "401 401 404 400 404"
    ),
    "teams": Expected(OWNERS, INVALID),
    "take-part": Expected(MEMBERS, "401 401 204 204 204"),
    "team": Expected(MEMBERS, "401 401 400 400 400"),
    "join-team": Expected("401 401 404 404 404", "401 401 404 404 404"),
    "standing": Expected("401 401 403 403 200", "401 401 400 400 400", "401 401 403 403 400"),
    "standing of the other team": Expected(
        "401 401 200 403 404", "401 401 400 400 400", "401 401 400 403 404"
    ),
    "decision": Expected("401 401 403 404 403", "401 401 403 400 403", "401 401 403 404 403"),
    "leaderboard-file": Expected(OPEN),
    "leaderboard-file of the owner": Expected("404 404 404 200 404"),
    "announcements": Expected(OPEN, INVALID),
    "announcements of the owner": Expected("404 404 404 200 404", INVALID, "401 401 403 400 403"),
    "delete-announcement": Expected("401 401 403 404 403", "401 401 403 404 403"),
    "files": Expected(OPEN, INVALID),
    "files of the owner": Expected("404 404 404 200 404", INVALID, "401 401 403 400 403"),
    "file": Expected("404 404 404 404 404"),
    "delete-file": Expected("401 401 403 404 403", "401 401 403 404 403"),
    "chart": Expected(OPEN),
    "chart of the owner": Expected("404 404 404 200 404"),
    "compare": Expected(OPEN),
    "compare of the owner": Expected("404 404 404 200 404"),
    "submission": Expected(OPEN),
    "submission of the other team": Expected("404 404 200 200 404"),
    "image-scores": Expected("401 401 403 200 403", "401 401 405 405 405"),
    "image-scores of the other team": Expected("401 401 403 200 404", "401 401 405 405 405"),
    "explore": Expected("401 401 403 200 403", "401 401 405 405 405"),
    "explore of the other team": Expected("401 401 403 200 404", "401 401 405 405 405"),
    "studies": Expected(OPEN),
    "new-study": Expected(OWNERS, INVALID),
    "study": Expected(OWNERS, UNWRITABLE),
    "study-progress": Expected(OWNERS, UNWRITABLE),
    "study-state": Expected(OWNERS, INVALID),
    "study-copy": Expected(OWNERS, INVALID),
    "study-edit": Expected(OWNERS, "401 401 403 200 403", INVALID),
    "study-erase": Expected(OWNERS, INVALID),
    "study-quality": Expected(OWNERS, "401 401 403 200 403"),
    "study-invites": Expected(OWNERS, INVALID),
    "study-judge": Expected(OWNERS, INVALID),
    "erase-judge": Expected(OWNERS, INVALID),
    "study-review": Expected(OWNERS, INVALID),
    "study-results": Expected(OWNERS, UNWRITABLE),
    "study-accuracy": Expected(OWNERS, UNWRITABLE),
    "study-explore": Expected(OWNERS, UNWRITABLE),
    "study-references": Expected(OWNERS, INVALID),
    "study-export": Expected(OWNERS, UNWRITABLE),
    "study-chart": Expected(OWNERS, UNWRITABLE),
    "study-image": Expected("403 404 403 200 403"),
    "study-image of the judge": Expected("403 200 403 200 403"),
    "study-join": Expected(OPEN, "400 400 400 400 400"),
    "study-join of nobody": Expected("404 404 404 404 404", "400 400 400 400 400", "404"),
    "study-task": Expected("403 200 403 403 403", "400 400 400 400 400", "403 400 403 403 403"),
    "study-undo": Expected("403 200 403 403 403", "403 200 403 403 403"),
    "study-leave": Expected("403 200 403 403 403", "400 400 400 400 400", "403 400 403 403 403"),
}
"""By the name of the route, and whose object is asked for."""


def addresses(world: World) -> dict[str, dict[str, object]]:
    """Return what stands in for the parameters of each address."""
    # Keys of items are in random order: those of images that there are not are left out.
    pictured = (
        "SELECT min(id) FROM studies_item WHERE study_id = (SELECT id FROM studies_study WHERE "
        "name = 'local') AND content LIKE '%.png%' AND content NOT LIKE '%secret%' AND id"
    )
    (given,) = world.ask(
        f"{pictured} IN (SELECT item_id FROM studies_assignment WHERE judge_id = "
        "(SELECT id FROM studies_judge WHERE worker = 'J1'))"
    )
    (unseen,) = world.ask(
        f"{pictured} NOT IN (SELECT item_id FROM studies_assignment WHERE judge_id IS NOT NULL)"
    )
    assert given[0] and unseen[0]
    (judge,) = world.ask("SELECT min(id) FROM studies_judge")
    local = {"name": "local"}
    found: dict[str, dict[str, object]] = {
        "revoke-token": {"key": "made-when-it-is-needed"},
        "set-password": {"account": "MQ", "key": "abc-def"},
        "rescore": {"challenge": "spare"},
        "submission": {"submission": world.submissions["team"]},
        "submission of the other team": {"submission": world.submissions["secret"]},
        "decision": {"submission": world.submissions["team"]},
        "delete-announcement": {"challenge": "orchard", "announcement": 1},
        "file": {"challenge": "orchard", "file": 1},
        "delete-file": {"challenge": "orchard", "file": 1},
        "join-team": {"key": "never-made"},
        "standing": {"submission": world.submissions["team"]},
        "standing of the other team": {"submission": world.submissions["secret"]},
        "image-scores": {"submission": world.submissions["team"]},
        "image-scores of the other team": {"submission": world.submissions["secret"]},
        "explore": {"submission": world.submissions["team"]},
        "explore of the other team": {"submission": world.submissions["secret"]},
        "erase-judge": {**local, "judge": judge[0]},
        "study-judge": {**local, "judge": judge[0]},
        "study-export": {**local, "kind": "answers"},
        "study-chart": {**local, "chart": "progress"},
        "study-image": {**local, "item": unseen[0]},
        "study-image of the judge": {**local, "item": given[0]},
        "study-join": {**local, "key": world.links["local"].rpartition("/")[2]},
        "study-join of nobody": {**local, "key": "nobody"},
    }
    for name in EXPECTED:
        if name.startswith("study"):
            found.setdefault(name, local)
        challenge = "cellar" if name.endswith("of the owner") else "orchard"
        found.setdefault(name, {"challenge": challenge})
    return found


def fill(path: str, values: Mapping[str, object]) -> str:
    return re.sub(r"<\w+:(\w+)>", lambda found: str(values[found[1]]), path)
