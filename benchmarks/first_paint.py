"""Measure when pages of the app are first painted on a slow processor: the budget is 1 s.

    python benchmarks/first_paint.py [--slower 4]

The app runs in a temporary directory with the example's systems. Chromium is slowed by the factor,
and every page is opened three times in a browser that has nothing of it; the median is shown.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tools")]

from take_screenshots import fill  # noqa: E402

from server.tests.support.installations import Installation, running  # noqa: E402
from support.browsing import opened_browser  # noqa: E402  # beside the tests

if TYPE_CHECKING:
    from playwright.sync_api import Browser

BUDGET_SECONDS = 1.0
TRIES = 3
PAGES = ("/", "/challenges", "/challenges/orchard-2026", "/submissions/1", "/new-study")
PAINTED = """
new Promise((found) => new PerformanceObserver((list) => found(list.getEntries()[0].startTime))
  .observe({type: "paint", buffered: true}))
"""


def measure(
    browser: Browser, app: Installation, cookies: dict[str, str], path: str, slower: float
) -> float:
    """Return the seconds until something of a page is seen."""
    context = browser.new_context(base_url=app.url)
    context.add_cookies([{"name": n, "value": v, "url": app.url} for n, v in cookies.items()])
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Emulation.setCPUThrottlingRate", {"rate": slower})
    page.goto(path)
    seconds = float(page.evaluate(PAINTED)) / 1000
    context.close()
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slower", type=float, default=4, help="how much slower the processor is")
    slower = parser.parse_args().slower
    with tempfile.TemporaryDirectory() as temporary, running(Path(temporary)) as app:
        fill(app, Path(temporary))
        cookies = dict(app.owner().http.cookies.items())
        with opened_browser() as browser:
            for path in PAGES:
                tries = [measure(browser, app, cookies, path, slower) for _ in range(TRIES)]
                within = "within" if median(tries) <= BUDGET_SECONDS else "OVER"
                print(f"{path:28} {median(tries):.2f} s, {within} the budget")


if __name__ == "__main__":
    main()
