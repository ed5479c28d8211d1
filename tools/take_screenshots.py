"""Make docs/images/server-*.png: the main pages of the evaluation server in Debian's Chromium.

    python tools/take_screenshots.py

The app runs in a temporary directory with the example's two systems, and some more that are mixed
from them. Pictures are taken in light and dark, and as a phone shows them.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from cidery.corpus import bundled  # noqa: E402
from server.tests.support.installations import PASSWORD, Installation, running, wait_until  # noqa: E402
from support.browsing import opened_browser  # noqa: E402  # beside the tests

IMAGES = ROOT / "docs" / "images"
TEAMS = {"Bramley": 0.95, "Cox's Orange": 0.9, "Egremont": 0.6, "Pippin": 0.3, "Quince": 0.0}
"""Each team's share of captions from the better system."""
CHALLENGE = {
    "slug": "orchard-2026",
    "title": "Orchard captions 2026",
    "description": "Describe 72 photographs in one sentence each.\n\nFive people wrote a "
    "reference for every image; they stay hidden.",
    "metrics": ["cider-d", "bleu-4", "rouge-l"],
    "frequencies": "coco-val2014",
    "entry": "open",
    "probes_shown": 1000,
    "references": {"c5": "references.json"},
    "closes": "2030-06-30T12:00:00Z",
}
WIDE, PHONE = {"width": 1100, "height": 760}, {"width": 390, "height": 760}


def fill(app: Installation, folder: Path) -> None:
    """Make a challenge and let teams submit."""
    captions = {
        name: {
            row["image_id"]: row["caption"] for row in json.loads(bundled.path(name).read_text())
        }
        for name in ("system_a.json", "system_b.json")
    }
    (folder / "references.json").write_text(bundled.path("references.json").read_text())
    (folder / "challenge.json").write_text(json.dumps(CHALLENGE))
    app.run("challenge", "create", str(folder / "challenge.json"))
    rng = random.Random(0)
    for name, share in TEAMS.items():
        team = app.visitor()
        team.sign_up(name)
        results = [
            {
                "image_id": image,
                "caption": captions["system_a.json" if rng.random() < share else "system_b.json"][
                    image
                ],
            }
            for image in captions["system_a.json"]
        ]
        answer = team.post(
            "/api/challenges/orchard-2026/submissions",
            data={"title": f"{name} 1"},
            files={"file": ("results.json", json.dumps(results).encode())},
        )
        assert answer.status_code == 201, answer.text
    page = "/api/challenges/orchard-2026"
    wait_until(lambda: len(app.visitor().get(page).json()["leaderboard"]["entries"]) == len(TEAMS))
    wait_until(lambda: "untested" not in app.visitor().get(page).text)


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary, opened_browser() as browser:
        folder = Path(temporary)
        with running(folder) as app:
            fill(app, folder)
            for name, path, scheme, size in (
                ("leaderboard", "/challenges/orchard-2026", "light", WIDE),
                ("leaderboard-dark", "/challenges/orchard-2026", "dark", WIDE),
                ("leaderboard-phone", "/challenges/orchard-2026", "light", PHONE),
                ("submission", "/submissions/1", "light", WIDE),
                ("submit", "/challenges/orchard-2026/submissions", "light", WIDE),
                ("compare", "/challenges/orchard-2026/compare?first=1&second=2", "dark", WIDE),
            ):
                context = browser.new_context(
                    base_url=app.url,
                    color_scheme=scheme,
                    viewport=size,  # type: ignore[arg-type]
                )
                page = context.new_page()
                page.goto("/sign-in")
                page.get_by_label("Name").fill("Bramley")
                page.get_by_label("Password").fill(PASSWORD)
                page.get_by_role("button", name="Sign in").click()
                page.goto(path, wait_until="networkidle")
                if "compare" in path:
                    page.get_by_role("table").wait_for()
                page.screenshot(path=IMAGES / f"server-{name}.png", full_page=size is WIDE)
                context.close()


if __name__ == "__main__":
    main()
