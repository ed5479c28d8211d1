"""Studies in the real app, on SQLite and PostgreSQL: judges, time-outs, counting, exports."""

from __future__ import annotations

import csv
import io
import json
import threading
from collections import Counter
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from cidery import meta
from cidery.errors import DataWarning
from server.tests.support.installations import Installation, Visitor
from server.tests.support.studies import (
    choose_cat,
    choose_dog,
    join,
    make_links,
    make_study,
    pass_time,
    query,
    triplets,
)


@pytest.fixture(scope="module")
def owner(installation: Installation) -> Visitor:
    return installation.owner()


@pytest.mark.both_databases
def test_every_item_has_its_judges(installation: Installation, owner: Visitor) -> None:
    study = make_study(owner, triplets(8))
    links = make_links(owner, study, personal=True, count=4)
    judges = [join(installation, link, study) for link in links]
    seen: list[list[str]] = [[] for _ in judges]
    tasks = [judge.task() for judge in judges]
    while any(task["state"] == "task" for task in tasks):
        for place, judge in enumerate(judges):
            if tasks[place]["state"] == "task":
                seen[place].append(tasks[place]["reference"])
                tasks[place] = judge.answer(tasks[place], choose_dog(tasks[place]))
    for references in seen:
        assert len(references) == len(set(references))
    answered = Counter(reference for references in seen for reference in references)
    assert set(answered.values()) == {3} and len(answered) == 8
    shown = owner.get(f"/api/studies/{study}").json()
    assert (shown["answered"], shown["needed"], shown["free"]) == (24, 24, 0)
    assert shown["alpha"]["score"] is None  # everybody says the same
    assert {judge["with_majority"] for judge in shown["judges"]} == {1.0}
    assert tasks[0]["code"] and tasks[0]["code"] == judges[0].task()["code"]
    assert [tasks[0]["code"]] in [judge["codes"] for judge in shown["judges"]]


def test_any_name_can_be_opened(installation: Installation, owner: Visitor) -> None:
    """No name is an address of another page."""
    study = make_study(owner, triplets(2), name="new", title="A study called new")
    assert owner.get(f"/api/studies/{study}").json()["title"] == "A study called new"
    assert "A study called new" in owner.get(f"/studies/{study}").text
    assert owner.get("/new-study").status_code == 200


def test_sides_are_swapped_and_recorded(installation: Installation, owner: Visitor) -> None:
    study = make_study(owner, triplets(60), judges_each=1)
    (link,) = make_links(owner, study)
    tasks = join(installation, link, study).answer_all(choose_dog)
    first = sum("dog" in task["sentences"][0] for task in tasks)
    assert 7 < first < 53  # 60 fair coins: 30, standard deviation 3.9; once in 10^9 it is not so
    answers = owner.get(f"/studies/{study}/export/answers").text
    rows = list(csv.DictReader(io.StringIO(answers)))
    assert {row["value"] for row in rows} == {"1"}  # whatever side the dog was on
    assert sum(row["swapped"] == "0" for row in rows) == first
    orders = [int(task["reference"].split()[2]) for task in tasks]
    assert orders != sorted(orders)


@pytest.mark.both_databases
def test_an_answer_is_taken_once(installation: Installation, owner: Visitor) -> None:
    study = make_study(owner, triplets(3), judges_each=1)
    (link,) = make_links(owner, study)
    judge = join(installation, link, study)
    first = judge.task()
    assert judge.task()["assignment"] == first["assignment"]  # looking again gives nothing new
    second = judge.answer(first, "1")
    again = judge.answer(first, "2")  # sent twice, as after a lost response
    assert again["assignment"] == second["assignment"]
    assert again["answered"] == 1
    other = join(installation, link, study)
    refused = other.try_answer(second, "1")
    assert refused.status_code == 400
    assert "was given to another judge" in refused.json()["errors"]["answer"][0]
    assert "The answer is 1 or 2." in judge.try_answer(second, "3").text


@pytest.mark.both_databases
def test_undo(installation: Installation, owner: Visitor) -> None:
    study = make_study(owner, triplets(3), judges_each=1)
    (link,) = make_links(owner, study)
    judge = join(installation, link, study)
    first = judge.task()
    assert not first["can_undo"]
    assert judge.visitor.post(f"/api/studies/{study}/undo", json={}).status_code == 400
    second = judge.answer(first, choose_cat(first))
    back = judge.undo()
    assert (back["assignment"], back["sentences"]) == (first["assignment"], first["sentences"])
    assert back["answered"] == 0
    assert judge.answer(back, choose_dog(back))["assignment"] == second["assignment"]
    judge.answer_all(choose_dog)
    assert not judge.task()["can_undo"]  # the work was paid for: answers stay
    assert judge.visitor.post(f"/api/studies/{study}/undo", json={}).status_code == 400
    lines = owner.get(f"/studies/{study}/export/jsonl").text.splitlines()
    assert [json.loads(line)["votes"] for line in lines] == [[1]] * 3


@pytest.mark.both_databases
def test_an_abandoned_item_returns(installation: Installation, owner: Visitor) -> None:
    study = make_study(owner, triplets(2), judges_each=1, timeout_minutes=30)
    (link,) = make_links(owner, study)
    idle, busy = (join(installation, link, study) for _ in range(2))
    left = idle.task()
    assert len(busy.answer_all(choose_dog)) == 1
    pass_time(installation, study, hours=1)
    (returned,) = busy.answer_all(choose_dog)
    assert returned["reference"] == left["reference"]
    late = idle.try_answer(left, "1")
    assert late.status_code == 400
    assert idle.task()["state"] == "done"  # nobody sees an item twice
    shown = owner.get(f"/api/studies/{study}").json()
    assert (shown["answered"], shown["needed"]) == (2, 2)


@pytest.mark.both_databases
def test_a_late_answer_counts_while_nobody_else_has_the_item(
    installation: Installation, owner: Visitor
) -> None:
    study = make_study(owner, triplets(1), judges_each=1)
    (link,) = make_links(owner, study)
    slow = join(installation, link, study)
    task = slow.task()
    pass_time(installation, study, hours=2)
    assert slow.answer(task, choose_dog(task))["state"] == "done"


CHECKS = [
    {
        "image": f"check {n}",
        "pair": ["a dog barks", "a cat"],
        "reference": f"dog check {n}",
        "vote": 1,
    }
    for n in range(3)
]


def test_attention_checks(installation: Installation, owner: Visitor) -> None:
    study = make_study(owner, triplets(12), judges_each=2, check_every=5, checks=CHECKS)
    (link,) = make_links(owner, study)
    good, bad = (join(installation, link, study, worker=name) for name in ("good", "bad"))
    seen = [task["reference"] for task in good.answer_all(choose_dog)]
    assert len(seen) == 15  # 12 items and a check among each 5
    for row in range(3):
        assert sum("check" in text for text in seen[5 * row : 5 * row + 5]) == 1
    bad.answer_all(choose_cat)
    shown = owner.get(f"/api/studies/{study}").json()
    summary = {judge["worker"]: judge for judge in shown["judges"]}
    assert (summary["good"]["checks_right"], summary["good"]["checks"]) == (3, 3)
    assert (summary["bad"]["checks_right"], summary["bad"]["checks"]) == (0, 3)
    assert (shown["checks_right"], shown["checks"]) == (3, 6)
    assert shown["answered"] == 24
    assert "check" not in owner.get(f"/studies/{study}/export/jsonl").text
    assert shown["alpha"]["score"] < 0


@pytest.mark.both_databases
def test_judges_are_excluded_and_restored(installation: Installation, owner: Visitor) -> None:
    study = make_study(owner, triplets(4), judges_each=2)
    (link,) = make_links(owner, study)
    one, two, three = (join(installation, link, study, worker=name) for name in ("1", "2", "3"))
    one.answer_all(choose_dog)
    two.answer_all(choose_cat)
    assert three.task()["state"] == "done"
    keys = {j["worker"]: j["id"] for j in owner.get(f"/api/studies/{study}").json()["judges"]}

    def votes() -> list[list[int]]:
        lines = owner.get(f"/studies/{study}/export/jsonl").text.splitlines()
        return [sorted(json.loads(line)["votes"]) for line in lines]

    def decide(worker: str, **content: Any) -> None:
        path = f"/api/studies/{study}/judges/{keys[worker]}"
        assert owner.post(path, json=content).status_code == 200

    assert votes() == [[-1, 1]] * 4
    decide("2", excluded=True, reason="asleep")
    assert votes() == [[1]] * 4
    assert two.task()["state"] == "done"
    assert two.try_answer({"assignment": 1}, "1").status_code == 400
    task = three.task()
    three.answer(task, choose_dog(task))
    shown = owner.get(f"/api/studies/{study}").json()
    assert (shown["answered"], shown["given"], shown["free"]) == (5, 1, 2)
    decide("2", excluded=False)  # two places are free, one is given, one answered
    assert sorted(votes()) == [[-1, 1]] * 3 + [[-1, 1, 1]]
    shown = owner.get(f"/api/studies/{study}").json()
    assert (shown["answered"], shown["given"], shown["free"]) == (7, 1, 0)


def test_visits_of_crowdsourcing_sites(installation: Installation, owner: Visitor) -> None:
    study = make_study(owner, triplets(6), judges_each=1, items_per_judge=2)
    (link,) = make_links(owner, study)
    codes = []
    for assignment in ("A1", "A2"):
        judge = join(installation, link, study, workerId="W7", assignmentId=assignment)
        assert len(judge.answer_all(choose_dog)) == 2
        codes.append(judge.task()["code"])
    assert codes[0] != codes[1]
    (summary,) = owner.get(f"/api/studies/{study}").json()["judges"]
    assert (summary["worker"], summary["answers"], summary["codes"]) == ("W7", 4, codes)
    # Coming back for a finished assignment shows its code, and gives nothing more to do.
    back = join(installation, link, study, workerId="W7", assignmentId="A1").task()
    assert (back["state"], back["code"], back["answered"]) == ("done", codes[0], 2)
    exported = owner.get(f"/studies/{study}/export/codes").text
    rows = list(csv.DictReader(io.StringIO(exported)))
    assert [(row["assignment"], row["code"], row["answers"]) for row in rows] == [
        ("A1", codes[0], "2"),
        ("A2", codes[1], "2"),
    ]
    assert all(row["finished"] for row in rows)
    visitor, path = installation.visitor(), "/api/" + link.split("/", 3)[3]
    preview = {"workerId": "W8", "assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE"}
    assert visitor.get(path, params=preview).json()["is_preview"]
    assert visitor.post(path, params=preview, json={"agree": True}).status_code == 400


def test_consent_comes_first(installation: Installation, owner: Visitor) -> None:
    study = make_study(owner, triplets(1), consent="You may stop at any time.")
    (link,) = make_links(owner, study)
    visitor, path = installation.visitor(), "/" + link.split("/", 3)[3]
    page = visitor.get(path)
    assert "You may stop at any time." in page.text
    assert visitor.get(f"/studies/{study}/task").status_code == 403
    assert "only if you agree" in visitor.post(path, data={}).text
    assert visitor.get(f"/api/studies/{study}/task").status_code == 403
    assert visitor.get(path[:-3] + "xyz").status_code == 404
    begun = visitor.post(path, data={"agree": "true"})
    assert begun.headers["location"] == f"/studies/{study}/task"
    assert visitor.get(f"/studies/{study}/task").status_code == 200


def test_a_judge_without_scripts(installation: Installation, owner: Visitor) -> None:
    """Forms do what the script does: answers are posted, and the next page has the next item."""
    study = make_study(owner, triplets(2), judges_each=1, completion_code="CODE-1")
    (link,) = make_links(owner, study)
    judge = join(installation, link, study)
    path = f"/studies/{study}/task"
    for _ in range(2):
        task = judge.task()
        sent = {"assignment": task["assignment"], "answer": choose_dog(task)}
        answer = judge.visitor.post(path, data=sent)
        assert (answer.status_code, answer.headers["location"]) == (302, path)
    assert "CODE-1" in judge.visitor.get(path).text


def test_closing(installation: Installation, owner: Visitor) -> None:
    study = make_study(owner, triplets(2))
    (link,) = make_links(owner, study)
    judge = join(installation, link, study)
    task = judge.task()
    assert owner.post(f"/api/studies/{study}/state", json={"state": "closed"}).status_code == 200
    assert judge.task()["state"] == "closed"
    assert "too late" in judge.try_answer(task, "1").text
    path = "/api/" + link.split("/", 3)[3]
    assert installation.visitor().post(path, json={"agree": True}).status_code == 400
    assert owner.post(f"/api/studies/{study}/state", json={"state": "open"}).status_code == 200
    assert judge.task()["assignment"] == task["assignment"]


def test_ratings(installation: Installation, owner: Visitor, tmp_path: Path) -> None:
    items = [{"image": n, "captions": [f"a cat {n}", f"a dog {n}"]} for n in range(3)]
    scale = {"scale_low": 0, "scale_high": 1, "scale_step": 0.1}
    study = make_study(owner, items, design="rating", judges_each=2, **scale)
    (link,) = make_links(owner, study)
    for choose in (lambda _: "0.3", lambda _: "1"):
        judge = join(installation, link, study)
        task = judge.task()
        assert [step["value"] for step in task["steps"]][::5] == ["0", "0.5", "1"]
        assert judge.try_answer(task, "0.35").status_code == 400
        judge.answer_all(choose)
    path = tmp_path / "sets.jsonl"
    path.write_text(owner.get(f"/studies/{study}/export/jsonl").text)
    sets = meta.read_dataset("judgments", path)
    assert isinstance(sets, meta.Sets)
    assert sets.ratings.tolist() == pytest.approx([0.65] * 3)


SENTENCES = {
    "name": "sentences",
    "design": "collection",
    "judges_each": 2,
    "min_words": 4,
    "forbidden": "there is\nawful",
    "examples": json.dumps({"sentence": "A dog.", "accepted": False, "why": "too short"}),
}


def test_collection(installation: Installation, owner: Visitor) -> None:
    study = make_study(owner, [{"image": 7}, {"image": "x"}], **SENTENCES)
    (link,) = make_links(owner, study)
    assert "too short" in installation.visitor().get("/" + link.split("/", 3)[3]).text
    one, two, three = (join(installation, link, study, worker=name) for name in "123")
    task = one.task()
    for sentence, problem in (
        ("A dog.", "too short: 2 words, at least 4 are needed"),
        ("There is a dog on the lawn", "without 'there is'"),
        ("dog dog dog dog dog dog", "repeats the same words"),
        ("see https://example.org for a dog", "links and addresses"),
        ("1234 5678 91011 121314 a", "too few of its characters are letters"),
    ):
        refused = one.try_answer(task, sentence)
        assert refused.status_code == 400
        assert problem in refused.json()["errors"]["answer"][0]
    lawns = count(1)
    one.answer_all(lambda _: f"A dog runs on lawn {next(lawns)}")
    two.answer_all(lambda _: f"Somewhere a dog plays happily {next(lawns)}")
    review = f"/api/studies/{study}/review"
    queue = owner.get(review).json()["sentences"]
    assert len(queue) == 4
    rejected = queue[0]
    assert (
        owner.post(review, json={"assignment": rejected["id"], "accept": False}).status_code == 400
    )
    message = {"assignment": rejected["id"], "accept": False, "reason": "not what is shown"}
    assert owner.post(review, json=message).status_code == 204
    for row in queue[1:]:
        assert owner.post(review, json={"assignment": row["id"], "accept": True}).status_code == 204
    assert one.task()["state"] == "done"  # another person is asked
    assert len(three.answer_all(lambda _: "Two dogs play on a lawn")) == 1
    (last,) = owner.get(review).json()["sentences"]
    assert last["image"] == rejected["image"]
    assert owner.post(review, json={"assignment": last["id"], "accept": True}).status_code == 204
    found = json.loads(owner.get(f"/studies/{study}/export/coco").text)
    assert Counter(a["image_id"] for a in found["annotations"]) == {7: 2, "x": 2}
    assert rejected["sentence"] not in {a["caption"] for a in found["annotations"]}


def test_a_reviewer_sees_images_from_elsewhere(installation: Installation, owner: Visitor) -> None:
    address = "https://images.example.org/{image}.jpg"
    study = make_study(owner, [{"image": "a b"}], design="collection", images=address)
    (link,) = make_links(owner, study)
    join(installation, link, study).answer_all(lambda _: "A brown dog runs over a green lawn.")
    (row,) = owner.get(f"/api/studies/{study}/review").json()["sentences"]
    assert row["picture"] == "https://images.example.org/a%20b.jpg"
    assert f'src="{row["picture"]}"' in owner.get(f"/studies/{study}/review").text


@pytest.mark.both_databases
def test_a_sentence_is_collected_once(installation: Installation, owner: Visitor) -> None:
    images = "https://images.example.org/{image}"
    study = make_study(
        owner, [{"image": "x"}, {"image": "y"}], design="collection", judges_each=2, images=images
    )
    (link,) = make_links(owner, study)
    one, two = (join(installation, link, study) for _ in range(2))
    sentence = "A brown dog runs over a very green lawn."
    task = two.task()
    while (mine := one.task())["image"] != task["image"]:
        one.answer(mine, "A grey cat sleeps on a very old roof.")
    one.answer(mine, sentence)
    refused = two.try_answer(task, sentence.upper().replace(".", "!"))
    assert "was given before" in refused.json()["errors"]["answer"][0]
    assert two.answer(task, sentence + " It barks.")["state"] == "task"


def test_a_sentence_that_was_taken_back_is_a_draft(
    installation: Installation, owner: Visitor
) -> None:
    study = make_study(owner, [{"image": "x"}, {"image": "y"}], design="collection")
    (link,) = make_links(owner, study)
    judge = join(installation, link, study)
    sentence = "A brown dog runs over a very green lawn."
    judge.answer(judge.task(), sentence)
    assert judge.undo()["draft"] == sentence


@pytest.mark.both_databases
def test_exports_are_judgments(installation: Installation, owner: Visitor, tmp_path: Path) -> None:
    study = make_study(owner, triplets(5))
    message = owner.get(f"/api/studies/{study}/accuracy").json()["problem"]
    assert message == "There are no answers to count yet."
    (link,) = make_links(owner, study)
    for choose in (choose_dog, choose_dog, choose_cat):
        join(installation, link, study).answer_all(choose)
    found = {}
    for kind in ("jsonl", "csv"):
        path = tmp_path / f"judgments.{kind}"
        path.write_text(owner.get(f"/studies/{study}/export/{kind}").text)
        found[kind] = meta.read_dataset("judgments", path)
    assert found["jsonl"].fingerprint == found["csv"].fingerprint
    pairs = found["jsonl"]
    assert isinstance(pairs, meta.Pairs)
    assert pairs.votes["triplets"].tolist() == [1] * 5
    assert pairs.systems == [("ours", "theirs")] * 5
    shown = owner.get(f"/api/studies/{study}/accuracy", params={"metric": "rouge-l"}).json()
    assert (shown["first_wins"], shown["second_wins"], shown["ties"]) == (5, 0, 0)
    assert shown["winners"][0]["winner"] == "first"
    expected = meta.evaluate(pairs, ["rouge-l"])
    assert (shown["header"], shown["lines"]) == (expected.table().header, expected.table().cells)
    for page in ("", "/accuracy", "/invites", "/state"):
        assert owner.get(f"/studies/{study}{page}").status_code == 200
    for chart in ("progress", "times", "judges", "answers"):
        drawn = owner.get(f"/studies/{study}/charts/{chart}.svg")
        assert drawn.headers["content-type"] == "image/svg+xml"
        assert b"<svg" in drawn.content


def test_exports_have_what_was_not_judged(
    installation: Installation, owner: Visitor, tmp_path: Path
) -> None:
    """`cidery meta estimate` needs all items, as the study's own results do."""
    study = make_study(owner, triplets(12), judges_each=1)
    (link,) = make_links(owner, study)
    judge = join(installation, link, study)
    for _ in range(5):
        task = judge.task()
        judge.answer(task, choose_dog(task))
    path = tmp_path / "judgments.jsonl"
    path.write_text(owner.get(f"/studies/{study}/export/jsonl").text)
    pairs = meta.read_dataset("judgments", path)
    assert isinstance(pairs, meta.Pairs)
    assert (len(pairs), int(pairs.was_judged.sum())) == (12, 5)
    standings = owner.get(f"/api/studies/{study}/results").json()["standings"]
    assert {(one["judged"], one["items"]) for one in standings} == {(5, 12)}
    shown = owner.get(f"/api/studies/{study}/accuracy", params={"metric": "rouge-l"}).json()
    assert (shown["first_wins"], shown["ties"], shown["problem"]) == (5, 0, "")
    with pytest.warns(DataWarning, match="7 of 12 pairs are not judged"):
        expected = meta.evaluate(pairs, ["rouge-l"])
    assert shown["lines"] == expected.table().cells


def test_pairs_without_references_have_winners(
    installation: Installation, owner: Visitor, tmp_path: Path
) -> None:
    items = [{"image": str(n), "pair": [f"a dog {n}", f"a cat {n}"]} for n in range(3)]
    study = make_study(owner, items, design="pairwise")
    (link,) = make_links(owner, study)
    for choose in (choose_dog, choose_cat, choose_dog):
        join(installation, link, study).answer_all(choose)
    path = f"/api/studies/{study}/accuracy"
    shown = owner.get(path).json()
    assert (shown["first_wins"], shown["second_wins"], shown["ties"]) == (3, 0, 0)
    assert [one["votes"] for one in shown["winners"]] == [1, 1, 1]
    assert shown["problem"].startswith("This study has no references")
    assert "Add references" in owner.get(f"/studies/{study}/accuracy").text
    assert owner.get(f"/studies/{study}/charts/answers.svg").status_code == 200
    # References come later, on the web or from the command line.
    others = owner.post(
        f"/api/studies/{study}/references",
        files={"references": ("r.json", json.dumps({"x": ["a fish"]}).encode())},
    )
    assert others.json()["errors"]["references"] == [
        "none of the references belongs to an image of this study"
    ]
    file = tmp_path / "references.json"
    file.write_text(json.dumps({str(n): [f"the dog {n}", "a dog"] for n in range(4)}))
    message = installation.run("study", "references", study, str(file))
    assert message == f"{study}: 3 images have references now\n"
    shown = owner.get(path, params={"metric": "rouge-l"}).json()
    assert (shown["problem"], shown["first_wins"]) == ("", 3)
    assert [line[0] for line in shown["lines"]] == ["human", "rouge-l"]
    exported = owner.get(f"/studies/{study}/export/jsonl").text
    assert json.loads(exported.splitlines()[0]) == {
        "image": "0",
        "references": ["the dog 0", "a dog"],
    }


@pytest.mark.both_databases
def test_many_judges_at_once(installation: Installation, owner: Visitor) -> None:
    """Thirty judges hurry through 60 items: each item gets exactly three of them."""
    study = make_study(owner, triplets(60))
    (link,) = make_links(owner, study)
    judges = [join(installation, link, study) for _ in range(30)]
    problems: list[BaseException] = []

    def work(judge: Any) -> None:
        try:
            judge.answer_all(choose_dog)
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=(judge,)) for judge in judges]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
    rows = query(
        installation,
        "SELECT item_id, count(*), count(DISTINCT judge_id) FROM studies_assignment a "
        "JOIN studies_study s ON s.id = a.study_id "
        f"WHERE s.name = '{study}' AND a.state = 'answered' GROUP BY item_id",
    )
    assert len(rows) == 60
    assert {row[1:] for row in rows} == {(3, 3)}
