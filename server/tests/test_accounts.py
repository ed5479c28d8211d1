"""Passwords, one-time links, owners, and whether the app says so when it cannot work."""

from __future__ import annotations

import resource
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from cidery.errors import SettingError
from server.tests.support.attacks import World
from server.tests.support.installations import PASSWORD, Visitor


def new_team(world: World, name: str) -> Visitor:
    visitor = world.app.visitor()
    visitor.sign_up(name)
    return visitor


def make_link(world: World, name: str) -> str:
    accounts = world["owner"].get("/api/accounts").json()["accounts"]
    (number,) = [account["id"] for account in accounts if account["name"] == name]
    message = world["owner"].post("/api/accounts", json={"account": number, "action": "link"})
    return "/api/" + str(message.json()["link"]).split("/", 3)[3]


def test_a_one_time_link_works_once(world: World) -> None:
    new_team(world, "Once")
    path = make_link(world, "Once")
    visitors = [world.app.visitor() for _ in range(6)]
    for visitor in visitors:
        visitor.get("/sign-in")

    def use(number: int) -> int:
        content = {"password": f"another {number} password"}
        return visitors[number].post(path, json=content).status_code

    with ThreadPoolExecutor(len(visitors)) as pool:
        assert Counter(pool.map(use, range(len(visitors)))) == {200: 1, 404: 5}


def test_blanks_are_no_password(world: World) -> None:
    for password in (" " * 12, "aaaaaaaaaaaa", " a b a b a b a b"):
        content = {"name": "Blank", "password": password}
        refused = world.app.visitor().post("/api/sign-up", json=content)
        assert "at least 4 different characters" in str(refused.json()["errors"]["password"])


def test_hashes_of_other_sizes_are_made_again(local_app: None) -> None:
    from django.contrib.auth.hashers import Argon2PasswordHasher, check_password, make_password

    old, now = Argon2PasswordHasher().encode(PASSWORD, "some salt"), make_password(PASSWORD)
    assert "$m=102400," in old
    assert "$m=19456,t=2,p=1$" in now
    made: list[str] = []
    for encoded in (now, old):
        assert check_password(PASSWORD, encoded, setter=made.append)
        assert not check_password(f"{PASSWORD}!", encoded)
    assert made == [PASSWORD]  # of the old one


def test_a_password_is_changed(world: World) -> None:
    here = new_team(world, "Changers")
    elsewhere = world.app.visitor()
    elsewhere.sign_in("Changers")
    assert "/account/password" in here.get("/account").text
    assert here.get("/account/password").status_code == 200
    path, other = "/api/account/password", "quite another one"
    wrong = here.post(path, json={"current": "not this one", "password": other})
    assert wrong.json()["errors"] == {"current": ["This is not your password."]}
    weak = here.post(path, json={"current": PASSWORD, "password": "short"})
    assert list(weak.json()["errors"]) == ["password"]
    assert here.post(path, json={"current": PASSWORD, "password": other}).status_code == 200
    assert here.get("/api/account").status_code == 200
    assert elsewhere.get("/api/account").status_code == 401
    signed_in = elsewhere.post("/api/sign-in", json={"name": "Changers", "password": other})
    assert signed_in.status_code == 200


def test_a_mistyped_name_makes_no_owner(world: World) -> None:
    output = world.app.run("serve", "--owner-link", "onwer", status=2)
    assert "unknown owner 'onwer'; known: owner; to create one, use --new-owner" in output
    assert "/set-password/" in world.app.run("serve", "--new-owner", "second")


def test_an_owner_is_made_on_purpose(local_app: None) -> None:
    from cidery_server.web.models import Account
    from cidery_server.web.owners import make_owner_link

    here = "https://x.org/"
    try:
        for name in ("owner", "OWNER"):  # the first one is made
            assert make_owner_link(name, here).startswith("https://x.org/set-password/")
        with pytest.raises(SettingError, match="unknown owner 'onwer'"):
            make_owner_link("onwer", here)
        assert "/set-password/" in make_owner_link("second", here, new=True)
        with pytest.raises(SettingError, match="the owner 'second' already exists"):
            make_owner_link("second", here, new=True)
        with pytest.raises(SettingError, match="looks like another"):
            make_owner_link("\u043ewner", here, new=True)
    finally:
        Account.objects.filter(kind=Account.Kind.OWNER).delete()


@contextmanager
def full_disk() -> Iterator[None]:
    """Let no file of this process grow."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_health_is_not_ok_on_a_full_disk(local_app: None) -> None:
    from django.test import Client

    from cidery_server.web.models import Attempts

    Attempts.objects.filter(key="health").delete()
    client = Client()
    with full_disk():
        full = client.get("/api/health")
    assert (full.status_code, full.json()["status"]) == (503, "the database is not writable")
    assert client.get("/api/health").json() == {"status": "ok"}
    assert client.get("/health").status_code == 200
