"""What attackers send: forged requests, payloads, injections, traversals, bombs, bursts."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import subprocess
import sys
import zipfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from cidery.errors import InputError
from server.tests.support.attacks import (
    IMAGES,
    OTHER,
    PAYLOAD,
    TEAM,
    World,
    make_challenge,
    results,
    submit,
)
from server.tests.support.installations import (
    PASSWORD,
    Installation,
    Visitor,
    choose_database,
    free_port,
    running,
    wait_for_morning,
    wait_until,
)
from server.tests.support.studies import make_links, make_study

INJECTIONS = (
    "'",
    "' OR '1'='1",
    "1; DROP TABLE web_account; --",
    "1) UNION SELECT name, password FROM web_account --",
    '"; SELECT pg_sleep(5); --',
    "%27%20OR%201=1",
    "\\",
    "%s %(name)s {0}",
)


# Forged requests


FORGED = {
    "/sign-in": {"name": OTHER, "password": PASSWORD},
    "/sign-out": {},
    "/account": {},
    "/accounts": {"account": 1, "action": "suspend"},
    "/challenges/spare/rescore": {},
    "/challenges/spare/settings": {"title": "forged"},
    "/studies/local/state": {"state": "closed"},
    "/studies/local/invites": {"name": "forged"},
    "/studies/local/task": {"assignment": 1, "answer": "1"},
    "/studies/local/undo": {},
}


@pytest.mark.parametrize("path", FORGED)
def test_forged_requests_are_refused(world: World, path: str) -> None:
    """A page elsewhere makes the browser post: cookies come along, the token does not."""
    for role in ("owner", "team", "judge", "stranger"):
        visitor = world[role]
        for prefix in ("", "/api"):
            for sent in ({"json": FORGED[path]}, {"data": FORGED[path]}):
                forged: dict[str, Any] = {"headers": {"Origin": "https://evil.example"}, **sent}
                answer = visitor.http.post(prefix + path, **forged)
                assert answer.status_code == 403, (role, prefix + path)
                assert "CSRF" in answer.text
        wrong = visitor.http.post(path, data=FORGED[path], headers={"X-CSRFToken": "a" * 32})
        assert wrong.status_code == 403
    assert world["owner"].get("/api/account").status_code == 200


def test_a_token_needs_no_csrf_token(world: World) -> None:

    def post(headers: dict[str, str]) -> int:
        return world.app.visitor().http.post("/api/account", json={}, headers=headers).status_code

    assert post(world.bearer("team")) == 201
    # A wrong token is not a way round the check for a session that comes along.
    cookie = f"sessionid={world['team'].http.cookies['sessionid']}"
    assert post({"Authorization": "Bearer wrong", "Cookie": cookie}) == 401
    assert post({"Authorization": "Basic d3Jvbmc=", "Cookie": cookie}) == 403


# Scripts


PAGES = (
    "/challenges",
    "/challenges/orchard",
    "/challenges/orchard/chart",
    "/challenges/orchard/compare",
    "/challenges/orchard/submissions",
    "/challenges/orchard/settings",
    "/challenges/orchard/images",
    "/accounts",
    "/account",
    "/studies",
    "/studies/local",
    "/studies/local/accuracy",
    "/studies/local/invites",
    "/studies/sentences/review",
    "/studies/local/task",
)


@pytest.mark.parametrize("role", ["owner", "team", "judge"])
def test_payloads_are_shown_as_text(world: World, role: str) -> None:
    pages = [*PAGES, world.links["local"], f"/submissions/{world.submissions['team']}"]
    escaped = 0
    for path in pages:
        answer = world[role].get(path)
        text = answer.text
        if answer.headers["content-type"].startswith("text/html"):
            assert "<script>" not in text, path
            assert "<img src=x" not in text, path
            assert "<b>play" not in text, path
            escaped += "&lt;script&gt;" in text or "&lt;img" in text
    assert escaped >= 4


def test_payloads_in_what_is_sent_back(world: World) -> None:
    """Forms that are shown again, and errors that quote."""
    shown = [
        world["stranger"].post("/sign-up", data={"name": PAYLOAD, "password": "x"}),
        world["stranger"].post("/sign-in", data={"name": PAYLOAD, "password": "x"}),
        world["stranger"].get("/challenges/orchard", params={"sort": PAYLOAD}),
        world["stranger"].get("/challenges/orchard/compare", params={"first": PAYLOAD}),
        world["stranger"].get(f"/sign-in?next={PAYLOAD}"),
        world["stranger"].get(f"/{PAYLOAD}"),
        world["stranger"].get("/", headers={"Host": PAYLOAD}),
        world["owner"].get("/studies/local/accuracy", params={"metric": PAYLOAD}),
        world["team"].post(
            "/challenges/orchard/submissions",
            data={"title": PAYLOAD},
            files={"file": (f"{PAYLOAD}.json", b'[{"image_id": "<script>", "caption": 1}]')},
        ),
    ]
    for answer in shown:
        assert "<script>" not in answer.text, answer.url
        assert "<img src=x" not in answer.text, answer.url


def test_a_chart_is_no_document_with_scripts(world: World) -> None:
    chart = world["stranger"].get("/challenges/orchard/chart")
    assert chart.headers["content-type"].startswith("image/svg")
    assert "<script" not in chart.text
    assert "<img" not in chart.text
    assert "default-src 'none'" in chart.headers["content-security-policy"]


# Injections


def test_injections_find_nothing(world: World) -> None:
    """In every parameter: addresses, queries, forms, headers and cookies."""
    owner, team, stranger = world["owner"], world["team"], world["stranger"]
    before = world.ask("SELECT count(*), sum(length(password)) FROM web_account")
    answers = []
    for text in INJECTIONS:
        for path in ("challenges", "submissions", "studies", "set-password/MQ"):
            answers.append(stranger.get(f"/api/{path}/{text}"))
        query = {"sort": text, "order": text, "first": text, "second": text, "page": text}
        for path in ("orchard", "orchard/compare", "orchard/chart"):
            answers.append(stranger.get(f"/api/challenges/{path}", params=query))
        answers += [
            owner.get(f"/api/submissions/{world.submissions['team']}/images", params=query),
            owner.get("/api/studies/local/accuracy", params={"metric": text}),
            stranger.post("/api/sign-in", json={"name": text, "password": text}),
            stranger.post("/api/sign-up", json={"name": text, "password": "short"}),
            team.post(f"/api/account/tokens/{text}/revoke", json={}),
            owner.post("/api/accounts", json={"account": text, "action": text}),
            owner.post("/api/studies/local/state", json={"state": text}),
            owner.post("/api/studies/local/judges/1", json={"excluded": text, "reason": text}),
            owner.post("/api/studies/sentences/review", json={"assignment": text}),
            owner.post("/api/challenges/spare/settings", json={"opens": text, "per_day": text}),
            world["judge"].post(
                "/api/studies/local/task", json={"assignment": text, "answer": text}
            ),
            stranger.get(world.links["local"], params={"worker": text, "assignment": text}),
            stranger.get("/api/account", headers={"Cookie": f"sessionid={text}"}),
            stranger.get("/api/studies/local/task", headers={"Cookie": f"judge-local={text}"}),
            stranger.get("/api/account", headers={"Authorization": f"Bearer {text}"}),
        ]
    assert {answer.status_code for answer in answers} <= {200, 400, 401, 403, 404}
    # Not "sql" alone: a random token of a page may have these letters.
    message = re.compile("sqlite|postgres|psycopg|syntax error|database error", re.IGNORECASE)
    assert not any(message.search(answer.text) for answer in answers)
    assert world.ask("SELECT count(*), sum(length(password)) FROM web_account") == before


@pytest.mark.parametrize(
    "body",
    [
        b"null",
        b"[]",
        b"1",
        b'"text"',
        b"{",
        b"\xff\xfe",
        b'{"name": ' + b"[" * 100_000,
        b'{"name": ' + b"9" * 10_000 + b"}",
        b'{"name": 1e999, "password": -1e999}',
        b'{"name": {"a": 1}, "password": [1]}',
        b'{"name": "\\u0000", "password": "\\ud800"}',
        b'{"name": NaN}',
        b"",
    ],
)
def test_odd_bodies_are_refused(world: World, body: bytes) -> None:
    sent = {"content": body, "headers": {"Content-Type": "application/json"}}
    for path in ("sign-in", "sign-up"):
        assert world["stranger"].post(f"/api/{path}", **sent).status_code == 400
    for path in ("accounts", "new-study", "studies/local/state", "new-challenge"):
        assert world["owner"].post(f"/api/{path}", **sent).status_code == 400
    assert world["judge"].post("/api/studies/local/task", **sent).status_code == 400


def test_enormous_bodies_are_refused(world: World) -> None:
    many = {f"field{n}": "x" for n in range(5000)}
    for sent in ({"data": many}, {"data": many, "files": {"file": b"x"}}):
        assert world["team"].post("/api/challenges/orchard/submissions", **sent).status_code == 400
    # So large that a server which does not listen to the end is not heard either.
    large = {"content": b" " * (40 * 2**20), "headers": {"Content-Type": "application/json"}}
    refused = world["stranger"].post("/api/sign-in", **large)
    assert (refused.status_code, refused.json()) == (413, {"detail": "This is larger than 5 MB."})
    page = world["stranger"].post("/sign-in", **large)
    assert page.status_code == 413
    assert "<h1>The request failed</h1>" in page.text
    assert "This is larger than 5 MB." in page.text
    assert world["stranger"].post("/api/sign-in", json={"name": "x" * 10**6}).status_code == 400


def test_refusals_are_heard_by_those_who_send_much(world: World, tmp_path: Path) -> None:
    """Their upload is read to its end, or the connection would break before the answer comes."""
    results = tmp_path / "results.json"
    results.write_text("[" + " " * (40 * 2**20) + "]")
    command = ("submit", "orchard", str(results), "--url", world.app.url, "--token", "wrong")
    assert "Invalid token." in world.app.run(*command, status=2)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("scale_high", 1e308),
        ("scale_step", 1e-6),
        ("scale_high", "inf"),
        ("scale_step", "nan"),
        ("seed", 2**80),
        ("judges_each", 10**9),
        ("items", '{"image": "1", "caption": "\\ud800"}'),
        ("items", '{"image": "1", "caption": "\\u0000"}'),
        ("items", '{"image": "1", "caption": ' + "[" * 50_000),
        ("items", '{"image": "1", "caption": "c", "rating": 1' + "0" * 5000 + "}"),
        ("images", "/etc/{image}"),
        ("images", "file:///etc/{image}"),
        ("images", "javascript:{image}"),
        ("completion_url", "javascript:alert(1)"),
        ("completion_url", "data:text/html,x"),
    ],
)
def test_studies_refuse(world: World, field: str, value: object) -> None:
    """Scales that fill the memory, texts that no database takes, addresses that are none."""
    line = json.dumps({"image": "1", "caption": "c"})
    content = {"name": "refused", "title": "x", "design": "rating", "items": line}
    content["question"] = "How good is it?"
    low = {"scale_low": -1e308} if value == 1e308 else {}
    answer = world["owner"].post("/api/new-study", json={**content, **low, field: value})
    assert answer.status_code == 400, answer.text


# Where addresses lead


@pytest.mark.parametrize(
    "wanted",
    [
        "https://evil.example/",
        "//evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "///evil.example",
        "/%09/evil.example",
        "javascript:alert(1)",
        "study",
        "http:evil",
        "\t//evil.example",
        "/account",
    ],
)
def test_signing_in_leads_nowhere_else(world: World, wanted: str) -> None:
    visitor = world.app.visitor()
    data = {"name": OTHER, "password": PASSWORD}
    answer = visitor.post("/sign-in", params={"next": wanted}, data=data)
    assert answer.status_code == 302
    is_local = wanted in ("/account", "/%09/evil.example")  # browsers keep %09 as it is
    assert answer.headers["location"] == (wanted if is_local else "/")


def test_https_is_insisted_on_where_the_address_says_so(tmp_path: Path) -> None:
    code = """
from cidery_server.web.environment import Environment, set_up
set_up(Environment.read())
from django.test import Client
answer = Client().get("/sign-in", secure=True, headers={"host": "captions.example.org"})
print(answer.status_code, answer.headers, answer.cookies.output())
"""
    settings = {"CIDERY_URL": "https://captions.example.org", "CIDERY_DATA": str(tmp_path)}
    message = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | settings, capture_output=True, check=True
    ).stdout.decode()
    assert message.startswith("200 ")
    assert "max-age=31536000" in message
    assert "Secure" in message.partition("csrftoken")[2]


def test_images_outside_their_folder_do_not_exist(world: World) -> None:
    rows = world.ask(
        "SELECT id, content FROM studies_item WHERE study_id = "
        "(SELECT id FROM studies_study WHERE name = 'local')"
    )
    message = {
        json.loads(content)["image"]: world["owner"].get(f"/studies/local/images/{key}").status_code
        for key, content in rows
    }
    assert message.pop("../secret.png") == 404
    assert message.pop("x" * 1000) == 404
    assert set(message.values()) == {200}
    for path in (
        "/static/../settings.py",
        "/static/%2e%2e/%2e%2e/settings.py",
        "/static//etc/passwd",
    ):
        assert world["stranger"].get(path).status_code == 404


# Bombs and odd archives


def packed(*members: tuple[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return buffer.getvalue()


GOOD = json.dumps(results("dog")).encode()


def test_metrics_open_no_files_of_the_server(world: World) -> None:
    fields = {"slug": "reader", "title": "Reader", "metrics": "bertscore:encoder=/etc"}
    answer = world["owner"].post("/api/new-challenge", data=fields)
    assert answer.status_code == 400
    assert "encoder names a file or a folder of the server" in str(answer.json())


def test_names_in_archives_lead_nowhere(world: World) -> None:
    before = {path.name for path in world.app.folder.iterdir()}
    for name in ("../../escaped.json", "/escaped.json", "..\\escaped.json", "C:\\escaped.json"):
        assert submit(world["team"], "orchard", packed((name, GOOD))).status_code == 201
    assert {path.name for path in world.app.folder.iterdir()} == before
    assert not list(world.app.folder.rglob("escaped*"))


def bombs() -> Iterator[tuple[str, bytes]]:
    zeros = b"\0" * (210 * 2**20)
    yield "too large for captions of 12 images", gzip.compress(zeros, 1)
    yield "too large for captions of 12 images", packed(("r.json", zeros))
    del zeros
    yield "too large for captions of 12 images", gzip.compress(b" " * (20 * 2**20), 1)
    yield "far more than captions", gzip.compress(b"[" + b"[]," * 300_000 + b"[]]", 1)
    yield "compress the JSON only once", gzip.compress(gzip.compress(GOOD))
    yield "compress the JSON only once", packed(("inner.zip", packed(("r.json", GOOD))))
    yield "one JSON file; this one contains 2", packed(("a.json", GOOD), ("b.json", GOOD))
    yield "Parquet or Arrow", b"PAR1" + b"\0" * 100
    yield "Parquet or Arrow", gzip.compress(b"ARROW1" + b"\0" * 100)
    yield "damaged", gzip.compress(GOOD)[:-20]
    yield "damaged", packed(("r.json", GOOD))[:-30]
    yield "not JSON", b"[" * 1000 + b"]" * 999


def test_bombs_are_refused(world: World) -> None:
    for message, content in bombs():
        answer = submit(world["team"], "orchard", content)
        assert answer.status_code == 400, message
        assert message in answer.json()["errors"]["file"][0]
    assert world["stranger"].get("/api/health").status_code == 200


def test_extent_is_checked_before_parsing(local_app: None) -> None:
    """As many brackets as fit into 200 MB would need gigabytes: they never become objects."""
    from cidery_server.challenges.uploads import read_captions

    bracketed = b"[" + b"[]," * (20 * 2**20) + b"[]]"
    with pytest.raises(InputError, match="too large for captions of 12 images"):
        read_captions(gzip.compress(bracketed, 1), list(range(IMAGES)))


# Bursts


RATES = (
    "sign-in=6/hour,sign-in-account=3/hour,sign-up=3/hour,submit=4/hour,join=2/hour,compare=1/hour"
)


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def strict(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installation]:
    """The app behind a proxy, with low limits."""
    port = free_port()
    settings = {
        "CIDERY_RATES": RATES,
        "CIDERY_PROXIES": "1",
        "CIDERY_URL": f"http://127.0.0.1:{port}",
    }
    folder = tmp_path_factory.mktemp("strict")
    database = choose_database(request)
    with running(folder, database, processes=2, port=port, settings=settings) as app:
        yield app


def from_address(number: int) -> dict[str, str]:
    """Return what a proxy adds for a visitor who claims to come from elsewhere."""
    return {"X-Forwarded-For": f"192.0.2.{np.random.default_rng().integers(200)}, 10.0.0.{number}"}


def burst(app: Installation, send: Any) -> Counter[int]:
    """Send twenty requests, ten at once."""
    visitors = [app.visitor() for _ in range(10)]
    for visitor in visitors:
        visitor.get("/sign-in")
    with ThreadPoolExecutor(10) as pool:
        return Counter(answer.status_code for answer in pool.map(send, visitors * 2))


def test_bursts_are_counted_one_by_one(strict: Installation) -> None:
    """Twenty requests at once are twenty, not one, whatever address they claim."""

    def sign_in(visitor: Visitor) -> httpx.Response:
        content = {"name": f"someone {id(visitor)}", "password": "wrong password"}
        return visitor.post("/api/sign-in", json=content, headers=from_address(1))

    def sign_up(visitor: Visitor) -> httpx.Response:
        content = {"name": "x", "password": "x"}
        return visitor.post("/api/sign-up", json=content, headers=from_address(1))

    assert burst(strict, sign_in) == {400: 6, 429: 14}
    visitor, wrong = strict.visitor(), {"name": "someone", "password": "wrong password"}
    page = visitor.post("/sign-in", data=wrong, headers=from_address(1))
    assert (page.status_code, int(page.headers["retry-after"]) > 60) == (429, True)
    assert "Too many requests" in page.text
    assert visitor.get("/sign-in", headers=from_address(1)).status_code == 200
    assert burst(strict, sign_up) == {400: 3, 429: 17}


def test_one_account_is_not_guessed_from_many_addresses(strict: Installation) -> None:
    visitor = strict.visitor()
    names = ["boss", "BOSS", " boss ", "bo\u017fs", "\uff42oss"]
    codes = [
        visitor.post(
            "/api/sign-in",
            json={"name": name, "password": "wrong password"},
            headers=from_address(10 + n),
        ).status_code
        for n, name in enumerate(names)
    ]
    assert codes == [400, 400, 400, 429, 429]


def test_limits_hold_in_bursts(strict: Installation) -> None:
    """Of submissions: three a day by the challenge's rule, four an hour by the server's."""
    owner, team = strict.owner(), strict.visitor()
    team.sign_up("Burst")
    make_challenge(owner, "orchard", per_day=3)
    study = make_study(owner, [{"image": "1"}], design="collection")
    (link,) = make_links(owner, study)
    path = "/api/" + link.split("/", 3)[3]
    joined = burst(strict, lambda visitor: visitor.post(path, json={"agree": True}))
    assert joined == {204: 2, 429: 18}
    bearer = {"Authorization": f"Bearer {team.make_token()}"}

    def send(visitor: Visitor) -> httpx.Response:
        return visitor.http.post(
            "/api/challenges/orchard/submissions",
            data={"title": "x"},
            files={"file": ("r.json", GOOD)},
            headers=bearer,
        )

    wait_for_morning()
    assert burst(strict, send) == {201: 3, 400: 1, 429: 16}
    # Every pair costs a worker seconds: requests for all of them are throttled.
    numbers = [
        submit(owner, "orchard", results(word)).json()["id"] for word in ("ox", "cow", "ewe")
    ]

    def scored() -> bool:
        shown = (owner.get(f"/api/submissions/{n}").json()["submission"] for n in numbers)
        return all(one["state"] == "scored" for one in shown)

    wait_until(scored)
    path = "/api/challenges/orchard/compare"
    first, second = ({"first": numbers[1], "second": n} for n in (numbers[0], numbers[2]))
    # Leaderboards compare teams' best: two submissions of one team nobody has compared yet.
    codes = [owner.get(path, params=pair).status_code for pair in (first, second)]
    assert codes == [200, 429]
    # After a lease without an answer it would be asked for again, which the limit refuses.
    wait_until(lambda: owner.get(path, params=first).json().get("is_ready"))


def test_the_host_is_checked_where_the_address_is_known(strict: Installation) -> None:
    visitor = strict.visitor()
    assert visitor.get("/sign-in").status_code == 200
    for host in ("evil.example", "127.0.0.1.evil.example", "localhost"):
        assert visitor.get("/sign-in", headers={"Host": host}).status_code == 400


@pytest.mark.parametrize(
    "name",
    [
        "Other\u200b team",
        "Other team\u202e",
        "\u2066Other team",
        "Other\u00a0team",
        "\uff2fther team",
        "OTHER TEAM",
        "Other team\u00ad",
        *(f"Other team{unseen}" for unseen in "\ufe0f\u034f\u2800\u180b\u3164"),
        "\u041ether team",  # a Cyrillic O
        "0ther team",
        "Other tearn",
    ],
)
def test_no_team_passes_for_another(world: World, name: str) -> None:
    visitor = world.app.visitor()
    answer = visitor.post("/api/sign-up", json={"name": name, "password": PASSWORD})
    assert answer.status_code == 400
    assert list(answer.json()["errors"]) == ["name"]


@pytest.mark.parametrize("title", ["\x1b[31mred", "Ours\u202e", "two\nlines"])
def test_titles_steer_no_terminal(world: World, title: str) -> None:
    refused = submit(world["team"], "orchard", results("dog"), title)
    assert refused.status_code == 400
    assert refused.json()["errors"]["title"] == [
        "A title must be one line without invisible characters."
    ]


def test_counts_are_not_driven_out(local_app: None) -> None:
    """However much else is tried, what was tried before still counts, until it expires."""
    from django.test import RequestFactory
    from rest_framework.request import Request

    from cidery_server.web.limits import AccountLimit
    from cidery_server.web.models import Attempts

    class Limit(AccountLimit):
        rate = "3/hour"

    def attempt(name: str) -> bool:
        request = Request(RequestFactory().post("/sign-in"))
        request._full_data = {"name": name}
        return Limit().allow_request(request, None)  # type: ignore[arg-type]

    assert [attempt("victim") for _ in range(4)] == [True, True, True, False]
    for number in range(400):
        assert attempt(f"other {number}")
    assert not attempt("victim")
    Attempts.objects.update(expires="2000-01-01T00:00Z")
    assert attempt("victim")
    assert Attempts.objects.count() == 1


def test_few_files_of_an_account_are_read_at_once(local_app: None) -> None:
    from rest_framework.exceptions import Throttled

    from cidery_server.web.limits import MAX_UPLOADS, reading_upload
    from cidery_server.web.models import Account

    one, other = Account(pk=10_001), Account(pk=10_002)
    with ExitStack() as reading:
        for _ in range(MAX_UPLOADS):
            reading.enter_context(reading_upload(one))
        with pytest.raises(Throttled, match="sending 2 files"), reading_upload(one, 0):
            pass
        with reading_upload(other):
            pass
    with pytest.raises(ValueError, match="damaged"), reading_upload(one):
        raise ValueError("damaged")
    with reading_upload(one):
        pass


def test_an_ipv6_network_is_one_stranger(local_app: None) -> None:
    from django.test import RequestFactory
    from rest_framework.request import Request

    from cidery_server.web.limits import WriteLimit

    def known_as(address: str) -> str:
        return WriteLimit().get_ident(Request(RequestFactory().get("/", REMOTE_ADDR=address)))

    assert known_as("2001:db8:1:2::1") == known_as("2001:db8:1:2:ffff::9") == "2001:db8:1:2::/64"
    assert known_as("2001:db8:1:3::1") != known_as("2001:db8:1:2::1")
    assert known_as("::ffff:192.0.2.1") == known_as("192.0.2.1") == "192.0.2.1"
    assert known_as("proxy-output-nothing") == "proxy-output-nothing"


def test_the_message_of_a_wrong_name_is_that_of_a_wrong_password(world: World) -> None:
    answers = [
        world["stranger"].post("/api/sign-in", json={"name": name, "password": "wrong password"})
        for name in (TEAM, "nobody at all", "owner")
    ]
    assert len({answer.text for answer in answers}) == 1
