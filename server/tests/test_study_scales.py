"""Ratings in a real browser: what is stored is what the pressed button shows, on every scale."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

import pytest

from server.tests.support.installations import Installation, Visitor
from server.tests.support.studies import make_links, make_study, to_lines
from support.browsing import open_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SCALES: dict[str, tuple[float, float, float]] = {
    "digits": (0, 4, 1),
    "eleven": (0, 10, 1),
    "tenths": (0, 1, 0.1),
    "signed": (-2, 2, 1),
    "millions": (1_000_000, 1_000_003, 1),
}


@pytest.fixture(scope="module")
def owner(browsed: Installation) -> Visitor:
    return browsed.owner()


def make_rating(owner: Visitor, items: int, low: float, high: float, step: float) -> str:
    """Return the name of a study of ratings."""
    return make_study(
        owner,
        [{"image": str(n), "caption": f"a dog {n}"} for n in range(items)],
        design="rating",
        judges_each=1,
        scale_low=low,
        scale_high=high,
        scale_step=step,
    )


def stored(owner: Visitor, study: str) -> list[float]:
    """Return the ratings that were stored, in the order in which they came."""
    rows = csv.DictReader(io.StringIO(owner.get(f"/studies/{study}/export/answers").text))
    return [float(row["value"]) for row in sorted(rows, key=lambda row: row["answered"])]


def begin(browser: Browser, owner: Visitor, study: str) -> Page:
    (link,) = make_links(owner, study)
    page = open_page(browser)
    page.goto(link)
    page.get_by_label("I have read this and agree").check()
    page.get_by_role("button", name="Start").click()
    page.wait_for_url("**/task")
    return page


def shown_label(button: Any) -> str:
    """Return the first line of a button: below it may be what the step means."""
    return str(button.inner_text()).splitlines()[0].strip()


@pytest.mark.parametrize("scale", SCALES)
def test_what_is_shown_is_what_is_stored(scale: str, owner: Visitor, browser: Browser) -> None:
    low, high, step = SCALES[scale]
    count = round((high - low) / step) + 1
    clicked = sorted({0, 1, count // 2, count - 1})
    one_key = scale == "digits"
    study = make_rating(owner, len(clicked) + (count if one_key else 0) + 2, low, high, step)
    page = begin(browser, owner, study)
    hint = "a digit presses the button of that number" if one_key else "Keys: ← and → select"
    page.get_by_text(hint).wait_for()
    chosen: list[str] = []

    def next_item() -> None:
        page.locator("#count").get_by_text(f"{len(chosen)} of ", exact=False).wait_for()
        page.wait_for_function(f"document.getElementById('progress').value === {len(chosen)}")

    buttons = page.locator("button.step")
    labels = [shown_label(button) for button in buttons.all()]
    assert [float(label) for label in labels] == pytest.approx(
        [low + step * place for place in range(count)]
    )
    for place in clicked:
        next_item()
        buttons.nth(place).click()
        chosen.append(labels[place])
    for key in labels if one_key else ():
        next_item()
        page.keyboard.press(key)
        chosen.append(key)
    next_item()
    # Digits that are no button's whole label do nothing.
    for digit in "0123456789":
        if not (one_key and digit in labels):
            page.keyboard.press(digit)
    for arrow in ("ArrowRight", "ArrowRight", "Enter"):  # from none to the first and the second
        page.keyboard.press(arrow)
    chosen.append(labels[1])
    next_item()
    for arrow in ("ArrowRight", "End", "ArrowLeft", "Space"):
        page.keyboard.press(arrow)
    chosen.append(labels[-2])
    page.get_by_role("heading", name="Thank you").wait_for()
    page.close()
    assert stored(owner, study) == [float(label) for label in chosen]


@pytest.mark.parametrize(
    ("scale", "field", "message"),
    [
        ({"scale_low": 0, "scale_high": 1, "scale_step": 0.3}, "scale_step", "divide"),
        ({"scale_low": 1e17, "scale_high": 1e17 + 64, "scale_step": 16}, None, ""),
        ({"scale_low": 1e17, "scale_high": 1e17 + 16, "scale_step": 1}, "scale_step", "differ"),
    ],
)
def test_scales_whose_steps_cannot_be_told_apart(
    scale: dict[str, float], field: str | None, message: str, owner: Visitor
) -> None:
    content = {
        "name": f"scale-{scale['scale_step']:g}".replace(".", "-"),
        "title": "Rate",
        "design": "rating",
        "question": "How good is it?",
        "items": to_lines([{"image": "1", "caption": "a dog"}]),
        **scale,
    }
    answer = owner.post("/api/new-study", json=content)
    assert answer.status_code == (400 if field else 201), answer.text
    if field:
        assert message in answer.json()["errors"][field][0]


def test_an_attention_check_lies_on_the_scale(owner: Visitor) -> None:
    item = {"image": "1", "caption": "a dog"}
    content = {
        "name": "checked-scale",
        "title": "Rate",
        "design": "rating",
        "question": "How good is it?",
        "items": to_lines([item]),
        "checks": to_lines([item | {"rating": 5}]),
        "scale_low": 0,
        "scale_high": 1,
        "scale_step": 0.1,
    }
    refused = owner.post("/api/new-study", json=content)
    assert refused.status_code == 400
    assert refused.json()["errors"]["checks"] == [
        "checks, check 1: the rating 5 is not a step of the scale (0, 0.1, 0.2, 0.3, 0.4, "
        "0.5, 0.6, 0.7, 0.8, 0.9, 1)"
    ]
    content["checks"] = to_lines([item | {"rating": 0.3}])
    assert owner.post("/api/new-study", json=content).status_code == 201
