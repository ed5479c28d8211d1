"""What pages look like in a real browser: scales on a phone, borders, words, colors of charts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from server.tests.support.installations import Installation, Visitor
from server.tests.support.studies import choose_dog, join, make_links, make_study, triplets
from support.browsing import open_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 800},
    "has_touch": True,
    "is_mobile": True,
}
CONTRAST = """
(selector) => {
  const luminance = (color) => {
    const parts = color.match(/[\\d.]+/g).slice(0, 3).map((part) => {
      const share = Number(part) / 255;
      return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  };
  const paper = (element) => {
    const color = getComputedStyle(element).backgroundColor;
    return color === "rgba(0, 0, 0, 0)" ? paper(element.parentElement) : color;
  };
  return [...document.querySelectorAll(selector)].map((control) => {
    const edge = luminance(getComputedStyle(control).borderTopColor);
    const around = luminance(paper(control.parentElement));
    return (Math.max(edge, around) + 0.05) / (Math.min(edge, around) + 0.05);
  });
}
"""
"""The contrast of each control's border to what is around it, as WCAG 2 defines contrast."""


@pytest.fixture(scope="module")
def app(browsed: Installation) -> Installation:
    return browsed


@pytest.fixture(scope="module")
def owner(app: Installation) -> Visitor:
    return app.owner()


def open_task(browser: Browser, app: Installation, owner: Visitor, study: str) -> Page:
    """Open a study's task on a phone, as one who has joined it already."""
    (link,) = make_links(owner, study)
    judge = join(app, link, study)
    page = open_page(browser, **PHONE)
    page.context.add_cookies(
        [{"name": n, "value": v, "url": app.url} for n, v in judge.visitor.http.cookies.items()]
    )
    page.goto(f"{app.url}/studies/{study}/task")
    return page


def sign_in(page: Page, app: Installation, visitor: Visitor) -> None:
    page.context.add_cookies(
        [{"name": n, "value": v, "url": app.url} for n, v in visitor.http.cookies.items()]
    )


def borders(page: Page, selector: str) -> float:
    """Return the smallest contrast of the borders of some controls, light and dark."""
    found: list[float] = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        found += page.evaluate(CONTRAST, selector)
    assert found
    return min(found)


def test_scales_have_even_rows_on_a_phone(
    app: Installation, owner: Visitor, browser: Browser
) -> None:
    """A scale from 0 to 10 stood in rows of 9 and 2."""
    item = {"image": "1", "caption": "a dog"}
    scale = {"scale_low": 0, "scale_high": 10, "scale_high_label": "extraordinarily good"}
    study = make_study(owner, [item], design="rating", judges_each=1, **scale)
    page = open_task(browser, app, owner, study)
    boxes: list[Any] = [button.bounding_box() for button in page.locator("button.step").all()]
    rows = [sum(box["y"] == top for box in boxes) for top in sorted({b["y"] for b in boxes})]
    assert rows == [6, 5]
    assert min(box["width"] for box in boxes) >= 44 <= min(box["height"] for box in boxes)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["viewport"]["width"]
    assert page.get_by_role("button", name="10 extraordinarily good").count() == 1
    assert page.get_by_text("10: extraordinarily good").is_visible()
    assert borders(page, "button.step") >= 3
    page.set_viewport_size({"width": 1280, "height": 800})
    assert len({button.bounding_box()["y"] for button in page.locator("button.step").all()}) == 1  # type: ignore[index]
    page.close()


def test_a_phone_has_no_keys(app: Installation, owner: Visitor, browser: Browser) -> None:
    study = make_study(owner, triplets(1), judges_each=1)
    page = open_task(browser, app, owner, study)
    assert page.locator(".keys").count() == 1
    assert not page.locator(".keys").is_visible()
    assert not page.locator("kbd").first.is_visible()
    assert borders(page, "button.choice, button.quiet") >= 3
    page.close()


def test_words_stay_whole(app: Installation, owner: Visitor, browser: Browser) -> None:
    """In a narrow table, words broke after any letter."""
    systems = ["Orchardist transformer", "x" * 60]
    items = [{**item, "systems": systems} for item in triplets(12)]
    study = make_study(owner, items, design="pairwise", judges_each=1)
    (link,) = make_links(owner, study)
    join(app, link, study).answer_all(choose_dog)
    page = open_page(browser, **PHONE)
    sign_in(page, app, owner)
    assert owner.get(f"/api/studies/{study}").json()["results"]
    page.goto(f"{app.url}/studies/{study}")
    cells = page.locator("td.name").filter(has_text="Orchardist")
    heights = cells.first.evaluate(
        """(cell) => ["Orchardist", "transformer"].map((word) => {
          const text = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT).nextNode();
          const range = document.createRange();
          const start = text.data.indexOf(word);
          range.setStart(text, start);
          range.setEnd(text, start + word.length);
          return range.getClientRects().length;
        })"""
    )
    assert heights == [1, 1]  # each word on one line
    long = page.locator("td.name").filter(has_text="xxx").first
    box = long.bounding_box()
    assert box is not None and box["width"] < 200
    assert long.inner_text() == "x" * 60  # as it is copied
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["viewport"]["width"]
    page.close()


def test_charts_have_the_colors_of_the_page(
    app: Installation, owner: Visitor, browser: Browser
) -> None:
    study = make_study(owner, triplets(2), judges_each=1)
    drawn = owner.get(f"/studies/{study}/charts/progress.svg").text
    assert "prefers-color-scheme:dark" in drawn and "fill: var(--c" in drawn
    texts = owner.get(f"/api/studies/{study}").json()["charts"]
    assert texts["progress"] == "Answers over time: 0 of 2 so far."
    page = open_page(browser)
    sign_in(page, app, owner)
    papers = {}
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        page.goto(f"{app.url}/studies/{study}")
        chart = page.get_by_alt_text(texts["progress"])
        assert chart.get_attribute("height") == "240"  # what follows does not move
        papers[scheme] = chart.screenshot()
    assert papers["light"] != papers["dark"]
    page.close()


def test_the_form_shows_what_a_judge_will_see(
    app: Installation, owner: Visitor, browser: Browser
) -> None:
    page = open_page(browser, base_url=app.url)
    sign_in(page, app, owner)
    page.goto("/new-study")
    preview = page.locator("#preview")
    assert preview.locator(".choice").count() == 2
    assert not page.locator("#scale_low").is_visible()
    page.locator("#title").fill("Pictures of <b>dogs</b>")
    page.locator("#design").select_option("rating")
    preview.locator(".step").nth(4).wait_for()
    page.get_by_text("The scale", exact=True).click()
    page.locator("#scale_high").fill("7")
    page.locator("#scale_high").blur()
    preview.locator(".step").nth(6).wait_for()
    assert preview.get_by_text("Pictures of <b>dogs</b>").count() == 1
    # Sentences of the chosen file are shown, and the file stays chosen.
    page.locator("#results_1").set_input_files(app.folder / "system_a.json")
    made_up = preview.locator(".sentence").inner_text()
    page.get_by_role("button", name="Preview").click()
    page.locator("#preview:focus").wait_for()
    assert preview.locator(".sentence").inner_text() != made_up
    page.locator("#name").fill("from-lines")
    page.locator("#question").fill("How good is it?")
    page.get_by_text("Quality", exact=True).click()
    page.locator("#checks").fill("1 | a dog")
    page.get_by_text("Quality", exact=True).click()
    page.get_by_role("button", name="Create the study").click()
    page.get_by_text("checks, line 1: expected image | sentence | right rating").wait_for()
    page.locator("#checks").fill("1 | a dog | 7\n\n2 | dog dog dog | 1")
    page.get_by_role("button", name="Create the study").click()
    page.get_by_role("heading", name="Pictures of <b>dogs</b>").wait_for()
    (made,) = [s for s in owner.get("/api/studies").json()["studies"] if s["name"] == "from-lines"]
    assert made["check_count"] == 2
    page.close()


def test_a_preview_without_scripts(app: Installation, owner: Visitor, browser: Browser) -> None:
    page = open_page(browser, base_url=app.url, java_script_enabled=False)
    sign_in(page, app, owner)
    page.goto("/new-study")
    page.locator("#design").select_option("triplet")
    page.locator("#question").fill("Which is closer?")
    page.get_by_role("button", name="Preview").click()
    page.locator("#preview").get_by_text("Which is closer?").wait_for()
    assert page.locator("#question").input_value() == "Which is closer?"
    assert page.locator("[data-problem]").count() == 0  # what is missing is not wrong yet
    page.close()
