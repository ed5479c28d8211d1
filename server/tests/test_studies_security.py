"""Studies as an attacker sees them: other people's pages, forged judges, files, bad characters."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from server.tests.support.installations import Installation, Visitor
from server.tests.support.studies import join, make_links, make_study, query, to_lines, triplets

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63f8"
    "0f00000101000518d84e0000000049454e44ae426082"
)


@pytest.fixture(scope="module")
def owner(installation: Installation) -> Visitor:
    return installation.owner()


@pytest.fixture(scope="module")
def study(owner: Visitor) -> str:
    return make_study(owner, triplets(4))


OWNER_PAGES = [
    *("", "/state", "/invites", "/review", "/accuracy", "/export/jsonl", "/export/answers"),
    *("/charts/times.svg", "/judges/1", "/progress"),
]


@pytest.mark.parametrize("page", OWNER_PAGES)
def test_owner_pages_are_the_owners(
    installation: Installation, owner: Visitor, study: str, page: str
) -> None:
    (link,) = make_links(owner, study)
    judge = join(installation, link, study).visitor
    team = installation.visitor()
    team.sign_up(f"team {page} {study}")
    for visitor, refused in ((installation.visitor(), 401), (judge, 401), (team, 403)):
        path = f"/api/studies/{study}{page}"
        assert visitor.get(path).status_code == refused
        if not page.startswith(("/export", "/charts", "/accuracy", "/progress")) and page:
            assert visitor.post(path, json={}).status_code == refused
    shown = team.get("/api/studies").json()
    assert shown == {"studies": []}
    assert team.post("/api/new-study", json={}).status_code == 403


def test_answers_need_the_csrf_token(
    installation: Installation, owner: Visitor, study: str
) -> None:
    (link,) = make_links(owner, study)
    judge = join(installation, link, study)
    task = judge.task()
    forged = judge.visitor.http.post(
        f"/api/studies/{study}/task", json={"assignment": task["assignment"], "answer": "1"}
    )
    assert forged.status_code == 403
    assert judge.task()["assignment"] == task["assignment"]


def test_a_judge_is_known_in_one_study_only(
    installation: Installation, owner: Visitor, study: str
) -> None:
    other = make_study(owner, triplets(2))
    (link,) = make_links(owner, study)
    judge = join(installation, link, study)
    signed = judge.visitor.http.cookies[f"judge-{study}"]
    thief = installation.visitor()
    for name, value in (
        (f"judge-{other}", signed),
        (f"judge-{other}", "1"),
        (f"judge-{study}", signed.replace(signed.split(":")[0], "1", 1) + "x"),
    ):
        thief.http.cookies.set(name, value)
    assert thief.get(f"/api/studies/{other}/task").status_code == 403
    assert thief.get(f"/api/studies/{study}/task").status_code == 403
    (there,) = make_links(owner, other)
    path = there.split("/", 3)[3].replace(other, study)
    assert thief.get(f"/api/{path}").status_code == 404  # an invite belongs to its study


def test_invites_are_kept_as_digests(
    installation: Installation, owner: Visitor, study: str
) -> None:
    (link,) = make_links(owner, study)
    kept = query(installation, "SELECT digest, label FROM studies_invite")
    assert link.rpartition("/")[2] not in str(kept)
    assert link.rpartition("/")[2] not in owner.get(f"/studies/{study}/invites").text


def test_tasks_tell_nothing_more(installation: Installation, owner: Visitor) -> None:
    """Not who wrote a sentence, not which item is a check, not the answers of others."""
    check = {"image": "secret", "pair": ["a", "b"], "reference": "c", "vote": 1}
    study = make_study(owner, triplets(2), checks=[check], check_every=2)
    (link,) = make_links(owner, study)
    judge = join(installation, link, study)
    for task in judge.answer_all(lambda _: "1"):
        message = json.dumps(task)
        assert not re.search("ours|theirs|secret|known|check|image \\d", message)


@pytest.fixture(scope="module")
def pictures(installation: Installation) -> Path:
    folder = installation.folder / "pictures"
    folder.mkdir()
    (folder / "1.png").write_bytes(PIXEL)
    (folder / "note.txt").write_text("not an image")
    (folder / "bad.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    (installation.folder / "outside.png").write_bytes(PIXEL)
    return folder


def test_images_stay_in_their_folder(
    installation: Installation, owner: Visitor, pictures: Path
) -> None:
    """Files that come to lie elsewhere later, or turn out to be no images, are not sent."""
    images = ["1.png", "../outside.png", "note.txt", "bad.svg", "none.png", str(pictures / "1.png")]
    names = [f"{number}.png" for number in range(1, len(images) + 1)]
    for name in names:
        (pictures / name).write_bytes(PIXEL)
    items = "".join(json.dumps({"image": name, "caption": "x"}) + "\n" for name in names)
    (installation.folder / "items.jsonl").write_text(items)
    definition = {"name": "pictures", "title": "Pictures", "design": "rating", "judges_each": 1}
    definition |= {"images": "pictures/{image}", "items": {"file": "items.jsonl"}}
    (installation.folder / "study.json").write_text(json.dumps(definition))
    installation.run("study", "create", str(installation.folder / "study.json"))
    keys = dict(
        query(
            installation,
            "SELECT i.number, i.id FROM studies_item i JOIN studies_study s ON s.id = i.study_id "
            "WHERE s.name = 'pictures'",
        )
    )
    for number, image in enumerate(images, start=1):
        content = json.dumps({"image": image, "caption": "x"})
        query(
            installation, f"UPDATE studies_item SET content = '{content}' WHERE id = {keys[number]}"
        )
    statuses = [
        owner.get(f"/studies/pictures/images/{keys[number]}").status_code
        for number in range(1, len(images) + 1)
    ]
    assert statuses == [200, 404, 404, 404, 404, 404]
    sent = owner.get(f"/studies/pictures/images/{keys[1]}")
    assert (sent.content, sent.headers["content-type"]) == (PIXEL, "image/png")
    assert installation.visitor().get(f"/studies/pictures/images/{keys[1]}").status_code == 403
    (link,) = make_links(owner, "pictures")
    judge = join(installation, link, "pictures")
    mine = judge.task()["image"]
    others = [key for key in keys.values() if not mine.endswith(f"/{key}")]
    assert judge.visitor.get(f"/studies/pictures/images/{others[0]}").status_code == 404
    assert mine.startswith("/studies/pictures/images/")


def test_the_form_reads_no_files_of_the_server(owner: Visitor) -> None:
    fields = {"name": "files", "title": "x", "design": "rating"}
    answer = owner.post("/api/new-study", json=fields | {"images": "/etc/{image}"})
    assert answer.json()["errors"]["images"] == ["The address must begin with https://."]


BAD_FIELDS: list[dict[str, Any]] = [
    {"items": "[" * 100_000},
    {"items": '{"image": "\\ud800", "caption": "x"}'},
    {"items": '{"image": "\\u0000", "caption": "x"}'},
    {"items": '{"image": 1, "caption": 7.5}'},
    {"items": "nonsense"},
    {"checks": "[]"},
    {"scale_high": "inf"},
    {"scale_low": "nan"},
    {"scale_step": "nan"},
    {"scale_step": 1e-6, "scale_high": 1e9},
    {"examples": '{"sentence": 1}'},
    {"name": "new"},
    {"seed": -1},
    {"sample": 10**30},
]


@pytest.mark.parametrize("fields", BAD_FIELDS, ids=lambda fields: next(iter(fields)))
def test_bad_definitions_are_refused(owner: Visitor, fields: dict[str, Any]) -> None:
    good = {"name": "bad", "title": "x", "design": "rating"}
    good["items"] = to_lines([{"image": 1, "caption": "a"}])
    answer = owner.post("/api/new-study", json=good | fields)
    assert answer.status_code == 400, answer.text


def test_compressed_uploads_are_refused(owner: Visitor) -> None:
    fields = {"name": "bomb", "title": "x", "design": "collection"}
    files = {"references": ("references.json", b"\x1f\x8b\x08\x00")}
    answer = owner.post("/api/new-study", data=fields, files=files)
    assert "not compressed" in answer.json()["errors"]["references"][0]


def test_uploads_are_named_without_their_place(owner: Visitor) -> None:
    fields = {"name": "broken", "title": "x", "design": "collection"}
    files = {"references": ("../../references.json", b"{broken")}
    answer = owner.post("/api/new-study", data=fields, files=files)
    (problem,) = answer.json()["errors"]["references"]
    assert problem.startswith("references.json")
    assert "/" not in problem.split(":")[0]


@pytest.mark.parametrize("worker", ["' OR 1=1 --", "<script>alert(1)</script>", "\x00", "é" * 500])
def test_workers_names_are_text(
    installation: Installation, owner: Visitor, study: str, worker: str
) -> None:
    (link,) = make_links(owner, study)
    join(installation, link, study, worker=worker).task()
    page = owner.get(f"/studies/{study}")
    assert page.status_code == 200
    assert "<script>alert" not in page.text
