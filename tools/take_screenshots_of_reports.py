"""Make docs/images/report-*.png: a report on the bundled example, in Debian's Chromium.

python tools/take_screenshots_of_reports.py
"""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import cidery  # noqa: E402
from cidery.corpus import bundled  # noqa: E402
from support.browsing import open_page, opened_browser  # noqa: E402  # beside the tests

if TYPE_CHECKING:
    from playwright.sync_api import Browser

IMAGES = ROOT / "docs" / "images"
WIDE, PHONE = {"width": 1100, "height": 760}, {"width": 390, "height": 760}
COLORS = 128
"""Of a picture: pages have few, and files become a third as large."""


def write(path: Path) -> None:
    """Write the report that is shown."""
    systems = {
        name: cidery.read_candidates(bundled.path(f"system_{name[-1]}.json"))
        for name in ("system a", "system b")
    }
    cidery.write_report(
        path,
        systems,
        cidery.read_references(bundled.path("references.json")),
        frequencies="coco-val2014",
        by="length",
        title="Two systems on the orchard set",
        references_name="references.json",
    )


def take(browser: Browser, url: str, name: str, size: dict[str, int], scheme: str) -> None:
    """Open a part of the page and store what is in sight."""
    page = open_page(browser, viewport=size, color_scheme=scheme, reduced_motion="reduce")
    page.goto(url)
    page.locator("figure").first.wait_for()
    page.locator(".plot[data-drawn]").nth(page.locator(".plot").count() - 1).wait_for()
    page.goto(url)  # to its part, now that everything has its height
    with Image.open(io.BytesIO(page.screenshot())) as shot:
        shot.convert("RGB").quantize(COLORS).save(IMAGES / f"report-{name}.png", optimize=True)
    page.close()


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary, opened_browser() as browser:
        path = Path(temporary) / "report.html"
        write(path)
        page = path.as_uri()
        take(browser, f"{page}#/", "explorer", WIDE, "light")
        take(browser, f"{page}#scores", "scores", WIDE, "light")
        take(browser, f"{page}#pictures", "pictures-dark", WIDE, "dark")
        take(browser, f"{page}#/", "phone", PHONE, "light")


if __name__ == "__main__":
    main()
