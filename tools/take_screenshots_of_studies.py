"""Take the pictures of docs/studies.md: the real app, a real browser, simulated judges.

    python tools/take_screenshots_of_studies.py

Needs Chromium. The app runs in a temporary folder and is gone afterwards.
"""

from __future__ import annotations

import random
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page

from cidery.corpus import bundled
from cidery_server.studies.items import Sources, make_items

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs" / "images"
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from server.tests.support.installations import PASSWORD, Installation, Visitor, running  # noqa: E402
from server.tests.support.studies import join, make_links, make_study, query  # noqa: E402
from support.browsing import opened_browser  # noqa: E402

DESK = {"width": 900, "height": 640}
PHONE = {"width": 360, "height": 640}
CHECKS = [
    {
        "image": "check",
        "pair": ["A dog runs over the grass.", "Please choose the other sentence."],
        "reference": "A dog is running on grass.",
        "vote": 1,
    }
]


def main() -> None:
    with (
        tempfile.TemporaryDirectory(prefix="cidery-screenshots-") as folder,
        running(Path(folder) / "app", workers=0) as app,
        opened_browser() as browser,
    ):
        study, link = judge_study(app, app.owner())
        shoot_judge(browser, link)
        shoot_owner(browser, app, study)


def judge_study(app: Installation, owner: Visitor) -> tuple[str, str]:
    """Make a study of the bundled captions and let twelve judges answer most of it."""
    results = {"ours": "system_a.json", "theirs": "system_b.json"}
    sources = Sources.read(
        {system: bundled.path(name) for system, name in results.items()},
        bundled.path("references.json"),
    )
    items = make_items("triplet", sources, sample=30, references_each=2)
    study = make_study(owner, items, title="Which sentence is closer?", checks=CHECKS)
    (link,) = make_links(owner, study)
    rng = random.Random(0)

    def choose(task: dict[str, Any]) -> str:
        first, second = (count_shared(text, task["reference"]) for text in task["sentences"])
        return "1" if (first >= second) == (rng.random() < 0.95) else "2"

    for number in range(12):
        join(app, link, study, worker=f"W{number:02}").answer_all(choose, most=rng.randint(8, 16))
    # Simulated judges do not read; people take some seconds.
    seconds = "(2 + abs(random()) % 10)"
    query(
        app,
        f"UPDATE studies_assignment SET given = datetime(given, '-' || {seconds} || ' seconds')",
    )
    return study, link


def count_shared(one: str, other: str) -> int:
    """Return how many words two sentences share."""
    return len(set(one.lower().split()) & set(other.lower().split()))


def shoot_judge(browser: Browser, link: str) -> None:
    for name, settings in (
        ("task", {"viewport": DESK}),
        ("task-phone", {"viewport": PHONE, "color_scheme": "dark"}),
    ):
        page = browser.new_page(**settings)  # type: ignore[arg-type]
        page.goto(link)
        if name == "task":
            shoot(page, "join")
        page.get_by_label("I have read this").check()
        page.get_by_role("button", name="Start").click()
        page.wait_for_url("**/task")
        shoot(page, name)
        page.close()


def shoot_owner(browser: Browser, app: Installation, study: str) -> None:
    page = browser.new_page(viewport=DESK)  # type: ignore[arg-type]
    page.goto(f"{app.url}/sign-in")
    page.get_by_label("Name").fill("owner")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("button", name="Sign out").wait_for()
    for name, path in (("study", ""), ("accuracy", "/accuracy")):
        page.goto(f"{app.url}/studies/{study}{path}")
        page.wait_for_load_state("networkidle")
        shoot(page, name, clip={"x": 0, "y": 0, "width": 900, "height": 980})
    page.close()


def shoot(page: Page, name: str, **settings: Any) -> None:
    page.screenshot(path=IMAGES / f"studies-{name}.png", full_page="clip" in settings, **settings)


if __name__ == "__main__":
    main()
