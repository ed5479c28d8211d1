"""Every page in Chromium: what axe-core finds, light and dark, and how many bytes are sent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from server.tests.support.attacks import ROLES, World
from server.tests.support.expected_routes import EXPECTED, addresses, fill
from support.browsing import open_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

AXE = Path(__file__).parents[2] / "build" / "axe" / "axe.min.js"
MOST_BYTES = 150_000
"""Of a page with its style, scripts and charts."""
FIRST = ("owner", "team", "judge", "stranger", "other")
"""Whose page has most on it."""
NO_PAGES = (
    "openapi",
    "chart",
    "leaderboard-file",
    "file",
    "study-export",
    "study-chart",
    "study-image",
)
RUN = """
async (rules) => {
  const quick = {resultTypes: ["violations"], selectors: false, preload: false};
  const found = await axe.run(document, rules ? {runOnly: rules, ...quick} : quick);
  const show = (one) => one.nodes.slice(0, 3).map((node) => node.html);
  return found.violations.map((one) => `${one.id}: ${show(one)}`);
}
"""
BYTES = """
["navigation", "resource"].flatMap((kind) => performance.getEntriesByType(kind))
  .reduce((sum, one) => sum + one.decodedBodySize, 0)
"""
"""Of the page and all that it has loaded, what the browser had before included."""


@dataclass
class Visit:
    """A page as one role sees it."""

    violations: list[str] = field(default_factory=list)
    bytes: int = 0


@pytest.fixture(scope="module")
def paths(world: World, local_app: None) -> dict[str, tuple[str, str]]:
    """Every page: its name -> its path, and the role to visit it."""
    from cidery_server.web.routes import routes

    found = {r.name: r.path for r in routes() if not r.path.startswith("/api/")}
    values = addresses(world)
    values["revoke-token"] = {"key": world["team"].get("/api/account").json()["tokens"][0]["key"]}
    pages = {}
    for name, expected in EXPECTED.items():
        answers = dict(zip(ROLES, expected.get.split(), strict=True))
        roles = [role for role in FIRST if answers[role] == "200"]
        # What others see of the same route has the same template.
        if roles and name in found and name not in NO_PAGES:
            pages[name] = (fill(found[name], values[name]), roles[0])
    return pages | {"home of a stranger": ("/", "stranger"), "nothing": ("/nothing", "stranger")}


@pytest.fixture(scope="module")
def visits(
    world: World, paths: dict[str, tuple[str, str]], browser: Browser
) -> Iterator[dict[str, Visit]]:
    """What was found on each page; visited once for all tests."""
    if not AXE.exists():
        pytest.skip("axe-core is not here (`make axe` fetches it with npm)")
    opened: dict[str, Page] = {}
    found = {}
    script = AXE.read_text(encoding="utf-8")
    for name, (path, role) in paths.items():
        if role not in opened:
            # Pages allow no scripts but their own: axe is let in.
            opened[role] = open_page(browser, base_url=world.app.url, bypass_csp=True)
            cookies: Any = [
                {"name": one, "value": value, "url": world.app.url}
                for one, value in world[role].http.cookies.items()
            ]
            opened[role].context.add_cookies(cookies)
        found[name] = visit(opened[role], path, script)
    yield found
    for page in opened.values():
        page.close()


def visit(page: Page, path: str, script: str) -> Visit:
    seen = Visit()
    page.emulate_media(color_scheme="light")
    page.goto(path, wait_until="load")
    seen.bytes = page.evaluate(BYTES)
    page.evaluate(script)
    seen.violations = page.evaluate(RUN, None)
    page.emulate_media(color_scheme="dark")  # which changes colors alone
    seen.violations += [f"dark {one}" for one in page.evaluate(RUN, ["color-contrast"])]
    return seen


def test_axe_finds_nothing(visits: dict[str, Visit]) -> None:
    assert len(visits) > 45
    assert {name: one.violations for name, one in visits.items() if one.violations} == {}


def test_pages_are_small(visits: dict[str, Visit]) -> None:
    """Not compressed: a server behind a proxy that compresses sends less."""
    assert {name: one.bytes for name, one in visits.items() if one.bytes > MOST_BYTES} == {}
    assert min(one.bytes for one in visits.values()) > 1000
