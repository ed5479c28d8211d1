"""The explorer of reports inside the app, in a real browser, under the app's own policy."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from server.tests.support.installations import Installation, Visitor, wait_until
from server.tests.support.studies import join, make_links, make_study
from support.browsing import open_page
from support.example import BUNDLED

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NASTY = "<script>alert(1)</script> & a dog"


@pytest.fixture(scope="module")
def app(browsed: Installation) -> Installation:
    return browsed


@pytest.fixture(scope="module")
def owner(app: Installation) -> Visitor:
    return app.owner()


def open_as(browser: Browser, visitor: Visitor, url: str, problems: list[str]) -> Page:
    """Open a page with a visitor's session; complaints about the policy are problems."""
    context = browser.new_context()
    cookies: Any = [
        {"name": cookie.name, "value": cookie.value, "url": visitor.url}
        for cookie in visitor.http.cookies.jar
    ]
    context.add_cookies(cookies)
    page = open_page(context)
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(url)
    return page


def send(team: Visitor, title: str, captions: list[dict[str, Any]]) -> int:
    answer = team.post(
        "/api/challenges/explored/submissions",
        data={"title": title},
        files={"file": ("results.json", json.dumps(captions).encode())},
    )
    assert answer.status_code == 201, answer.text
    return int(answer.json()["id"])


def test_teams_and_the_owner_explore_captions(
    app: Installation, owner: Visitor, browser: Browser
) -> None:
    definition = {
        "slug": "explored",
        "entry": "open",
        "title": "Explored",
        "metrics": ["cider-d", "rouge-l"],
        "frequencies": "coco-val2014",
        "references": {"c5": "references.json"},
        "image_scores_open": True,
    }
    (app.folder / "explored.json").write_text(json.dumps(definition))
    app.run("challenge", "create", str(app.folder / "explored.json"))
    team = app.visitor()
    team.sign_up("Explorers")
    given = json.loads((BUNDLED / "system_a.json").read_text())
    given[0]["caption"] = NASTY
    one = send(team, "first", given)
    two = send(team, "second", json.loads((BUNDLED / "system_b.json").read_text()))
    for number in (one, two):
        path = f"/api/submissions/{number}"
        wait_until(lambda path=path: team.get(path).json()["submission"]["state"] == "scored")

    message = team.get(f"/api/submissions/{one}/explore?other={two}").json()["content"]
    assert set(message["systems"]) == {"first", "second"}
    # What words earned would tell the hidden references.
    assert "references" not in message and "words" not in message["systems"]["first"]
    assert team.get(f"/api/submissions/{one}/explore?other={one}").status_code == 404

    problems: list[str] = []
    page = open_as(browser, team, f"{app.url}/submissions/{one}", problems)
    page.get_by_role("link", name="Explore image by image").click()
    page.get_by_role("link", name="second").click()
    page.get_by_label("Other system").wait_for()
    assert page.locator(".x-said").count() == 2
    page.get_by_label("Text or id").fill("<script>")
    page.get_by_role("status").get_by_text("1 of 72 images").wait_for()
    assert page.locator(".x-said").first.inner_text() == NASTY
    assert page.locator(".x-references").count() == 0
    page.context.close()

    page = open_as(browser, owner, f"{app.url}/submissions/{one}/explore", problems)
    page.get_by_text("(caption not shown)").wait_for()
    assert page.get_by_role("option").count() > 5
    page.context.close()
    assert problems == []


def test_a_study_is_explored_by_its_owner(
    app: Installation, owner: Visitor, browser: Browser
) -> None:
    items = [
        {"image": str(n), "caption": f"{system} says {NASTY}", "system": system}
        for n in range(3)
        for system in ("ours", "theirs")
    ]
    study = make_study(owner, items, design="rating", judges_each=1)
    (link,) = make_links(owner, study)
    judge = join(app, link, study)
    task = judge.task()
    judge.answer(task, "4")
    content = owner.get(f"/api/studies/{study}/explore").json()["content"]
    rated = [v for s in content["systems"].values() for v in s["scores"]["rating"]]
    assert sorted(rated, key=str) == [4.0, None, None, None, None, None]

    problems: list[str] = []
    page = open_as(browser, owner, f"{app.url}/studies/{study}", problems)
    page.get_by_role("link", name="Explore image by image").click()
    page.get_by_label("Show first").wait_for()
    page.get_by_label("Show first").select_option("high")
    assert page.locator(".x-said").count() == 2
    assert NASTY in page.locator(".x-said").first.inner_text()
    page.context.close()
    assert problems == []
