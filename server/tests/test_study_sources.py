"""What a study is made of: images that are there, errors where they belong, clocks that differ."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cidery.corpus import bundled
from server.tests.support.attacks import PIXEL, World
from server.tests.support.installations import PASSWORD
from server.tests.support.studies import (
    choose_dog,
    join,
    make_links,
    make_study,
    query,
    to_lines,
    triplets,
)
from support.browsing import open_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser

AHEAD = "UPDATE studies_assignment SET given = datetime(given, '+10 seconds') WHERE state = 'given'"
PAIR = {"image": "1", "pair": ["a dog", "a cat"]}


def create(world: World, **fields: Any) -> dict[str, Any]:
    """Return the errors of a study that is not made."""
    content = {"name": "not-made", "title": "x", "design": "pairwise", "items": to_lines([PAIR])}
    answer = world["owner"].post("/api/new-study", json=content | fields)
    assert answer.status_code == 400, answer.text
    return dict(answer.json()["errors"])


def test_images_that_pages_would_block_are_refused(world: World) -> None:
    errors = create(world, images="http://example.org/{image}.jpg")
    assert errors == {"images": ["The address must begin with https://."]}


@pytest.mark.parametrize("design", ["pairwise", "rating", "collection"])
def test_who_asks_about_images_shows_them(world: World, design: str) -> None:
    item = {"image": "1", "caption": "a dog", "pair": ["a dog", "a cat"]}
    errors = create(world, design=design, items=to_lines([item]))
    assert "the question is about an image, and no images are shown" in errors["items"][0]


def test_missing_images_are_noticed(world: World, tmp_path: Path) -> None:
    (tmp_path / "1.png").write_bytes(PIXEL)
    items = [PAIR | {"image": name} for name in ("1", "2", "../1")]
    (tmp_path / "items.jsonl").write_text(to_lines(items))
    content = {"name": "missing", "title": "x", "design": "pairwise"}
    content |= {"images": "{image}.png", "items": {"file": "items.jsonl"}}
    (tmp_path / "study.json").write_text(json.dumps(content))
    output = world.app.run("study", "create", str(tmp_path / "study.json"), status=2)
    assert f"2 of 3 images are missing, or are not images: {tmp_path}/2.png" in output


def test_errors_stand_at_their_field(world: World) -> None:
    assert list(create(world, checks="{broken")) == ["checks"]
    fields = {"name": "broken", "title": "x", "design": "pairwise", "question": "Which?"}
    good = bundled.path("system_a.json").read_bytes()
    for wrong in ("results_1", "results_2", "references"):
        files = {
            name: (f"{name}.json", b"{broken" if name == wrong else good)
            for name in ("results_1", "results_2", "references")
        }
        refused = world["owner"].post("/api/new-study", data=fields, files=files)
        assert list(refused.json()["errors"]) == [wrong]


def test_two_files_of_one_name_are_two_systems(world: World) -> None:
    fields = {"name": "namesakes", "title": "x", "design": "pairwise", "question": "Which?"}
    files = {
        f"results_{n}": ("results.json", bundled.path(f"system_{system}.json").read_bytes())
        for n, system in ((1, "a"), (2, "b"))
    }
    made = world["owner"].post("/api/new-study", data=fields, files=files)
    assert made.status_code == 201, made.text
    (content,) = world.ask("SELECT content FROM studies_item ORDER BY id DESC LIMIT 1")
    assert json.loads(content[0])["systems"] == ["results", "results-2"]


def test_clocks_of_two_machines_differ(world: World) -> None:
    """An item was given by a machine whose clock is ahead: the answer counts all the same."""
    study = make_study(world["owner"], triplets(2), judges_each=1)
    (link,) = make_links(world["owner"], study)
    judge = join(world.app, link, study)
    task = judge.task()
    query(world.app, AHEAD)
    task = judge.answer(task, choose_dog(task))
    assert judge.answer(task, choose_dog(task))["code"]
    sentences = make_study(world["owner"], [{"image": "1"}], design="collection", judges_each=1)
    (link,) = make_links(world["owner"], sentences)
    writer = join(world.app, link, sentences)
    task = writer.task()
    query(world.app, AHEAD)
    assert writer.answer(task, "A brown dog runs over a very green lawn.")["code"]


def test_chosen_files_stay_chosen(world: World, browser: Browser) -> None:
    page = open_page(browser, base_url=world.app.url)
    page.goto("/sign-in?next=/new-study")
    page.get_by_label("Name").fill("owner")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/new-study")
    page.locator("#name").fill("Kept files")
    page.locator("#title").fill("Which?")
    page.locator("#design").select_option("pairwise")
    page.locator("#question").fill("Which is better?")
    for number, system in ((1, "a"), (2, "b")):
        path = bundled.path(f"system_{system}.json")
        page.locator(f"#results_{number}").set_input_files(path)
    page.get_by_role("button", name="Create the study").click()
    page.get_by_text("A name consists of lowercase letters").wait_for()
    assert page.evaluate("document.activeElement.id") == "name"
    page.locator("#name").fill("kept-files")
    page.get_by_role("button", name="Create the study").click()
    page.wait_for_url("**/studies/kept-files")
    page.close()
