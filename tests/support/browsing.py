"""A real browser: Chromium, headless, driven by Playwright."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

TIMEOUT_SECONDS = 180
"""A busy machine is slow, not wrong: only what never happens fails."""
QUIET = [
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-first-run"),
]


def find_chromium() -> str | None:
    """Return the path of the system's Chromium; best of one that has no window to draw.

    Without the browser's own pages around a page, it takes a third of the time.
    """
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if (path := shutil.which(name))), None)


def open_page(browser: Browser, **settings: Any) -> Page:
    """Return a page of its own, with cookies of its own and a long timeout."""
    page = browser.new_page(**settings)
    page.set_default_timeout(1000 * TIMEOUT_SECONDS)
    return page


@contextmanager
def opened_browser() -> Iterator[Browser]:
    """Run Chromium while the block lasts."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_chromium(), headless=True, args=QUIET
        )
        try:
            yield browser
        finally:
            browser.close()
