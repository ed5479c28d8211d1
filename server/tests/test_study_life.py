"""The life of a study: made with many files, copied, edited, erased; and people who leave it."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from typing import Any

import pytest

from server.tests.support.attacks import PIXEL
from server.tests.support.installations import Installation, Visitor
from server.tests.support.studies import choose_dog, join, make_links, make_study, query, triplets


@pytest.fixture(scope="module")
def owner(installation: Installation) -> Visitor:
    return installation.owner()


def results(system: str) -> tuple[str, bytes]:
    lines = [{"image_id": n, "caption": f"a dog of {system} {n}"} for n in (1, 2)]
    return f"{system}.json", json.dumps(lines).encode()


def zip_images(*names: str, content: bytes = PIXEL) -> tuple[str, bytes]:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, content)
    return "images.zip", packed.getvalue()


def upload(owner: Visitor, name: str, *files: Any) -> Any:
    """Make a study of three systems, as a browser's form sends it."""
    systems = [("results_1", results("one")), ("results_2", results("two"))]
    given = [*systems, ("results_more", results("three")), ("results_more", results("one"))]
    fields = {"name": name, "title": "Better?", "design": "pairwise", "judges_each": "1"}
    return owner.post("/api/new-study", data=fields, files=[*given, *files])


def test_many_systems_and_images_from_the_web(installation: Installation, owner: Visitor) -> None:
    refused = upload(owner, "uploaded", ("image_files", zip_images("1.png")))
    message = refused.json()["errors"]["image_files"]
    assert message == ["1 of 2 images are not among the files: 2"]
    text = upload(owner, "uploaded", ("image_files", zip_images("1.png", content=b"<svg/>")))
    assert "1.png: not an image" in text.json()["errors"]["image_files"][0]
    packed = zip_images("a/COCO_val2014_000000000001.png", "b/notes.txt")
    made = upload(owner, "uploaded", ("image_files", packed), ("image_files", ("2.png", PIXEL)))
    assert made.status_code == 201, made.text
    assert made.json()["item_count"] == 10  # of six pairs of systems, one has equal captions
    (link,) = make_links(owner, "uploaded")
    judge = join(installation, link, "uploaded")
    image = judge.visitor.get(judge.task()["image"])
    assert (image.headers["content-type"], image.content) == ("image/png", PIXEL)
    assert len(list((installation.folder / "data" / "study-images").glob("*/*.png"))) == 2
    assert owner.post("/api/studies/uploaded/copy", json={"name": "again", "title": "x"})
    for name in ("uploaded", "again"):
        assert owner.post(f"/api/studies/{name}/erase", json={"name": "x"}).status_code == 400
        path = installation.folder / "data" / "study-images"
        assert len(list(path.glob("*/*.png"))) == 2  # the copy shows them, too
        assert owner.post(f"/api/studies/{name}/erase", json={"name": name}).status_code == 204
    assert not list((installation.folder / "data" / "study-images").iterdir())
    assert owner.get("/api/studies/uploaded").status_code == 404
    found = query(
        installation,
        "SELECT count(*) FROM studies_visit v WHERE v.judge_id NOT IN "
        "(SELECT id FROM studies_judge)",
    )
    assert found == [(0,)]


def test_edited_before_the_first_answer(installation: Installation, owner: Visitor) -> None:
    study = make_study(owner, triplets(3), judges_each=1)
    (link,) = make_links(owner, study)
    judge = join(installation, link, study)
    judge.task()
    path = f"/api/studies/{study}/edit"
    message = owner.post(path, json={"judges_each": 2, "question": "Which is nearer?"})
    assert (message.status_code, message.json()["has_answers"]) == (200, False)
    assert owner.get(f"/api/studies/{study}").json()["needed"] == 6
    assert judge.task()["question"] == "Which is nearer?"  # the process has read it again
    refused = owner.post(path, json={"scale_low": 9})
    assert refused.json()["errors"]["scale_high"] == [
        "The highest rating must be above the lowest."
    ]
    task = judge.task()
    judge.answer(task, choose_dog(task))
    assert owner.post(path, json={"title": "New title", "judges_each": 2}).status_code == 200
    assert judge.task()["title"] == "New title"
    late = owner.post(path, json={"judges_each": 5})
    assert late.json()["errors"]["non_field_errors"] == [
        "judges_each cannot change after the first answer; copy the study instead"
    ]
    page = owner.get(f"/studies/{study}/edit").text
    assert "There are answers already." in page and "New title" in page


def test_a_copy_has_everything_but_answers(installation: Installation, owner: Visitor) -> None:
    checks = [{"image": "c", "pair": ["a dog", "a cat"], "reference": "dogs", "vote": 1}]
    study = make_study(owner, triplets(3), judges_each=2, checks=checks, check_every=2)
    (link,) = make_links(owner, study)
    join(installation, link, study).answer_all(choose_dog)
    message = owner.post(f"/api/studies/{study}/copy", json={"name": f"{study}-b", "title": "B"})
    assert message.status_code == 201
    shown = owner.get(f"/api/studies/{study}-b").json()
    assert (shown["answered"], shown["needed"], shown["judges"]) == (0, 6, [])
    (link,) = make_links(owner, f"{study}-b")
    assert len(join(installation, link, f"{study}-b").answer_all(choose_dog)) == 4
    taken = owner.post(f"/api/studies/{study}/copy", json={"name": study, "title": "B"})
    assert "There is a study of this name" in taken.json()["errors"]["name"][0]
    assert installation.run("study", "copy", study, f"{study}-c").startswith(f"{study}-c: 3 items")
    assert installation.run("study", "erase", f"{study}-c", "--yes") == f"{study}-c is erased\n"


def export(owner: Visitor, study: str, kind: str) -> list[dict[str, str]]:
    text = owner.get(f"/studies/{study}/export/{kind}").text
    return list(csv.DictReader(io.StringIO(text)))


def test_consent_has_a_version_and_a_time(installation: Installation, owner: Visitor) -> None:
    contact = "Ada, ada@example.org"
    study = make_study(owner, triplets(2), judges_each=2, consent="First text.", contact=contact)
    (link,) = make_links(owner, study)
    path = "/" + link.split("/", 3)[3]
    page = installation.visitor().get(path).text
    assert 'href="mailto:ada@example.org"' in page
    one = join(installation, link, study, worker="one")
    one.answer_all(choose_dog)
    changed = owner.post(f"/api/studies/{study}/edit", json={"consent": "Second text."})
    assert changed.status_code == 200
    two = join(installation, link, study, worker="two")
    assert two.task()["contact"] == contact
    two.answer_all(choose_dog)
    rows = export(owner, study, "consents")
    assert [(r["judge"], r["consent_version"], r["text"]) for r in rows] == [
        ("one", "1", "First text."),
        ("two", "2", "Second text."),
    ]
    assert rows[0]["consented"] < rows[1]["consented"]
    answers = export(owner, study, "answers")
    assert {(r["judge"], r["consent_version"]) for r in answers} == {("one", "1"), ("two", "2")}
    assert export(owner, study, "codes")[1]["consented"] == rows[1]["consented"]


@pytest.mark.both_databases
def test_a_judge_stops_goes_on_and_withdraws(installation: Installation, owner: Visitor) -> None:
    study = make_study(owner, triplets(4), judges_each=1)
    (link,) = make_links(owner, study)
    judge = join(installation, link, study, worker="leaving")
    leave = f"/api/studies/{study}/leave"
    task = judge.answer(judge.task(), "1")
    stopped = judge.visitor.post(leave, json={"action": "stop"}).json()
    assert (stopped["state"], stopped["code"], stopped["answered"]) == ("stopped", "", 1)
    assert "You have stopped" in judge.visitor.get(f"/studies/{study}/task").text
    assert judge.try_answer(task, "1").status_code == 400
    shown = owner.get(f"/api/studies/{study}").json()
    assert (shown["answered"], shown["given"], shown["free"]) == (1, 0, 3)
    assert export(owner, study, "codes")[0]["stopped"]
    assert judge.visitor.post(leave, json={"action": "go-on"}).json()["state"] == "task"
    assert judge.visitor.post(leave, json={"action": "withdraw"}).status_code == 400
    page = judge.visitor.post(
        f"/studies/{study}/leave", data={"action": "withdraw", "sure": "true"}
    )
    assert "Your data are erased" in page.text
    assert judge.visitor.get(f"/api/studies/{study}/task").status_code == 403
    shown = owner.get(f"/api/studies/{study}").json()
    assert (shown["answered"], shown["free"], shown["withdrawn"]) == (0, 4, 1)
    assert shown["judges"] == [] and export(owner, study, "answers") == []
    assert len(join(installation, link, study, worker="other").answer_all(choose_dog)) == 4


@pytest.mark.both_databases
def test_the_owner_erases_a_person(installation: Installation, owner: Visitor) -> None:
    study = make_study(owner, triplets(2), judges_each=2)
    (link,) = make_links(owner, study)
    for name in ("first", "second"):
        join(installation, link, study, worker=name).answer_all(choose_dog)
    key = owner.get(f"/api/studies/{study}").json()["judges"][0]["id"]
    path = f"/api/studies/{study}/judges/{key}/erase"
    assert owner.post(path, json={"sure": False}).status_code == 400
    assert owner.post(path, json={"sure": True}).status_code == 204
    assert {row["judge"] for row in export(owner, study, "answers")} == {"second"}
    refused = installation.run("study", "forget", study, "first", "--yes", status=2)
    assert "has no judge 'first'" in refused
    message = installation.run("study", "forget", study, "second", "--yes")
    assert message == f"second is erased from {study}\n"
    assert owner.get(f"/api/studies/{study}").json()["free"] == 4
