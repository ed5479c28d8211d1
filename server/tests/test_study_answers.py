"""What judges may answer: ties, skips, several ratings, comments; training and pilots."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest

from cidery.meta import Ratings, Record, Sets, build_judgments
from server.tests.support.installations import Installation, Visitor
from server.tests.support.studies import (
    Judge,
    choose_cat,
    choose_dog,
    join,
    make_links,
    make_study,
    triplets,
)

IMAGES = "https://images.example.org/{image}.jpg"


@pytest.fixture(scope="module")
def owner(installation: Installation) -> Visitor:
    return installation.owner()


def send(judge: Judge, task: dict[str, Any], status: int = 200, **content: Any) -> dict[str, Any]:
    """Send anything but a plain answer; return the next task, or what is wrong."""
    path = f"/api/studies/{judge.study}/task"
    message = judge.visitor.post(path, json={"assignment": task["assignment"], **content})
    assert message.status_code == status, message.text
    return dict(message.json())


def export(owner: Visitor, study: str, kind: str = "answers") -> list[dict[str, str]]:
    text = owner.get(f"/studies/{study}/export/{kind}").text
    return list(csv.DictReader(io.StringIO(text)))


def read_lines(owner: Visitor, study: str) -> list[dict[str, Any]]:
    text = owner.get(f"/studies/{study}/export/jsonl").text
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.both_databases
def test_ties_skips_and_broken_images(installation: Installation, owner: Visitor) -> None:
    study = make_study(
        owner,
        triplets(4),
        judges_each=1,
        images=IMAGES,
        allow_ties=True,
        allow_neither=True,
        allow_skip=True,
        ask_comment=True,
    )
    (link,) = make_links(owner, study)
    one, two = (join(installation, link, study, worker=name) for name in "12")
    task = one.task()
    assert task["choices"] == ["tie", "neither", "skip", "broken"]
    assert "Please answer." in send(one, task, 400)["errors"]["answer"]
    page = one.visitor.get(f"/studies/{study}/task").text
    assert "Both are equally good" in page and "Add a comment" in page
    broken = task["reference"]
    task = send(one, task, choice="tie", comment="=both, really")
    back = one.undo()
    assert back["reference"] == broken
    task = send(one, back, choice="broken")
    assert task["answered"] == 0  # it was passed on, and earns nothing
    skipped = task["reference"]
    task = send(one, task, choice="skip", comment="too hard")
    task = send(one, task, choice="tie")
    assert send(one, task, choice="neither")["state"] == "done"
    assert sorted(t["reference"] for t in two.answer_all(choose_dog)) == sorted([broken, skipped])
    assert sorted(line["votes"][0] for line in read_lines(owner, study)) == [0, 0, 1, 1]
    rows = export(owner, study)
    assert sorted(row["choice"] for row in rows) == ["", "", "broken", "neither", "skip", "tie"]
    assert {row["value"] for row in rows if row["choice"] in ("tie", "neither")} == {"0"}
    assert "too hard" in {row["comment"] for row in rows}
    shown = owner.get(f"/api/studies/{study}").json()
    assert shown["choices"] == {"broken": 1, "neither": 1, "skip": 1, "tie": 1}
    assert len(shown["broken"]) == 1 and (shown["answered"], shown["free"]) == (4, 0)
    assert "Images that judges could not see" in owner.get(f"/studies/{study}").text


def test_what_is_not_offered_is_refused(installation: Installation, owner: Visitor) -> None:
    study = make_study(owner, triplets(1), judges_each=1)
    (link,) = make_links(owner, study)
    judge = join(installation, link, study)
    task = judge.task()
    for choice in ("tie", "neither", "skip", "broken"):
        message = send(judge, task, 400, choice=choice)
        assert message["errors"]["answer"] == ["This study does not offer that answer."]
    send(judge, task, 200, answer="1", comment="nobody asked")
    assert export(owner, study)[0]["comment"] == ""


QUESTIONS = [
    {"name": "fluency", "text": "How fluent is it?"},
    {"name": "truth", "text": "How true is it?"},
]


def test_several_questions(installation: Installation, owner: Visitor) -> None:
    items = [
        {"image": str(n), "caption": f"a dog {n} of {system}", "system": system}
        for n in range(6)
        for system in ("ours", "theirs")
    ]
    fields = {"design": "rating", "judges_each": 1}
    lines = "\n".join(map(json.dumps, QUESTIONS))
    study = make_study(owner, items, **fields, questions=lines)
    (link,) = make_links(owner, study)
    judge = join(installation, link, study)
    task = judge.task()
    assert [part["key"] for part in task["parts"]] == ["fluency", "truth"]
    message = send(judge, task, 400, answers={"fluency": "3"})
    assert message["errors"]["answer"] == ["Please answer everything: truth has no answer yet."]
    # As a browser's form sends it.
    page = f"/studies/{study}/task"
    form = {"assignment": task["assignment"], "answers.fluency": "3", "answers.truth": "1"}
    assert judge.visitor.post(page, data=form).status_code == 302
    task = judge.task()
    while task["state"] == "task":
        ours = "ours" in task["sentences"][0]
        answers = {"fluency": "3", "truth": "5" if ours else "1"}
        task = send(judge, task, answers=answers)
    exported = read_lines(owner, study)
    assert exported[1]["ratings"] == {"fluency": [3], "truth": [1]}
    own = [{"image": str(n), "references": ["a dog"]} for n in range(6)]
    found = build_judgments([Record(line, "line") for line in [*own, *exported]], "study")
    assert isinstance(found, Ratings) and list(found.questions) == ["fluency", "truth"]
    standings = owner.get(f"/api/studies/{study}/results").json()["standings"]
    by_question = {one["question"]: one for one in standings}
    assert by_question["fluency"]["contests"][0]["value"] == 0
    assert by_question["truth"]["leader"] == "ours"
    refused = owner.post(
        "/api/new-study",
        json={"name": "x", "title": "x", "design": "collection", "questions": lines, "items": ""},
    )
    assert (
        "A study that collects sentences has one question"
        in refused.json()["errors"]["questions"][0]
    )


def test_sets_side_by_side(installation: Installation, owner: Visitor) -> None:
    """Nine systems, as in the paper: each judge sees the sets in an order of their own."""
    systems = [f"system {n}" for n in range(9)]
    items = [
        {
            "image": str(image),
            "sets": [[f"a dog {n} {image}", f"a cat {n} {image}"] for n in range(9)],
            "systems": systems,
        }
        for image in range(2)
    ]
    scale = {"scale_low": 0, "scale_high": 1, "scale_step": 0.1}
    study = make_study(
        owner, items, design="rating", judges_each=2, images=IMAGES, question="", **scale
    )
    (link,) = make_links(owner, study)
    orders = []
    for _ in range(2):
        judge = join(installation, link, study)
        task = judge.task()
        assert task["question"].startswith("How diverse is each set of captions")
        while task["state"] == "task":
            levels = [part["sentences"][0].split()[2] for part in task["parts"]]
            orders.append(levels)
            answers = {part["key"]: f"0.{n}" for part, n in zip(task["parts"], levels, strict=True)}
            if answers == {}:
                break
            answers = {k: "0" if v == "0.0" else v for k, v in answers.items()}
            task = send(judge, task, answers=answers)
    assert len({tuple(order) for order in orders}) > 1
    exported = read_lines(owner, study)
    found = build_judgments([Record(line, "line") for line in exported], "study")
    assert isinstance(found, Sets)
    assert found.ratings.tolist() == pytest.approx([n / 10 for n in range(9)] * 2)
    assert [line["system"] for line in exported] == systems * 2
    assert json.loads(export(owner, study)[0]["ratings"])["system 3"] == 0.3
    assert owner.get(f"/studies/{study}/explore").status_code == 200


LESSON = {
    "image": "lesson",
    "pair": ["a dog runs", "a cat runs"],
    "reference": "dogs run",
    "vote": 1,
    "why": "Both run, and A has a dog.",
}


def test_training_comes_first_and_does_not_count(
    installation: Installation, owner: Visitor
) -> None:
    lessons = "\n".join(json.dumps({**LESSON, "reference": f"dogs run {n}"}) for n in range(2))
    study = make_study(owner, triplets(2), judges_each=1, training=lessons, items_per_judge=2)
    (link,) = make_links(owner, study)
    judge = join(installation, link, study)
    task = judge.task()
    assert (task["is_training"], task["feedback"]) == (True, "")
    dog = "B" if choose_dog(task) == "1" else "C"
    task = judge.answer(task, choose_cat(task))
    assert task["feedback"] == f"The expected answer is {dog}. Both run, and A has a dog."
    assert task["is_training"] and not task["can_undo"]
    assert (
        "Practice: this answer does not count" in judge.visitor.get(f"/studies/{study}/task").text
    )
    task = judge.answer(task, choose_dog(task))
    assert task["feedback"] == "Correct: this is the expected answer. Both run, and A has a dog."
    assert (task["is_training"], task["answered"]) == (False, 0)
    assert len(judge.answer_all(choose_dog)) == 2
    again = join(installation, link, study, worker="second")
    assert again.task()["is_training"]
    shown = owner.get(f"/api/studies/{study}").json()
    assert (shown["answered"], shown["checks"]) == (2, 0)
    assert len(read_lines(owner, study)) == 2
    assert sorted(row["kind"] for row in export(owner, study)) == ["item"] * 2 + ["training"] * 2


def test_a_pilot_is_kept_and_not_counted(installation: Installation, owner: Visitor) -> None:
    study = make_study(owner, triplets(2), judges_each=1, state="pilot")
    (link,) = make_links(owner, study)
    join(installation, link, study, worker="first").answer_all(choose_cat)
    assert [line["votes"] for line in read_lines(owner, study)] == [[-1], [-1]]
    path = f"/api/studies/{study}/state"
    assert "This is a pilot." in owner.get(f"/studies/{study}").text
    assert owner.post(path, json={"state": "open"}).json()["state"] == "open"
    shown = owner.get(f"/api/studies/{study}").json()
    assert (shown["answered"], shown["free"], shown["needed"]) == (0, 2, 2)
    assert join(installation, link, study, worker="first").task()["state"] == "done"
    join(installation, link, study, worker="second").answer_all(choose_dog)
    assert [line["votes"] for line in read_lines(owner, study)] == [[1], [1]]
    assert sorted(row["kind"] for row in export(owner, study)) == ["item"] * 2 + ["pilot"] * 2
    refused = owner.post(path, json={"state": "pilot"})
    assert "a pilot comes before the first answer" in refused.json()["errors"]["state"][0]


CHECKS = [
    {"image": "check", "pair": ["a dog barks", "a cat"], "reference": f"dog check {n}", "vote": 1}
    for n in range(3)
]


def test_judges_who_fail_checks_are_excluded(installation: Installation, owner: Visitor) -> None:
    study = make_study(
        owner,
        triplets(8),
        judges_each=1,
        check_every=2,
        checks=CHECKS,
        fewest_checks_right=0.6,
        checks_before=2,
    )
    (link,) = make_links(owner, study)
    bad, good = (join(installation, link, study, worker=name) for name in ("bad", "good"))
    assert 2 < len(bad.answer_all(choose_cat)) < 8
    assert bad.task()["code"] == ""
    assert good.answer_all(choose_dog)
    shown = owner.get(f"/api/studies/{study}").json()
    summary = {judge["worker"]: judge for judge in shown["judges"]}
    assert summary["bad"]["reason"] == "by rule: 0 of 2 checks right"
    assert summary["bad"]["flags"][-1] == "0 of 2 checks right"
    assert not summary["good"]["excluded"]
    assert [line["votes"] for line in read_lines(owner, study)] == [[1]] * 8
    # The rule is taken back: the judge is, too, and what nobody else has answered counts.
    path = f"/api/studies/{study}/quality"
    assert owner.get(path).json()["excluded"] == 1
    message = owner.post(path, json={"fewest_checks_right": None})
    assert (message.status_code, message.json()["excluded"]) == (200, 0)


def test_fast_answers_do_not_count(installation: Installation, owner: Visitor) -> None:
    study = make_study(owner, triplets(6), judges_each=1, fewest_seconds=3600)
    (link,) = make_links(owner, study)
    hasty = join(installation, link, study, worker="hasty")
    assert len(hasty.answer_all(choose_cat)) == 6
    assert hasty.task()["code"]  # it was work all the same
    shown = owner.get(f"/api/studies/{study}").json()
    assert (shown["answered"], shown["free"]) == (0, 6)
    (summary,) = shown["judges"]
    message = [flag for flag in summary["flags"] if flag != "always the same answer"]
    assert message[-1] == "6 too fast"  # and a short median, unless the machine is very busy
    assert not any("votes" in line for line in read_lines(owner, study))
    assert {row["too_fast"] for row in export(owner, study)} == {"1"}
    path = f"/studies/{study}/quality"
    assert "answers below the minimum time: 6" in owner.get(path).text
    assert owner.post(path, data={"checks_before": "3", "fewest_seconds": ""}).status_code == 302
    assert [line["votes"] for line in read_lines(owner, study)] == [[-1]] * 6


def test_no_more_is_answered_than_there_is(installation: Installation, owner: Visitor) -> None:
    """Where checks fall is drawn, so that some judges answer one more than others."""
    item = triplets(1)[0] | {"vote": 1}
    checks = [item | {"image": "check"}, item | {"image": "other check"}]
    study = make_study(owner, triplets(3), checks=checks, check_every=3, judges_each=50)
    (link,) = make_links(owner, study)
    answered = number = 0
    while answered < 5 and number < 50:  # of about 4; every third judge or so
        number += 1
        judge = join(installation, link, study, worker=f"W{number}")
        task = judge.task()
        while task["state"] == "task":
            assert task["answered"] < task["goal"]
            content = {"assignment": task["assignment"], "answer": choose_dog(task)}
            task = judge.visitor.post(f"/api/studies/{study}/task", json=content).json()
        answered = task["answered"]
        assert answered <= task["goal"]
    assert answered == 5
