"""A team in a real browser: it signs up, submits and finds itself on the leaderboard."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from server.tests.support.installations import PASSWORD, Installation, wait_until
from support.browsing import open_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Request


@pytest.fixture(scope="module")
def app(browsed: Installation) -> Installation:
    return browsed


@pytest.mark.parametrize(
    ("scripts", "team"),
    [(True, "Apple pickers"), (False, "W" * 60)],
    ids=["scripts", "no scripts"],
)
def test_a_team_finds_itself_on_the_leaderboard(
    app: Installation, browser: Browser, scripts: bool, team: str
) -> None:
    page = open_page(browser, base_url=app.url, java_script_enabled=scripts)
    asked: list[str] = []
    problems: list[str] = []
    page.on("request", lambda request: note(request, asked))
    page.on("console", lambda message: problems.append(message.text))
    sign_up_and_submit(page, team, app.folder / "system_a.json")
    # Scoring goes on while the page shows its progress, then reloads itself.
    page.get_by_role("cell", name="rouge-l", exact=True).wait_for()
    page.get_by_role("link", name="Orchard captions").click()
    page.wait_for_url("**/challenges/orchard")
    row = page.get_by_role("row").filter(has_text=team)
    assert "0.53" in row.inner_text() and "0.5296" not in row.inner_text()  # of 72 images
    assert row.get_attribute("class") == "mine"
    board = page.get_by_role("region", name="Leaderboard")
    # However long a name is, everyone's scores are in sight.
    assert board.evaluate("box => box.scrollWidth <= box.clientWidth")
    page.get_by_role("link", name="c5 bleu-4").click()
    page.locator("th[aria-sort]").get_by_text("c5 bleu-4").wait_for()
    page.close()
    assert all(url.startswith(app.url) for url in asked)
    assert problems == []


def note(request: Request, asked: list[str]) -> None:
    asked.append(request.url)


def sign_up_and_submit(page: Page, team: str, results: Path) -> None:
    page.goto("/")
    page.get_by_role("link", name="Sign up").click()
    page.get_by_label("Team name").fill(team)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign up").click()
    page.get_by_text(f"Welcome, {team}.").wait_for()
    page.get_by_role("link", name="Challenges").click()
    page.get_by_role("link", name="Orchard captions").click()
    page.get_by_role("link", name="Submit").click()
    page.get_by_label("Title").fill("first try")
    page.get_by_label("File").set_input_files(results)
    page.get_by_role("button", name="Submit").click()
    page.get_by_role("heading", name="first try").wait_for()


def test_pages_work_by_keyboard(app: Installation, browser: Browser) -> None:
    page = open_page(browser, base_url=app.url)
    page.goto("/sign-up")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    page.locator("main:focus").wait_for()
    for text in ("Keyboard only", PASSWORD, "someone@example.org"):
        page.keyboard.press("Tab")
        page.keyboard.type(text)
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Keyboard only").wait_for()
    page.close()


def test_titles_of_groups_stay_in_sight(app: Installation, browser: Browser) -> None:
    """On a phone, wherever the leaderboard is scrolled to, every title is whole."""
    owner, team = app.owner(), app.visitor()
    references = (app.folder / "references.json").read_bytes()
    names = ("c5", "forty-references-of-each-image")
    made = owner.post(
        "/api/new-challenge",
        data={
            **{"slug": "wide", "title": "Wide", "metrics": "rouge-l bleu", "entry": "open"},
            **{"references_name": names[0], "more_references_name": names[1]},
            "leaderboard_open": True,
        },
        files={
            "references": ("references.json", references),
            "more_references": ("references.json", references),
        },
    )
    assert made.status_code == 201, made.text
    team.sign_up("Wide screens")
    content = (app.folder / "system_a.json").read_bytes()
    path = "/api/challenges/wide/submissions"
    sent = team.post(path, data={"title": "x"}, files={"file": ("r.json", content)})
    number = sent.json()["id"]
    wait_until(
        lambda: owner.get(f"/api/submissions/{number}").json()["submission"]["state"] == "scored"
    )
    page = open_page(browser, base_url=app.url, viewport={"width": 375, "height": 800})
    page.goto("/challenges/wide")
    board = page.get_by_role("region", name="Leaderboard")
    title = board.get_by_text(names[1])
    for part in (0.6, 1.0):
        board.evaluate("(box, part) => box.scrollLeft = part * box.scrollWidth", part)
        text, box = title.bounding_box(), board.bounding_box()
        assert text and box
        assert box["x"] <= text["x"] <= box["x"] + box["width"] - text["width"] + 1
    page.close()
