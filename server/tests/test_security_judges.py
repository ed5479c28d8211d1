"""Judges as attackers: each other's answers, early codes, attention checks, scripts in captions."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cidery.meta import read_judgment_records
from server.tests.support.attacks import PAYLOAD, World, checks, items
from server.tests.support.installations import PASSWORD
from server.tests.support.studies import Judge, choose_dog, join, make_links, make_study, triplets
from support.browsing import open_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


def new_study(world: World, number: int = 2, **fields: Any) -> tuple[str, str]:
    study = make_study(world["owner"], triplets(number), **fields)
    return study, make_links(world["owner"], study)[0]


def test_a_judge_cannot_answer_for_another(world: World) -> None:
    study, link = new_study(world)
    one, two = (join(world.app, link, study, worker=worker) for worker in ("one", "two"))
    task = one.task()
    two.task()
    assert two.try_answer(task, "1").status_code == 400
    assert one.task()["assignment"] == task["assignment"]
    forged = world.app.visitor()
    cookie = one.visitor.http.cookies[f"judge-{study}"]
    number, _, signature = cookie.partition(":")
    for value in (f"{int(number) + 1}:{signature}", number, "x", ""):
        message = forged.get(
            f"/api/studies/{study}/task", headers={"Cookie": f"judge-{study}={value}"}
        )
        assert message.status_code == 403
    # A cookie is good for its own study only.
    message = forged.get("/api/studies/local/task", headers={"Cookie": f"judge-local={cookie}"})
    assert message.status_code == 403


def test_no_address_claims_a_personal_invite(world: World) -> None:
    study, link = new_study(world)
    (personal,) = make_links(world["owner"], study, personal=True)
    alice = join(world.app, personal, study)
    task = alice.task()
    shown = world["owner"].get(f"/api/studies/{study}").json()["judges"]
    (name,) = [judge["worker"] for judge in shown]
    mallory = join(world.app, link, study, worker=name)
    assert mallory.task()["assignment"] != task["assignment"]
    assert mallory.try_answer(task, "1").status_code == 400
    assert len(world["owner"].get(f"/api/studies/{study}").json()["judges"]) == 2


def test_who_agrees_twice_is_one_judge(world: World) -> None:
    study, link = new_study(world)
    judge = join(world.app, link, study)
    judge.answer_all(choose_dog)
    path = "/api/" + link.split("/", 3)[3]
    assert judge.visitor.post(path, json={"agree": True}).status_code == 204
    assert judge.task()["state"] == "done"
    assert len(world["owner"].get(f"/api/studies/{study}").json()["judges"]) == 1


def test_codes_come_at_the_end_and_only_there(world: World) -> None:
    study, link = new_study(world, judges_each=1, completion_url="https://example.org/done")
    one, late = (join(world.app, link, study, worker=worker) for worker in ("one", "late"))
    task = one.task()
    assert (task["code"], task["completion_url"]) == ("", "")
    task = one.answer(task, "1")
    assert (task["code"], task["completion_url"]) == ("", "")
    done = one.answer(task, "1")
    assert len(done["code"]) == 10
    assert done["completion_url"] == "https://example.org/done"
    empty = late.task()
    assert (empty["state"], empty["code"], empty["completion_url"]) == ("done", "", "")
    number = world["owner"].get(f"/api/studies/{study}").json()["judges"][0]["id"]
    path = f"/api/studies/{study}/judges/{number}"
    world["owner"].post(path, json={"excluded": True, "reason": "x"})
    assert one.task()["code"] == ""


def test_a_personal_link_is_paid_once(world: World) -> None:
    study, _ = new_study(world, judges_each=1)
    (link,) = make_links(world["owner"], study, personal=True)
    codes = set()
    for assignment in ("", "x2", "x3"):
        judge = join(world.app, link, study, assignment=assignment)
        judge.answer_all(choose_dog)
        codes.add(judge.task()["code"])
    assert len(codes) == 1 and "" not in codes


def test_after_the_code_answers_stay(world: World) -> None:
    study, link = new_study(world, judges_each=1)
    judge = join(world.app, link, study, worker="one", assignment="a")
    judge.answer_all(choose_dog)
    assert judge.task()["code"]
    assert judge.visitor.post(f"/api/studies/{study}/undo", json={}).status_code == 400
    assert judge.task()["answered"] == 2
    # Nor does another visit take back what an earlier one was paid for.
    again = join(world.app, link, study, worker="one", assignment="b")
    task = again.task()
    assert (task["answered"], task["can_undo"], task["code"]) == (0, False, "")
    assert again.visitor.post(f"/api/studies/{study}/undo", json={}).status_code == 400


def test_an_item_left_in_one_visit_is_work_of_the_next(world: World) -> None:
    study, link = new_study(world, judges_each=1, items_per_judge=1)
    left = join(world.app, link, study, worker="one", assignment="a").task()
    again = join(world.app, link, study, worker="one", assignment="b")
    task = again.task()
    assert (task["assignment"], task["answered"]) == (left["assignment"], 0)
    done = again.answer(task, "1")
    assert (done["state"], done["answered"], len(done["code"])) == ("done", 1, 10)


def test_checks_alone_earn_no_code(world: World) -> None:
    """Who comes when others have all items gets no check, and no code for one."""
    study = make_study(world["owner"], triplets(2), checks=checks(), check_every=2, judges_each=1)
    (link,) = make_links(world["owner"], study)
    first = join(world.app, link, study, worker="first")
    for task in first.answer_all(choose_dog):
        assert task["answered"] < task["goal"]
    late = [join(world.app, link, study, worker=f"late{n}").task() for n in range(4)]
    assert {(task["state"], task["code"]) for task in late} == {("done", "")}


def test_nothing_is_taken_after_closing(world: World) -> None:
    study, link = new_study(world)
    judge = join(world.app, link, study)
    first = judge.task()
    second = judge.answer(first, "1")
    world["owner"].post(f"/api/studies/{study}/state", json={"state": "closed"})
    assert judge.try_answer(second, "1").status_code == 400
    assert judge.visitor.post(f"/api/studies/{study}/undo", json={}).status_code == 400
    stranger = world.app.visitor()
    path = "/api/" + link.split("/", 3)[3]
    assert stranger.post(path, json={"agree": True}).status_code == 400
    assert world["owner"].get(f"/api/studies/{study}").json()["answered"] == 1


def test_checks_and_sides_cannot_be_told(world: World) -> None:
    """Neither the fields nor the order of the numbers distinguish a check from an item."""
    study = make_study(world["owner"], items(), checks=checks(), check_every=2, judges_each=20)
    (link,) = make_links(world["owner"], study)
    apart, fields, kinds = 0, set(), set()
    for number in range(6):
        judge = join(world.app, link, study, worker=f"teller{number}")
        tasks = judge.answer_all(lambda _: "1")
        by_ticket = {task["assignment"]: "answer" in task["sentences"][0] for task in tasks}
        assert sum(by_ticket.values()) == 4
        assert 0 not in by_ticket
        # Rows made on the fly have the highest keys; tickets must not lie apart like them.
        tickets = sorted(by_ticket, key=lambda ticket: (by_ticket[ticket], ticket))
        apart += tickets == sorted(by_ticket)
        fields |= {tuple(task) for task in tasks}
        kinds |= {by_ticket[ticket] for ticket in by_ticket}
        assert "zqsystem" not in json.dumps(tasks)
    assert len(fields) == 1
    assert not {"swapped", "known_answer", "systems", "check"} & set(fields.pop())
    assert kinds == {True, False}
    assert apart < 6  # by chance once in 495 for each judge
    keys = world.ask(
        "SELECT known_answer IS NOT NULL FROM studies_item WHERE study_id IN "
        "(SELECT id FROM studies_study WHERE check_count > 0) ORDER BY study_id, id"
    )
    assert [key for (key,) in keys] != sorted(key for (key,) in keys)
    swapped = world.ask("SELECT DISTINCT swapped FROM studies_assignment WHERE state = 'answered'")
    assert len(swapped) == 2


def test_formulas_in_exports_are_text(world: World, tmp_path: Path) -> None:
    """Not what judges write, nor what captions and images are called; numbers stay numbers."""
    formula = "=HYPERLINK(1)"
    item = {"image": formula, "caption": "-1+1|cmd", "system": "@x"}
    scale = {"scale_low": -2, "scale_high": 2}
    study = make_study(world["owner"], [item], design="rating", **scale)
    (link,) = make_links(world["owner"], study)
    judge = join(world.app, link, study, worker=formula, assignment="+1+1")
    judge.answer_all(lambda _: "-2")
    for kind in ("answers", "csv", "codes"):
        exported = world["owner"].get(f"/studies/{study}/export/{kind}").text
        rows = list(csv.reader(io.StringIO(exported)))
        cells = [cell for row in rows for cell in row]
        assert {cell for cell in cells if cell[:1] in ("=", "+", "-", "@")} <= {"-2"}
        assert f"'{formula}" in cells
    path = tmp_path / "judgments.csv"
    path.write_text(world["owner"].get(f"/studies/{study}/export/csv").text)
    record = next(read_judgment_records(path))
    assert (record.text("image"), record.text("caption")) == (formula, "-1+1|cmd")


SMUGGLE = """payload => new Promise(resolve => {
    const stopped = [];
    document.addEventListener("securitypolicyviolation", event => {
        stopped.push(event.effectiveDirective);
        if (stopped.length === 2) setTimeout(() => resolve(stopped));
    });
    const box = document.createElement("div");
    document.body.append(box);
    box.innerHTML = payload;
    const script = document.createElement("script");
    script.textContent = "alert(4)";
    document.body.append(script);
})"""
"""Puts a payload into the page and returns what the Content-Security-Policy has stopped."""


def watch(browser: Browser, url: str, judge: Judge) -> Page:
    page = open_page(browser, base_url=url)
    for cookie in judge.visitor.http.cookies.jar:
        page.context.add_cookies([{"name": cookie.name, "value": str(cookie.value), "url": url}])
    return page


def test_no_payload_runs_in_a_browser(world: World, browser: Browser) -> None:
    """Captions, names, titles and texts full of scripts: no dialog opens, nothing is fetched."""
    study = make_study(world["owner"], items())
    (link,) = make_links(world["owner"], study)
    page = watch(browser, world.app.url, join(world.app, link, study, worker="reader"))
    alarms: list[str] = []
    page.on("dialog", lambda dialog: (alarms.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda sent: alarms.append(sent.url) if sent.url.endswith("/x") else None)
    team = f"/submissions/{world.submissions['team']}"
    for path in ("/challenges", "/challenges/orchard", team, f"/studies/{study}/task"):
        page.goto(path)
        assert page.locator("body").inner_text()
    assert "<script>" in page.locator("#reference").inner_text()
    page.goto("/sign-in")
    page.fill("[name=name]", "owner")
    page.fill("[name=password]", PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("button", name="Sign out").wait_for()
    for path in ("/accounts", "/studies/local", "/studies/sentences/review", "/new-challenge"):
        page.goto(path)
    page.goto("/challenges/orchard")
    # The policy holds even if a payload got into the page.
    stopped = page.evaluate(SMUGGLE, PAYLOAD.replace("src=x", "src=data:x"))
    assert {"script-src-attr", "script-src-elem"} <= set(stopped)
    assert alarms == []
    page.close()
