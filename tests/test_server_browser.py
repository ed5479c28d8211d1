"""A team in a real browser: it signs up, submits and finds itself on the leaderboard."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from browsing import open_page
from cidery import examples
from serving import PASSWORD, running

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Request


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_a_team_finds_itself_on_the_leaderboard(
    browser: Browser, tmp_path: Path, scripts: bool
) -> None:
    for name in examples.NAMES:
        shutil.copy(examples.path(name), tmp_path)
    (tmp_path / "challenge.json").write_text(
        json.dumps(
            {
                "slug": "orchard",
                "title": "Orchard captions",
                "metrics": ["rouge-l", "bleu-4"],
                "references": {"c5": "references.json"},
            }
        )
    )
    with running(tmp_path) as app:
        app.run("challenge", "create", str(tmp_path / "challenge.json"))
        page = open_page(browser, base_url=app.url, java_script_enabled=scripts)
        asked: list[str] = []
        problems: list[str] = []
        page.on("request", lambda request: note(request, asked))
        page.on("console", lambda message: problems.append(message.text))
        sign_up_and_submit(page, tmp_path / "system_a.json")
        # Scoring goes on while the page shows its progress, then reloads itself.
        page.get_by_role("cell", name="rouge-l", exact=True).wait_for()
        page.get_by_role("link", name="Orchard captions").click()
        page.wait_for_url("**/challenges/orchard")
        row = page.get_by_role("row").filter(has_text="Apple pickers")
        assert "0.5296" in row.inner_text()
        assert row.get_attribute("class") == "mine"
        page.get_by_role("link", name="c5 bleu-4").click()
        page.locator("th[aria-sort]").get_by_text("c5 bleu-4").wait_for()
        page.close()
        assert all(url.startswith(app.url) for url in asked)
        assert problems == []


def note(request: Request, asked: list[str]) -> None:
    asked.append(request.url)


def sign_up_and_submit(page: Page, results: Path) -> None:
    page.goto("/")
    page.get_by_role("link", name="Sign up").click()
    page.get_by_label("Team name").fill("Apple pickers")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign up").click()
    page.get_by_text("Welcome, Apple pickers.").wait_for()
    page.get_by_role("link", name="Challenges").click()
    page.get_by_role("link", name="Orchard captions").click()
    page.get_by_role("link", name="Submit").click()
    page.get_by_label("Title").fill("first try")
    page.get_by_label("File").set_input_files(results)
    page.get_by_role("button", name="Submit").click()
    page.get_by_role("heading", name="first try").wait_for()


def test_pages_work_by_keyboard(browser: Browser, tmp_path: Path) -> None:
    with running(tmp_path, workers=0) as app:
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
