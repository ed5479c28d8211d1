"""Studies in a frame of a crowdsourcing site: no cookies, and a form at the end."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, quote

import pytest

from server.tests.support.attacks import World
from server.tests.support.studies import choose_dog, join, make_links, make_study, triplets
from support.browsing import open_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@dataclass
class Site:
    """A site that shows studies in a frame and receives a form at the end, like MTurk."""

    url: str = ""
    frame: str = ""
    message: list[tuple[str, dict[str, list[str]]]] = field(default_factory=list)


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    found = Site()

    class Handler(http.server.BaseHTTPRequestHandler):
        def _send(self, text: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(text.encode())

        def do_GET(self) -> None:
            self._send(f'<iframe src="{found.frame}" width="900" height="900"></iframe>')

        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            found.message.append((self.path, parse_qs(self.rfile.read(length).decode())))
            self._send("<h1>Paid</h1>")

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        # Another name than that of the app, which is at 127.0.0.1: another site for browsers.
        found.url = f"http://localhost:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield found
        server.shutdown()


def test_a_worker_finishes_in_a_frame(world: World, site: Site, browser: Browser) -> None:
    study = make_study(world["owner"], triplets(2), judges_each=1, frames=site.url)
    (link,) = make_links(world["owner"], study)
    sent = f"workerId=W1&assignmentId=A1&turkSubmitTo={quote(site.url, safe='')}"
    site.frame = f"{link}?{sent}"
    page = open_page(browser)
    page.goto(site.url)
    frame = page.frame_locator("iframe")
    frame.get_by_label("I have read this and agree").check()
    frame.get_by_role("button", name="Start").click()
    frame.locator("#count").get_by_text("0 of 2").wait_for()
    frame.locator(".choice").first.click()  # by the script
    frame.locator("#count").get_by_text("1 of 2").wait_for()
    frame.get_by_role("button", name="Undo").click()
    frame.locator("#count").get_by_text("0 of 2").wait_for()
    for number in range(2):
        frame.locator("#count").get_by_text(f"{number} of 2").wait_for()
        frame.locator(".choice").first.click()
    frame.get_by_role("heading", name="Thank you, you are done").wait_for()
    code = frame.locator("#code").inner_text()
    frame.get_by_role("button", name="Submit to the site that sent you").click()
    frame.get_by_role("heading", name="Paid").wait_for()
    page.close()
    assert site.message == [("/mturk/externalSubmit", {"assignmentId": ["A1"], "code": [code]})]
    exported = world["owner"].get(f"/studies/{study}/export/codes").text
    assert f"W1,A1,{code},2,0,0," in exported


def test_other_studies_and_sites_are_not_framed(world: World, site: Site, browser: Browser) -> None:
    study = make_study(world["owner"], triplets(1), frames="https://*.mturk.com")
    (link,) = make_links(world["owner"], study)
    headers = world.app.visitor().get("/" + link.split("/", 3)[3]).headers
    assert "frame-ancestors 'self' https://*.mturk.com" in headers["content-security-policy"]
    assert "x-frame-options" not in headers
    site.frame = link
    page = open_page(browser)
    with page.expect_console_message(lambda message: "frame-ancestors" in message.text):
        page.goto(site.url)
    page.close()
    usual = make_study(world["owner"], triplets(1))
    (link,) = make_links(world["owner"], usual)
    headers = world.app.visitor().get("/" + link.split("/", 3)[3]).headers
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["x-frame-options"] == "DENY"


def test_a_token_is_for_its_judge_and_study(world: World) -> None:
    """It stands in for cookies: without it nobody is a judge, and forged ones are refused."""
    study = make_study(world["owner"], triplets(1), frames="https://www.mturk.com")
    (link,) = make_links(world["owner"], study)
    visitor, path = world.app.visitor(), "/api/" + link.split("/", 3)[3]
    joined = visitor.http.post(f"{path}?workerId=W&assignmentId=A", json={"agree": True})
    assert joined.status_code == 204 and not visitor.http.cookies
    token = joined.headers["location"].partition("?as=")[2]
    task = f"/api/studies/{study}/task"
    assert visitor.get(f"{task}?as={token}").json()["state"] == "task"
    number, _, signature = token.partition("%3A")
    forged = f"{int(number) + 1}%3A{signature}"
    for wrong in ("", "?as=", f"?as={forged}", "?as=x"):
        assert visitor.get(task + wrong).status_code == 403
        answer = {"assignment": 1, "answer": "1"}
        assert visitor.http.post(task + wrong, json=answer).status_code == 403
    assert visitor.get(f"/api/studies/local/task?as={token}").status_code == 403
    # Nor does a form lead to a site that nobody named.
    elsewhere = visitor.http.post(
        f"{path}?workerId=V&assignmentId=B&turkSubmitTo=https://evil.example", json={"agree": True}
    )
    task = "/api" + elsewhere.headers["location"]
    shown = visitor.get(task).json()
    done = visitor.http.post(task, json={"assignment": shown["assignment"], "answer": "1"}).json()
    assert done["code"] and done["submit_to"] == ""


def test_the_code_goes_into_the_return_address(world: World) -> None:
    address = "https://app.prolific.com/submissions/complete?cc={code}"
    study = make_study(world["owner"], triplets(1), completion_code="C 1", completion_url=address)
    (link,) = make_links(world["owner"], study)
    judge = join(world.app, link, study, PROLIFIC_PID="P", SESSION_ID="S")
    judge.answer_all(choose_dog)
    expected = "https://app.prolific.com/submissions/complete?cc=C%201"
    assert judge.task()["completion_url"] == expected


@pytest.mark.parametrize(
    "site", ["*", "https://x.org/path", "http://x.org", "'none'; script-src *"]
)
def test_sites_are_checked(world: World, site: str) -> None:
    content = {"name": "framed", "title": "x", "design": "triplet", "frames": site}
    refused = world["owner"].post("/api/new-study", json=content)
    assert "is not a site; write https://example.org" in refused.json()["errors"]["frames"][0]
