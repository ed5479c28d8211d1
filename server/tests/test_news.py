"""What organizers write and give: Markdown, announcements, files, e-mail."""

from __future__ import annotations

import re
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from server.tests.support.challenges import Host, captions, references

IMAGES = range(12)


@pytest.fixture(scope="module")
def host(local_app: None) -> Iterator[Host]:
    made = Host()
    made.challenge("talk", {"c2": references(IMAGES)}, description="**Describe** it.\nNow.")
    made.approve("talk", "Readers")
    yield made
    made.close()


@pytest.fixture(scope="module")
def member(host: Host) -> str:
    """The name of an account that belongs to the team that takes part."""
    from cidery_server.challenges.members import find_invite, join_team, make_invite

    invite = find_invite(make_invite(host.person("Readers").account))
    assert invite
    join_team(host.person("A member").account, invite)
    return "A member"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# Rules\n\nBe *fair*.", "<h3>Rules</h3>\n<p>Be <em>fair</em>.</p>\n"),
        ("one\ntwo", "<p>one<br />\ntwo</p>\n"),
        ("<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>\n"),
        ("a <b onclick=x>b</b>", "<p>a &lt;b onclick=x&gt;b&lt;/b&gt;</p>\n"),
        ("[x](javascript:alert(1))", "<p>[x](javascript:alert(1))</p>\n"),
        ("[x](JAVASCRIPT&colon;alert(1))", None),
        ("[x](vbscript:x) [y](data:text/html,x)", "<p>[x](vbscript:x) [y](data:text/html,x)</p>\n"),
        ('[x](https://example.org "<i>")', None),
        ("![x](https://example.org/spy.png)", None),
        ("`<img src=x onerror=y>`", "<p><code>&lt;img src=x onerror=y&gt;</code></p>\n"),
        ("<javascript:alert(1)>", None),
        ("see https://example.org", None),
        ("|a|b|\n|-|-|\n|1|<u>|", None),
    ],
)
def test_markdown_is_safe(local_app: None, text: str, expected: str | None) -> None:
    from cidery_server.challenges.templatetags.markdown import markdown

    html = str(markdown(text))
    if expected is not None:
        assert html == expected
    tags = re.findall(r"<(/?)(\w+)([^>]*)>", html)
    known = {"p", "br", "h3", "em", "a", "code", "table", "thead", "tbody", "tr", "th", "td"}
    assert {name for _, name, _ in tags} <= known
    for _, name, attributes in tags:
        if attributes.strip(" /"):
            assert name == "a"
            assert re.match(r' href="(https|mailto):', attributes)
            assert 'rel="nofollow noopener"' in attributes


def test_news_are_announced(host: Host) -> None:
    path = "/api/challenges/talk/announcements"
    assert host.person("Readers").post(path, title="Mine").status_code == 403
    made = host.owner.post(path, title="A <b>", text="**Soon** <script>")
    assert made.status_code == 201
    for address in ("/challenges/talk", "/challenges/talk/announcements"):
        page = host.stranger().get(address).content.decode()
        assert "A &lt;b&gt;" in page and "<strong>Soon</strong> &lt;script&gt;" in page
        is_overview = address == "/challenges/talk"
        assert ("<strong>Describe</strong> it.<br" in page) == is_overview
    number = made.json()["id"]
    assert host.owner.get(f"/challenges/talk/announcements/{number}/delete").status_code == 200
    assert host.owner.post(f"{path}/{number}/delete").status_code == 204
    assert host.stranger().get(path).json()["announcements"] == []


def test_files_are_for_whom_they_are(host: Host) -> None:
    from django.core.files.base import ContentFile

    def add(name: str, **fields: str) -> int:
        file = ContentFile(b"<script>alert(1)</script>", "x.html")
        made = host.owner.post("/api/challenges/talk/files", file=file, name=name, **fields)
        assert made.status_code == 201, made.content
        return int(made.json()["id"])

    open_, closed = add('a "b".html'), add("train.json", for_teams="true", about="To learn from")
    got = host.stranger().get(f"/challenges/talk/files/{open_}")
    assert got.content == b"<script>alert(1)</script>"
    assert got.headers["content-type"] == "application/octet-stream"
    assert got.headers["content-disposition"] == 'attachment; filename="a \\"b\\".html"'
    assert got.headers["x-content-type-options"] == "nosniff"
    for prefix in ("", "/api"):
        path = f"{prefix}/challenges/talk/files/{closed}"
        for nobody in (host.stranger(), host.person("Not asked")):
            assert nobody.get(path).status_code == 404
        assert host.person("Readers").get(path).status_code == 200
    listed = host.stranger().get("/api/challenges/talk").json()["files"]
    assert [file["title"] for file in listed] == ['a "b".html']
    page = host.person("Readers").get("/challenges/talk").content.decode()
    assert "train.json" in page and "To learn from" in page
    host.challenge("cellar-talk", {"c2": references(IMAGES)}, visibility="hidden")
    other = f"/challenges/cellar-talk/files/{open_}"  # of another challenge
    assert host.owner.get(other).status_code == 404
    file = ContentFile(b"x", "x.html")
    for name in ("../x", "a\u202eb", "train.json"):
        file.seek(0)
        refused = host.owner.post("/api/challenges/talk/files", file=file, name=name)
        assert "name" in refused.json()["errors"], name
    file.seek(0)
    mine = host.person("Readers").post("/api/challenges/talk/files", file=file)
    assert mine.status_code == 403
    assert host.owner.get("/challenges/talk/files").status_code == 200
    assert host.owner.post(f"/api/challenges/talk/files/{open_}/delete").status_code == 204
    assert host.stranger().get(f"/challenges/talk/files/{open_}").status_code == 404


@contextmanager
def mail_server() -> Iterator[tuple[int, list[str]]]:
    """Run an SMTP server that keeps what it is sent."""
    received: list[str] = []

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.wfile.write(b"220 here\r\n")
            while line := self.rfile.readline():
                word = line[:4].upper()
                if word == b"DATA":
                    self.wfile.write(b"354 go on\r\n")
                    lines = iter(self.rfile.readline, b".\r\n")
                    received.append(b"".join(lines).decode())
                self.wfile.write(b"221 bye\r\n" if word == b"QUIT" else b"250 ok\r\n")
                if word == b"QUIT":
                    return

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield server.server_address[1], received
        finally:
            server.shutdown()
            thread.join()


def test_mail_goes_to_teams_that_take_part(
    host: Host, member: str, caplog: pytest.LogCaptureFixture
) -> None:
    from django.test import override_settings

    from cidery_server.challenges import tasks
    from cidery_server.challenges.management import find_challenge
    from cidery_server.web.environment import Environment

    challenge = find_challenge("talk")
    contacts = {
        "Readers": "readers@example.org",
        member: "member@example.org",
        "Refused": "refused@example.org",
        "Waiting": "waiting@example.org",
        "No address": "room 5",
    }
    for name, contact in contacts.items():
        account = host.person(name).account
        account.contact = contact
        account.save()
    host.approve("talk", "No address")
    for name, state in (("Refused", "refused"), ("Waiting", "asked")):
        challenge.teams.create(team=host.person(name).account, state=state)
    assert tasks.list_addresses(challenge) == ["readers@example.org", "member@example.org"]
    news = challenge.announcements.create(title="Soon\u00e9", text="It opens **soon**.")
    with mail_server() as (port, received):
        environment = Environment(
            mail=f"smtp+plain://127.0.0.1:{port}", mail_from="host@example.org"
        )
        with override_settings(**environment.mail_settings()):
            tasks.mail_announcement.call_local(news.pk)
            tasks.mail_decision.call_local(challenge.teams.get(team__name="Waiting").pk)
    assert len(received) == 3
    assert "To: readers@example.org" in received[0] and "member@" not in received[0]
    assert "From: host@example.org" in received[0]
    assert "/challenges/talk/announcements" in received[0]
    assert "Your team may not submit." in received[2]
    # Where no server answers, the log says so, without anyone's address.
    with override_settings(**environment.mail_settings()):
        tasks.mail_announcement.call_local(news.pk)
    assert "a message could not be sent: ConnectionRefusedError" in caplog.text
    assert "@example.org" not in caplog.text
    news.delete()


def test_mail_is_printed_by_default(host: Host, capsys: pytest.CaptureFixture[str]) -> None:
    from django.test import override_settings

    from cidery.errors import SettingError
    from cidery_server.web.environment import Environment
    from cidery_server.web.mail import send

    with override_settings(**Environment().mail_settings()):
        send("someone@example.org", "News\nBcc: x@example.org", "Text", "/challenges/talk")
    printed = capsys.readouterr().out
    assert "Subject: News Bcc: x@example.org" in printed
    assert "http://127.0.0.1:8000/challenges/talk" in printed
    settings = Environment(mail="smtp://me:a%40b@mail.example.org").mail_settings()
    assert (settings["EMAIL_PORT"], settings["EMAIL_HOST_PASSWORD"]) == (587, "a@b")
    assert settings["EMAIL_USE_TLS"] is True
    with pytest.raises(SettingError, match="the mail must be a URL that starts with smtp://"):
        Environment(mail="mail.example.org")


def test_submitting_goes_on_with_all_of_this(host: Host, member: str) -> None:
    assert host.submit(member, "talk", captions(IMAGES))
