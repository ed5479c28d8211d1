"""The foundation of `cidery serve`, on SQLite and PostgreSQL: accounts, JSON endpoints, headers,
copies."""

from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cidery.errors import MissingExtraError, SettingError
from cidery_server.web.environment import Environment
from cidery_server.web.roles import Role
from server.tests.support.installations import (
    PASSWORD,
    Installation,
    PostgreSQL,
    free_port,
    running,
    wait_until,
)
from support.reaper import is_running


def test_health(installation: Installation) -> None:
    assert installation.visitor().get("/api/health").json() == {"status": "ok"}


def test_a_team_signs_up_and_in_and_out(installation: Installation) -> None:
    visitor = installation.visitor()
    visitor.sign_up("Pomologists")
    shown = visitor.get("/api/account").json()["account"]
    assert (shown["name"], shown["kind"]) == ("Pomologists", "team")
    session = visitor.http.cookies["sessionid"]
    assert visitor.post("/api/sign-out", json={}).status_code == 204
    assert visitor.get("/api/account").status_code == 401
    visitor.sign_in("pomologists")
    assert visitor.http.cookies["sessionid"] != session


def test_sign_up_refuses(installation: Installation) -> None:
    visitor = installation.visitor()
    visitor.sign_up("Quince")
    other = installation.visitor()
    answer = other.post("/api/sign-up", json={"name": "QUINCE", "password": PASSWORD})
    assert answer.status_code == 400
    assert answer.json()["errors"] == {"name": ["This name is taken; choose another."]}
    page = other.post("/sign-up", data={"name": "Medlar", "password": "short"})
    assert page.status_code == 400
    assert "It must contain at least 10 characters." in page.text
    assert 'aria-invalid="true"' in page.text
    assert "short" not in page.text.replace("too short", "")


def test_wrong_passwords_say_nothing_more(installation: Installation) -> None:
    installation.visitor().sign_up("Russet")
    answers = [
        installation.visitor().post("/api/sign-in", json={"name": name, "password": "wrong pass"})
        for name in ("Russet", "Nobody")
    ]
    assert answers[0].status_code == 400
    assert answers[0].json() == answers[1].json()


def test_tokens(installation: Installation) -> None:
    visitor = installation.visitor()
    visitor.sign_up("Bramley")
    token = visitor.make_token()
    bearer = {"Authorization": f"Bearer {token}"}
    shown = installation.visitor().get("/api/account", headers=bearer).json()
    assert "new_token" not in shown
    assert token not in json.dumps(shown)
    key = shown["tokens"][0]["key"]
    stranger = installation.visitor()
    stranger.sign_up("Cox")
    assert stranger.post(f"/api/account/tokens/{key}/revoke", json={}).status_code == 404
    assert visitor.post(f"/api/account/tokens/{key}/revoke", json={}).status_code == 204
    for value in (token, "nonsense", "\xff\xfe"):
        headers = {b"Authorization": b"Bearer " + value.encode("latin-1")}
        assert installation.visitor().get("/api/account", headers=headers).status_code == 401


def test_forged_requests_are_refused(installation: Installation) -> None:
    forged = {"name": "Forger", "password": PASSWORD}
    answer = installation.visitor().http.post("/api/sign-up", json=forged)
    assert answer.status_code == 403
    assert "CSRF" in answer.json()["detail"]


@pytest.mark.both_databases
def test_the_owners_link_works_once(installation: Installation) -> None:
    link = installation.run("serve", "--new-owner", "Grower").strip()
    path = "/" + link.split("/", 3)[3]
    owner = installation.visitor()
    assert "Grower" in owner.get(path).text
    answer = owner.post(path, data={"password": PASSWORD})
    assert (answer.status_code, answer.headers["location"]) == (302, "/")
    assert owner.get("/api/accounts").status_code == 200
    again = owner.get(path)
    assert again.status_code == 404
    assert "has been used" in again.text


def test_the_owner_suspends_a_team(installation: Installation) -> None:
    owner, team = installation.owner(), installation.visitor()
    team.sign_up("Wormy")
    bearer = {"Authorization": f"Bearer {team.make_token()}"}
    assert team.get("/api/accounts").status_code == 403
    accounts = owner.get("/api/accounts").json()["accounts"]
    number = next(account["id"] for account in accounts if account["name"] == "Wormy")
    owner.post("/api/accounts", json={"account": number, "action": "suspend"})
    assert team.get("/api/account").status_code == 401
    assert installation.visitor().get("/api/account", headers=bearer).status_code == 401
    link = owner.post("/api/accounts", json={"account": number, "action": "link"}).json()["link"]
    assert "/set-password/" in link


def test_strangers_are_sent_to_sign_in(installation: Installation) -> None:
    answer = installation.visitor().get("/account")
    assert answer.status_code == 302
    assert answer.headers["location"] == "/sign-in?next=%2Faccount"


@pytest.mark.parametrize("wanted", ["https://evil.example/", "//evil.example", "javascript:x"])
def test_signing_in_leads_nowhere_else(installation: Installation, wanted: str) -> None:
    visitor = installation.visitor()
    visitor.sign_up(f"Pippin {wanted[:6]}")
    data = {"name": f"Pippin {wanted[:6]}", "password": PASSWORD}
    answer = visitor.post("/sign-in", params={"next": wanted}, data=data)
    assert answer.headers["location"] == "/"


def test_headers(installation: Installation) -> None:
    for path in ("/", "/nowhere", "/api/health"):
        headers = installation.visitor().get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-frame-options"] == "DENY"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
    assert installation.visitor().get("/sign-in").headers["cache-control"] == "no-store, private"


def test_pages_ask_nobody_else(installation: Installation) -> None:
    for path in ("/", "/sign-in", "/api-guide", "/challenges"):
        page = installation.visitor().get(path).text
        addresses = re.findall(r"\b(?:src|href)=[\"']?([^\"'\s>]+)", page)
        assert addresses
        assert all(re.match(r"/(?!/)|#", address) for address in addresses)
        assert "<style" not in page
        assert "style=" not in page
        assert 'href="http' not in page


def test_openapi_describes_the_json_endpoints(installation: Installation) -> None:
    document = installation.visitor().get("/openapi.json").json()
    assert document["openapi"].startswith("3")
    assert all(path.startswith("/api/") for path in document["paths"])
    form = document["paths"]["/api/sign-up"]["post"]["requestBody"]["content"]["application/json"]
    assert form["schema"]["$ref"].endswith("/SignUpFormRequest")
    answers = document["paths"]["/api/health"]["get"]["responses"]["200"]["content"]
    assert list(answers) == ["application/json"]
    (upload,) = document["paths"]["/api/challenges/{challenge}/submissions"]["post"]["requestBody"][
        "content"
    ]
    assert upload == "multipart/form-data"
    queries = document["paths"]["/api/challenges/{challenge}"]["get"]["parameters"]
    assert {query["name"] for query in queries} == {
        *("challenge", "sort", "order", "slice"),
        "by_slice",
    }
    operations = (operation for path in document["paths"].values() for operation in path.values())
    assert {operation["tags"][0] for operation in operations} == {"web", "studies", "challenges"}
    guide = installation.visitor().get("/api-guide").text
    assert "POST /api/sign-up" in guide


def test_the_description_of_the_api_listens_to_nobody(installation: Installation) -> None:
    """A version that was asked for stood in a header, and a line's end in it was a failure."""
    plain, asked = (
        installation.visitor().get("/openapi.json", params=query)
        for query in ({}, {"version": "2\nX-Header: 1", "lang": "fr"})
    )
    assert (plain.status_code, asked.status_code) == (200, 200)
    assert asked.text == plain.text


def test_unknown_addresses(installation: Installation) -> None:
    visitor = installation.visitor()
    assert "There is no such page." in visitor.get("/nowhere").text
    assert visitor.get("/api/nowhere").json() == {"detail": "There is no such page."}


@pytest.mark.both_databases
def test_a_backup_while_the_app_runs(
    installation: Installation, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    installation.visitor().sign_up("Kept")
    copy = tmp_path / "copy"
    assert installation.run("serve", "--backup", str(copy)) == f"copied to {copy}\n"
    assert copy.stat().st_mode & 0o777 == 0o600
    message = installation.run("serve", "--backup", str(copy), status=2)
    assert "already exists; choose a new file" in message
    if installation.database:
        server: PostgreSQL = request.getfixturevalue("postgresql")
        target = server.new_database()
        command = [str(server.programs / "pg_restore"), "--no-owner", "-d", target, str(copy)]
        subprocess.run(command, check=True)
    else:
        target = ""
        (tmp_path / "restored" / "data").mkdir(parents=True)
        copy.rename(tmp_path / "restored" / "data" / "cidery.sqlite3")
    # The copy has the account; that a restored one serves and scores is tested beside its secrets.
    restored = Installation(tmp_path / "restored", target)
    restored.folder.mkdir(exist_ok=True)
    refused = restored.run("serve", "--owner-link", "Kept", status=2)
    assert "the account 'Kept' belongs to a team" in refused


@pytest.mark.both_databases
def test_secrets_stay_in_the_data_directory(installation: Installation) -> None:
    installation.visitor().sign_up("Secretive")
    key = installation.folder / "data" / "secret-key"
    assert key.stat().st_mode & 0o777 == 0o600
    assert (installation.folder / "data").stat().st_mode & 0o777 == 0o700
    log = installation.log.read_text()
    assert PASSWORD not in log
    assert key.read_text().strip() not in log
    assert "Traceback" not in log
    if not installation.database:
        with sqlite3.connect(installation.folder / "data" / "cidery.sqlite3") as database:
            query = "select password from web_account where name = 'Secretive'"
            (stored,) = database.execute(query).fetchone()
        database.close()
        assert stored.startswith("argon2$")


def test_processes_live_and_die_together(tmp_path: Path) -> None:
    """Those that die are started again; none outlives the supervisor, however that one ended."""
    with running(tmp_path, workers=1) as app:
        assert app.process is not None
        before = children_of(app.process.pid)
        assert len(before) == 2
        for child in before:
            os.kill(child, signal.SIGKILL)
        wait_until(lambda: len(children_of(app.process.pid) - before) == 2)
        # The web server's own child may answer until it notices that its parent is gone.
        wait_until(lambda: len(family_of(app.process.pid) - before) == 3)
        app.wait()
        family = family_of(app.process.pid)
        app.process.kill()
        app.process.wait()
        wait_until(lambda: not any(map(is_running, family)), what="ending without a parent")
        app.start()
        assert app.visitor().get("/api/health").status_code == 200
        family = family_of(app.process.pid)
    wait_until(lambda: not any(map(is_running, family)))


def test_no_migration_is_missing(local_app: None) -> None:
    from django.core.management import call_command

    call_command("makemigrations", check=True, dry_run=True, verbosity=0)


def test_who_writes_waits_for_their_turn(local_app: None) -> None:
    from django.db import connection

    from cidery_server.web.write_lock import writing

    path = Path(f"{connection.settings_dict['NAME']}-turn")
    free = []

    def is_free() -> bool:
        with path.open("ab") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
        return True

    with writing():
        free.append(is_free())
        assert path.stat().st_mode & 0o777 == 0o600
        with writing():  # within one's turn there is no other to wait for
            pass
        free.append(is_free())
    assert [*free, is_free()] == [False, False, True]
    path.unlink()
    path.mkdir()  # it cannot be made, as on a full disk
    try:
        with writing():
            assert connection.in_atomic_block
    finally:
        path.rmdir()


def test_labels_of_metrics_fit_their_column(local_app: None) -> None:
    from rest_framework.serializers import Serializer

    from cidery_server.challenges.forms import MetricNames
    from cidery_server.challenges.models import Score

    class Form(Serializer[Any]):
        metrics = MetricNames()

    def check(metrics: str) -> Any:
        # The command line's: a page may not name an encoder's folder.
        form = Form(data={"metrics": metrics}, context={"local": True})
        return form.validated_data["metrics"] if form.is_valid() else form.errors["metrics"][0]

    column = Score._meta.get_field("metric").max_length
    assert column is not None
    name = "consensus:encoder="
    fitting = name + "x" * (column - len(name))
    assert check(fitting) == [fitting]
    assert f"longer than {column} characters" in check(f"{fitting}x")


def test_every_route_names_its_role(local_app: None) -> None:
    from cidery_server.web.routes import routes

    found = {route.path: route for route in routes()}
    pages = [path for path in found if not path.startswith(("/api/", "/openapi"))]
    assert len(pages) > 20
    assert all(f"/api{path}" in found for path in pages)
    assert found["/accounts"].reads is Role.OWNER
    assert found["/challenges/<slug:challenge>/submissions"].writes is Role.MEMBER
    assert found["/health"].writes is None


def test_routes_refuse_those_they_are_not_for(local_app: None, installation: Installation) -> None:
    from cidery_server.web.routes import routes

    stranger, team = installation.visitor(), installation.visitor()
    team.sign_up("Walker")
    for route in routes():
        path = re.sub(r"<slug:\w+>", "some", re.sub(r"<int:\w+>", "1", route.path))
        for visitor, is_team in ((stranger, False), (team, True)):
            read, written = visitor.get(path), visitor.post(path, json={})
            for role, answer in ((route.reads, read), (route.writes, written)):
                assert answer.status_code < 500, route
                if role is None or role is Role.ANYONE or (is_team and role is Role.MEMBER):
                    continue
                expected = 403 if is_team else 401 if path.startswith("/api/") else 302
                assert answer.status_code == expected, (route, is_team)
        if route.name == "sign-out":
            team.sign_in("Walker")


def children_of(process: int) -> set[int]:
    listed = Path(f"/proc/{process}/task/{process}/children")
    if not listed.exists():
        pytest.skip("only Linux lists a process's children")
    return set(map(int, listed.read_text().split()))


def family_of(process: int) -> set[int]:
    """Return the children of a process, and theirs."""
    children = children_of(process)
    return children.union(*(children_of(child) for child in children if is_running(child)))


def test_settings_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="the database must be a URL that starts with sqlite://"):
        Environment(database="mysql://user:secret@host/name")
    with pytest.raises(
        SettingError, match=r"the url must be a URL that starts with http://, https"
    ):
        Environment(url="captions.example.org")
    app = Installation(tmp_path, settings={"CIDERY_LEASE": "soon"}, port=free_port())
    assert "must be an integer" in app.run("serve", "--backup", "x", status=2)
    app = Installation(tmp_path, port=free_port())
    assert "no database at" in app.run("serve", "--backup", "x", status=2, folder=tmp_path)


def test_importing_cidery_leaves_django_alone() -> None:
    code = "import sys, cidery; sys.exit('django' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_an_engine_that_is_missing_is_noticed_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cidery_server.commands.serve import serve

    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.delenv("CIDERY_ENGINE", raising=False)
    with pytest.raises(MissingExtraError, match=r"cidery\[ray\]"):
        serve(data=tmp_path / "data", engine="ray")
    monkeypatch.setenv("CIDERY_ENGINE", "ray")
    with pytest.raises(MissingExtraError, match=r"cidery\[ray\]"):
        serve(data=tmp_path / "data")
    assert not (tmp_path / "data").exists()


def test_a_cluster_that_is_missing_is_noticed_at_once(tmp_path: Path) -> None:
    from cidery_server.commands.serve import serve

    pytest.importorskip("ray")
    address = f"127.0.0.1:{free_port()}"
    with pytest.raises(SettingError, match=f"no Ray cluster at '{address}'"):
        serve(data=tmp_path / "data", engine="ray", address=address)
    assert not (tmp_path / "data").exists()
