"""A report in a real browser: opened from disk, searched, linked to, drawn, printed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

import pytest

import cidery
from support.browsing import open_page
from support.example import Example

pytestmark = pytest.mark.filterwarnings("ignore::cidery.errors.InputWarning")

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NASTY = "<script>document.title='run'</script><img src=x onerror=\"document.title='run'\"> &amp;"
RIGHT_TO_LEFT = "كلب يجري على الشاطئ"
PHONE = {"width": 375, "height": 740}


@pytest.fixture(scope="module")
def report(
    browser: Browser, example: Example, tmp_path_factory: pytest.TempPathFactory
) -> cidery.reports.Report:
    """A report of 72 images with pictures for two of them; a name, an id and captions are HTML."""
    folder = tmp_path_factory.mktemp("report")
    (folder / "images").mkdir()
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    for name in ("1.png", "2.png"):
        image.new("RGB", (64, 48), "tomato").save(folder / "images" / name)
    names = {number: number for number in example.references} | {5: NASTY}
    first = {names[number]: caption for number, caption in example.system_a.items()}
    second = {names[number]: caption for number, caption in example.system_b.items()}
    references = {names[number]: captions for number, captions in example.references.items()}
    second[3], second[4] = NASTY, RIGHT_TO_LEFT
    second[6] += " <eos>"
    references[3] = [NASTY, *references[3]]
    systems = {"first": {str(k): v for k, v in first.items()}, NASTY: {}}
    systems[NASTY] = {str(k): v for k, v in second.items()}
    with pytest.warns(cidery.errors.DataWarning, match="70 of 72 images have no file"):
        return cidery.write_report(
            folder / "report.html",
            systems,
            {str(k): v for k, v in references.items()},
            ["cider-d", "rouge-l"],
            frequencies="coco-val2014",
            by={str(names[n]): f"<b>{'even' if n % 2 == 0 else 'odd'}</b>" for n in names},
            images=folder / "images",
            title=f"Title {NASTY}",
        )


@pytest.fixture
def page(browser: Browser, report: cidery.reports.Report) -> Iterator[Page]:
    """The report, opened; nothing may be asked for from elsewhere, and nothing complained of."""
    page = open_page(browser, viewport={"width": 1200, "height": 900})
    asked: list[str] = []
    problems: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(report.path.as_uri())
    yield page
    page.close()
    inside = (report.path.as_uri(), report.path.parent.as_uri() + "/images/", "data:")
    assert [url for url in asked if not url.startswith(inside)] == []
    assert problems == []


def first_row(page: Page) -> str:
    return page.locator("#x-row-0").inner_text()


def view(page: Page) -> dict[str, list[str]]:
    """Return what the address of the present view says."""
    link = page.get_by_role("link", name="Link to this view").get_attribute("href")
    return parse_qs(link.removeprefix("#/"))


def test_captions_names_and_ids_stay_text(page: Page, report: cidery.reports.Report) -> None:
    assert page.get_by_role("heading", level=1).inner_text() == f"Title {NASTY}"
    page.get_by_label("Text or id").fill("<script>")
    page.get_by_role("status").get_by_text("2 of 72 images").wait_for()
    detail = page.get_by_role("article")
    assert f"Image {NASTY}" in detail.get_by_role("heading", level=3).inner_text()
    page.get_by_role("button", name="Next").click()
    detail.get_by_role("heading", name=re.compile("^Image 3 ")).wait_for()
    assert NASTY in detail.locator(".x-said").all_inner_texts()
    assert NASTY in detail.locator(".x-references").inner_text()
    assert NASTY in detail.locator("h4 > span").all_inner_texts()
    assert {"<b>odd</b>"} == set(detail.locator(".x-chip").all_inner_texts())
    page.locator(".plot[data-drawn]").nth(6).wait_for()
    audit = page.get_by_role("region", name="Audit").inner_text()
    assert "special tokens or marks of subwords, such as <eos>" in audit
    assert NASTY in audit and "CIDEr-D would change by" in audit
    assert page.title() == f"Title {NASTY}"
    assert page.locator("img[src=x]").count() == 0
    said = page.locator(".x-said").last
    page.get_by_label("Text or id").fill(RIGHT_TO_LEFT)
    page.get_by_role("status").get_by_text("1 of 72 images").wait_for()
    assert said.evaluate("e => getComputedStyle(e).direction") == "rtl"


def test_biggest_differences_come_first_with_all_digits(
    page: Page, report: cidery.reports.Report
) -> None:
    systems = report.content["systems"]
    first, other = (system["scores"]["cider-d"] for system in systems.values())
    differences = [a - b for a, b in zip(first, other, strict=True)]
    order = sorted(range(72), key=lambda place: -abs(differences[place]))
    shown = page.locator("#x-row-0 .x-value")
    assert float(shown.get_attribute("title")) == differences[order[0]]
    cell = page.locator("#score-table tbody tr").first.locator("td").first
    assert (
        float(cell.get_attribute("title"))
        == report.content["comparison"]["scores"]["first"]["cider-d"]
    )
    # Words are colored: those of a good caption mostly earned.
    earned = page.locator(".x-system").first.locator("[class^=x-earn-]")
    assert earned.count() > 0 and "earned +" in earned.first.get_attribute("title")


def test_keys_and_links(page: Page, browser: Browser, report: cidery.reports.Report) -> None:
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the scores"
    rows = page.get_by_role("listbox", name="Images")
    rows.focus()
    for key in ("ArrowDown", "j", "j", "k"):
        rows.press(key)
    assert rows.get_attribute("aria-activedescendant") == "x-row-2"
    page.locator("#x-row-2[aria-selected=true]").wait_for()
    rows.press("End")
    page.locator("#x-row-71[aria-selected=true]").wait_for()
    assert page.locator(".x-row").count() < 30  # those in sight only
    rows.press("/")
    page.get_by_label("Text or id").and_(page.locator(":focus")).wait_for()
    page.get_by_label("Show first").select_option("disagreement")
    page.locator("#x-slice").select_option("<b>even</b>")
    page.get_by_role("status").get_by_text("36 of 72 images").wait_for()
    page.locator("#x-from").fill("0.1")
    page.locator("#x-row-0").click()
    found = view(page)
    assert found["sort"] == ["disagreement"] and found["slice"] == ["<b>even</b>"]
    assert found["from"] == ["0.1"]
    heading = page.get_by_role("article").get_by_role("heading", level=3).inner_text()
    link = page.get_by_role("link", name="Link to this view").get_attribute("href")
    # Someone else opens the link.
    other = open_page(browser)
    other.goto(f"{report.path.as_uri()}{link}")
    again = other.get_by_role("article").get_by_role("heading", level=3)
    assert again.inner_text() == heading
    assert view(other) == found
    # A wrong link shows the usual view.
    other.goto("about:blank")
    other.goto(
        f"{report.path.as_uri()}#/sort=none&metric=no&one=x&slice=constructor&from=a&image=0"
    )
    other.locator("#x-row-0[aria-selected=true]").wait_for()
    assert view(other) == {"image": ["0"]}
    other.close()


def test_pictures_are_drawn_and_open_images(page: Page) -> None:
    drawn = page.locator(".plot[data-drawn]")
    drawn.nth(6).wait_for()
    assert page.locator(".plot").count() == drawn.count() == 7
    for figure in page.locator("figure:not(.contrast)").all():
        assert figure.locator("[role=img]").get_attribute("aria-label")
        assert figure.locator("table").count() == 1
    figure = page.locator("figure").filter(has_text="Each point is an image; click it").first
    figure.scroll_into_view_if_needed()
    point = figure.locator(".scatterlayer .trace").last.locator("path").nth(7)
    box = point.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    figure.locator(".hoverlayer text").first.wait_for()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.get_by_role("listbox", name="Images").and_(page.locator(":focus")).wait_for()
    assert "image" in view(page)
    # A word searches the explorer.
    word = page.locator(".contrast button").first
    text = word.evaluate("e => e.firstChild.textContent")
    word.click()
    assert view(page)["text"] == [text]


def test_missing_pictures_are_handled(page: Page) -> None:
    page.get_by_label("Show first").select_option("order")
    detail = page.get_by_role("article")
    detail.get_by_role("heading", name=re.compile(r"^Image 1 ")).wait_for()
    picture = detail.locator("img")
    picture.evaluate("image => image.decode()")
    assert picture.evaluate("image => image.naturalWidth") == 64
    page.get_by_role("listbox", name="Images").press("End")
    detail.get_by_text("The image is not available.").wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_phone_dark_and_print(browser: Browser, report: cidery.reports.Report, scheme: str) -> None:
    page = open_page(browser, viewport=PHONE, color_scheme=scheme, reduced_motion="reduce")
    page.goto(report.path.as_uri())
    page.locator(".plot[data-drawn]").nth(6).wait_for()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for selector in ("h1", ".x-said", ".x-id", ".x-value", "#about", "summary"):
        assert contrast(page, selector) >= 4.5, selector
    page.emulate_media(media="print")
    assert not page.get_by_role("listbox", name="Images").is_visible()
    assert page.locator(".x-said").first.is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert contrast(page, "h1") >= 4.5
    page.close()


def contrast(page: Page, selector: str) -> float:
    """Return how much a text stands out from what is behind it, as WCAG 2.2 measures it."""
    ratio: float = page.locator(selector).first.evaluate(
        """element => {
          const read = (text) => text.match(/[\\d.]+/g).map(Number);
          const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
            .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
            .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
          let behind = element;
          while (behind && read(getComputedStyle(behind).backgroundColor)[3] === 0) {
            behind = behind.parentElement;
          }
          const a = light(read(getComputedStyle(element).color));
          const b = behind ? light(read(getComputedStyle(behind).backgroundColor)) : 1;
          return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        }"""
    )
    return ratio


@pytest.mark.filterwarnings("ignore::cidery.errors.LanguageWarning")
def test_several_captions_of_an_image(browser: Browser, example: Example, tmp_path: Path) -> None:
    images = list(example.references)[:12]
    sets = {i: [example.system_a[i], example.system_b[i], "犬が走る 🐕 it's"] for i in images}
    cidery.write_report(
        tmp_path / "r.html",
        {"sampled": sets},
        {i: example.references[i] for i in images},
        "cider-d",
        frequencies="coco-val2014",
    )
    page = open_page(browser)
    page.goto((tmp_path / "r.html").as_uri())
    assert page.locator(".x-said").all_inner_texts()[2] == "犬が走る 🐕 it's"
    assert page.locator(".x-said").count() == 3
    assert page.get_by_role("heading", name="Diversity").is_visible()
    assert page.get_by_label("Show first").input_value() == "low"
    # Names that are whole numbers keep the order in which they were given.
    numbered = {"10": sets, "9": {i: found[::-1] for i, found in sets.items()}}
    references = {i: example.references[i] for i in images}
    cidery.write_report(tmp_path / "numbers.html", numbered, references, "bleu-1")
    page.goto((tmp_path / "numbers.html").as_uri())
    rows = page.get_by_role("table", name="Diversity of sets of captions").get_by_role("row")
    shown = [text.split()[0] for text in rows.all_inner_texts()]
    assert shown == ["system", "10", "9", "humans"]
    page.close()
