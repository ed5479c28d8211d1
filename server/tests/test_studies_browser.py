"""Studies in a real browser: keyboard, telephone, screen reader, no scripts; and the owner."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from server.tests.support.installations import PASSWORD, Installation, Visitor
from server.tests.support.studies import make_links, make_study, triplets
from support.browsing import open_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PHONE = {"width": 360, "height": 640}
DRAWING = '<svg xmlns="http://www.w3.org/2000/svg" width="30" height="20"/>'


@pytest.fixture(scope="module")
def app(browsed: Installation) -> Installation:
    return browsed


@pytest.fixture(scope="module")
def owner(app: Installation) -> Visitor:
    return app.owner()


def open_task(browser: Browser, link: str, **settings: object) -> Page:
    """Join a study as a person does, by mouse."""
    page = open_page(browser, **settings)
    page.goto(link)
    page.get_by_label("I have read this and agree").check()
    page.get_by_role("button", name="Start").click()
    page.wait_for_url("**/task")
    return page


def test_a_judge_finishes_by_keyboard(app: Installation, owner: Visitor, browser: Browser) -> None:
    study = make_study(owner, triplets(4), judges_each=1, title="Dogs or cats?")
    (link,) = make_links(owner, study)
    page = open_page(browser)
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(link)
    for _ in range(20):  # to the box of consent by keys alone
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.type") == "checkbox":
            break
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    page.wait_for_url("**/task")
    shown = []
    for number in range(4):
        count = page.locator("#count")
        count.get_by_text(f"{number} of 4").wait_for()
        shown.append(page.locator("#reference").inner_text())
        if number == 0:  # there is nothing to take back yet
            page.keyboard.press("u")
        if number == 2:  # take the last answer back, and give it again
            page.keyboard.press("u")
            count.get_by_text("1 of 4").wait_for()
            assert page.locator("#reference").inner_text() == shown[1]
            page.keyboard.press(side_of_dog(page))
            count.get_by_text("2 of 4").wait_for()
            assert page.locator("#reference").inner_text() == shown[2]
        page.keyboard.press(side_of_dog(page))
    page.get_by_role("heading", name="Thank you, you are done").wait_for()
    code = page.locator("#code").inner_text()
    assert len(set(shown)) == 4
    message = owner.get(f"/api/studies/{study}").json()
    assert message["answered"] == 4
    assert [code] == message["judges"][0]["codes"]
    lines = owner.get(f"/studies/{study}/export/jsonl").text.splitlines()
    assert all('"votes": [1]' in line for line in lines)
    assert errors == []  # the content security policy complains in the console
    page.close()


def side_of_dog(page: Page) -> str:
    return "1" if "dog" in page.locator(".choice .text").first.inner_text() else "2"


def test_a_telephone(owner: Visitor, browser: Browser) -> None:
    items = triplets(2)
    items[0]["pair"][0] = "a " + "very " * 60 + "long dog"
    study = make_study(owner, items, judges_each=1)
    (link,) = make_links(owner, study)
    page = open_task(browser, link, viewport=PHONE, has_touch=True)
    for answered in range(2):
        page.locator("#count").get_by_text(f"{answered} of 2").wait_for()
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= PHONE["width"]  # nothing to scroll sideways
        box = page.locator(".choice").first.bounding_box()
        assert box is not None
        assert box["height"] >= 44 and box["width"] > 300  # room for a thumb
        # Elsewhere: two quick taps at one place are a double tap, whose second is no answer.
        page.locator(".choice").nth(answered).tap()
    page.get_by_role("heading", name="Thank you").wait_for()
    page.close()


def test_what_a_screen_reader_hears(owner: Visitor, browser: Browser) -> None:
    study = make_study(owner, triplets(2), judges_each=1)
    (link,) = make_links(owner, study)
    page = open_task(browser, link)
    tree = page.locator("main").aria_snapshot()
    assert 'heading "Which of the two sentences, B or C, is more similar to A?"' in tree
    assert "Sentence A:" in tree
    for letter in "BC":
        assert page.get_by_role("button", name=f"{letter}: a ").count() == 1
    assert page.get_by_role("progressbar", name="Progress").count() == 1
    page.keyboard.press("1")
    page.locator("#count").get_by_text("1 of 2").wait_for()
    # The next item is read from its question on.
    assert page.evaluate("document.activeElement.id") == "question"
    page.close()


def test_an_image_that_does_not_load(owner: Visitor, browser: Browser) -> None:
    pair = {"image": "1", "pair": ["a dog", "a cat"]}
    images = "https://127.0.0.1:1/{image}.jpg"  # nobody answers there
    study = make_study(owner, [pair], design="pairwise", judges_each=1, images=images)
    (link,) = make_links(owner, study)
    page = open_task(browser, link)
    page.get_by_role("alert").get_by_text("The image does not load.").wait_for()
    assert page.get_by_role("button", name="A: a ").count() == 1
    assert page.get_by_role("button", name="B: a ").count() == 1
    page.close()


def test_nobody_answers_before_the_image_is_there(owner: Visitor, browser: Browser) -> None:
    pairs = [{"image": str(n), "pair": [f"a dog {n}", f"a cat {n}"]} for n in range(2)]
    images = "https://images.example.org/{image}.svg"
    study = make_study(owner, pairs, design="pairwise", judges_each=1, images=images)
    (link,) = make_links(owner, study)
    page = open_page(browser)
    waiting: list[Any] = []
    page.route("https://images.example.org/*", lambda one: waiting.append(one))  # a slow line

    def bring(number: int) -> None:
        while len(waiting) <= number:
            page.wait_for_timeout(10)
        waiting[number].fulfill(content_type="image/svg+xml", body=DRAWING)

    page.goto(link, wait_until="commit")
    page.get_by_label("I have read this and agree").check()
    page.get_by_role("button", name="Start").click(no_wait_after=True)
    choice = page.locator(".choice").first
    choice.and_(page.locator(":disabled")).wait_for()
    page.keyboard.press("1")
    bring(0)
    choice.and_(page.locator(":enabled")).wait_for()
    first = choice.inner_text()
    choice.dblclick()  # answers one item, although the next is there before the second click
    page.locator("#count").get_by_text("1 of 2").wait_for()
    assert choice.inner_text() != first
    assert choice.is_disabled()
    # The last image is gone although the next is not here.
    assert page.evaluate("document.getElementById('image').naturalWidth") == 0
    page.keyboard.press("1")
    bring(1)
    choice.and_(page.locator(":enabled")).wait_for()
    assert owner.get(f"/api/studies/{study}").json()["answered"] == 1
    page.close()


def test_without_scripts(owner: Visitor, browser: Browser) -> None:
    study = make_study(owner, triplets(2), judges_each=1)
    (link,) = make_links(owner, study)
    page = open_task(browser, link, java_script_enabled=False)
    count = page.locator("#count")
    page.locator(".choice").first.click()
    count.get_by_text("1 of 2").wait_for()
    page.get_by_role("button", name="Undo").click()
    for answered in range(2):
        count.get_by_text(f"{answered} of 2").wait_for()
        page.locator(".choice").last.click()
    page.get_by_role("heading", name="Thank you").wait_for()
    page.close()


def test_a_sentence_is_written_and_corrected(owner: Visitor, browser: Browser) -> None:
    study = make_study(owner, [{"image": "1"}], design="collection", judges_each=1)
    (link,) = make_links(owner, study)
    page = open_task(browser, link)
    page.get_by_label("Your sentence").fill("A dog.")
    page.get_by_role("button", name="Send").click()
    page.get_by_role("alert").get_by_text("too short: 2 words").wait_for()
    assert page.get_by_label("Your sentence").input_value() == "A dog."
    page.get_by_label("Your sentence").fill("A brown dog runs over a very green lawn.")
    page.keyboard.press("Control+Enter")
    page.get_by_role("heading", name="Thank you").wait_for()
    page.close()


def test_sentences_are_text(owner: Visitor, browser: Browser) -> None:
    """Captions that look like HTML are shown as they are, by the server and by the script."""
    evil = "<img src=x onerror=document.title='broken'><b>dog</b>"
    items = [
        {"image": str(n), "pair": [f"{evil} {n}", "a cat"], "reference": f"{evil} {n}"}
        for n in range(2)
    ]
    study = make_study(owner, items, judges_each=1, title="<i>Title</i>")
    (link,) = make_links(owner, study)
    page = open_task(browser, link)
    for number in range(2):
        page.locator("#count").get_by_text(f"{number} of 2").wait_for()
        assert page.locator("#reference").inner_text().startswith("<img src=x")
        page.keyboard.press("1")
    page.get_by_role("heading", name="Thank you").wait_for()
    assert page.title() == "<i>Title</i>"
    page.close()


def test_the_owner_makes_a_study_with_a_form(
    app: Installation, browser: Browser, owner: Visitor
) -> None:
    examples = Path(__file__).parents[2] / "src" / "cidery" / "corpus" / "bundled"
    page = open_page(browser)
    page.goto(f"{app.url}/sign-in")
    page.get_by_label("Name").fill("owner")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("button", name="Sign out").wait_for()
    page.goto(f"{app.url}/new-study")
    page.locator("#name").fill("by-form")
    page.locator("#title").fill("Which describes it better?")
    page.locator("#design").select_option("pairwise")
    page.locator("#question").fill("Which sentence is better?")
    page.locator("#results_1").set_input_files(examples / "system_a.json")
    page.get_by_role("button", name="Create the study").click()
    page.get_by_text("pairs need the results of two systems, not of 1").wait_for()
    page.locator("#results_1").set_input_files(examples / "system_a.json")
    page.locator("#results_2").set_input_files(examples / "system_b.json")
    page.locator("#references").set_input_files(examples / "references.json")
    page.locator("#sample").fill("5")
    page.get_by_role("button", name="Create the study").click()
    page.get_by_role("heading", name="Which describes it better?").wait_for()
    shown = owner.get("/api/studies/by-form").json()
    assert (shown["items"], shown["needed"], shown["design"]) == (5, 15, "pairwise")
    page.get_by_role("link", name="Invite judges").click()
    page.locator("#name").fill("students")
    page.get_by_role("button", name="Create links").click()
    assert "/studies/by-form/join/" in page.locator("#links").inner_text()
    page.close()


def test_other_answers_and_several_ratings(owner: Visitor, browser: Browser) -> None:
    study = make_study(
        owner, triplets(3), judges_each=1, allow_ties=True, allow_skip=True, ask_comment=True
    )
    (link,) = make_links(owner, study)
    page = open_task(browser, link)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.get_by_text("Add a comment").click()
    page.get_by_label("Your comment").fill("Both 1 and 2.")  # digits in a comment answer nothing
    page.get_by_role("button", name="Both are equally good").click()
    page.locator("#count").get_by_text("1 of 3").wait_for()
    assert page.locator("#comment").input_value() == ""
    before = page.locator("#reference").inner_text()
    page.get_by_role("button", name="Skip this one").click()
    page.wait_for_function(
        "text => document.getElementById('reference').textContent !== text", arg=before
    )
    page.keyboard.press("1")
    page.get_by_role("heading", name="Thank you").wait_for()
    assert "Both 1 and 2." in owner.get(f"/studies/{study}/export/answers").text
    sets = [
        {"image": str(n), "sets": [["a dog", "a hound"], ["a cat", "an ape"]]} for n in range(2)
    ]
    study = make_study(owner, sets, design="rating", judges_each=1)
    (link,) = make_links(owner, study)
    page = open_task(browser, link, viewport=PHONE, has_touch=True)
    page.on("pageerror", lambda error: errors.append(str(error)))
    for answered in range(2):
        page.locator("#count").get_by_text(f"{answered} of 2").wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        page.get_by_role("group", name="Set 1").get_by_label("5").tap()
        page.get_by_role("button", name="Send").click()  # the browser asks for the other one
        page.get_by_role("group", name="Set 2").get_by_label("2").tap()
        page.get_by_role("button", name="Send").click()
    page.get_by_role("heading", name="Thank you").wait_for()
    assert errors == []
    page.close()
