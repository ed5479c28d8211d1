"""Several questions about each pair, items as lines, and studies that stop by themselves."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cidery.errors import FormatError, SettingError
from cidery.meta import Pairs, Record, Sets, build_judgments, evaluate, read_dataset
from server.tests.support.challenges import Host

if TYPE_CHECKING:
    from django.test import Client

NUMBERS = count(1)
QUESTIONS = "fluency | Which is more fluent?\ntruth | Which is true?"


@pytest.fixture(scope="module")
def host(local_app: None) -> Iterator[Host]:
    made = Host()
    yield made
    from cidery_server.studies.models import Study

    Study.objects.all().delete()
    made.close()


def lines_of(number: int, design: str) -> str:
    """Return items as an owner types them: the dog is the first system's."""
    parts = [
        ([f"dog {n} runs"] if design == "triplet" else []) + [f"a dog {n}", f"a cat {n}"]
        for n in range(number)
    ]
    return "\n".join(f"{n} | {' | '.join(part)} | ours | theirs" for n, part in enumerate(parts))


def make(host: Host, design: str = "pairwise", number: int = 12, **fields: Any) -> str:
    name = f"asked-{next(NUMBERS)}"
    given = {"name": name, "title": "Which?", "design": design, "items": lines_of(number, design)}
    given |= {"questions": QUESTIONS, "judges_each": 1, **fields}
    answer = host.owner.post("/api/new-study", **given)
    assert answer.status_code == 201, answer.content
    return name


def join(host: Host, study: str, worker: str = "w") -> tuple[Client, dict[str, Any]]:
    from django.test import Client

    made = host.owner.post(f"/api/studies/{study}/invites", name="all").json()["links"][0]
    path = "/api/" + made.split("/", 3)[3] + f"?worker={worker}"
    browser = Client()
    joined = browser.post(path, json.dumps({"agree": True}), "application/json")
    assert joined.status_code in (204, 400), joined.content
    return browser, browser.get(f"/api/studies/{study}/task").json()


def send(browser: Client, study: str, task: dict[str, Any], **answers: str) -> Any:
    content = {"assignment": task["assignment"], "answers": answers}
    return browser.post(f"/api/studies/{study}/task", json.dumps(content), "application/json")


def answer_all(browser: Client, study: str, task: dict[str, Any], most: int = 10**6) -> Any:
    """Find the dog more fluent, and the cat true."""
    while task["state"] == "task" and most:
        dog, cat = ("1", "2") if "dog" in task["sentences"][0] else ("2", "1")
        task = send(browser, study, task, fluency=dog, truth=cat).json()
        most -= 1
    return task


def read(host: Host, study: str, kind: str) -> str:
    return str(host.owner.get(f"/studies/{study}/export/{kind}").content.decode())


@pytest.mark.parametrize("design", ["pairwise", "triplet"])
def test_pairs_have_an_answer_for_each_question(host: Host, design: str, tmp_path: Path) -> None:
    study = make(host, design, judges_each=2, allow_ties=True)
    browser, task = join(host, study)
    assert task["question"] == "Please answer all questions."
    letters = ["B", "C"] if design == "triplet" else ["A", "B"]
    assert [part["text"] for part in task["parts"]] == ["Which is more fluent?", "Which is true?"]
    assert [o["label"] for o in task["parts"][0]["options"]] == [*letters, "Both are equally good"]
    assert task["choices"] == []  # a tie is of one question
    page = browser.get(f"/studies/{study}/task").content.decode()
    assert page.count('name="answers.fluency"') == page.count('name="answers.truth"') == 3
    missing = send(browser, study, task, fluency="1").json()
    assert missing["errors"]["answer"] == ["Please answer everything: truth has no answer yet."]
    for wrong in ("3", "neither", "0"):
        assert send(browser, study, task, fluency="1", truth=wrong).status_code == 400
    first = task["sentences"][0]
    # As a form of the browser sends it, with a tie.
    form = {"assignment": task["assignment"], "answers.fluency": "1", "answers.truth": "tie"}
    assert browser.post(f"/studies/{study}/task", form).status_code == 302
    answer_all(browser, study, browser.get(f"/api/studies/{study}/task").json())
    answer_all(*_swap(study, *join(host, study, "other")))
    votes = [json.loads(line)["votes"] for line in read(host, study, "jsonl").splitlines()]
    tied = next(vote for vote in votes if 0 in vote["truth"])
    assert sorted(tied["fluency"]) == ([1, 1] if "dog" in first else [-1, 1])
    assert [v for v in votes if v is not tied] == [{"fluency": [1, 1], "truth": [-1, -1]}] * 11
    rows = list(csv.DictReader(io.StringIO(read(host, study, "answers"))))
    assert sorted({str(json.loads(row["ratings"])["truth"]) for row in rows}) == ["-1.0", "tie"]
    shown = host.owner.get(f"/api/studies/{study}").json()
    assert shown["choices"] == {"tie": 1}
    assert [one["question"] for one in shown["agreement"]] == ["fluency", "truth"]
    leaders = {one["question"]: one["leader"] for one in shown["results"]}
    assert leaders == {"fluency": "ours", "truth": "theirs"}
    results = list(csv.DictReader(io.StringIO(read(host, study, "results"))))
    assert {row["question"] for row in results} == {"fluency", "truth"}
    accuracy = host.owner.get(
        f"/api/studies/{study}/accuracy", question="truth", metric="rouge-l"
    ).json()
    assert (accuracy["question"], accuracy["second_wins"]) == ("truth", 12)
    assert host.owner.get(f"/studies/{study}/accuracy", question="x").status_code == 404
    explored = host.owner.get(f"/api/studies/{study}/explore").json()["content"]["systems"]
    assert list(explored["ours"]["scores"]) == ["fluency", "truth"]
    _read_outside(host, study, design, tmp_path)


def _swap(study: str, browser: Client, task: dict[str, Any]) -> tuple[Client, str, dict[str, Any]]:
    return browser, study, task


def _read_outside(host: Host, study: str, design: str, tmp_path: Path) -> None:
    """`cidery meta` reads the export, and importing it gives the same judgments again."""
    from cidery_server.studies.creation import import_study
    from cidery_server.studies.exports import export_judgments

    lines = read(host, study, "jsonl")
    (tmp_path / "own.jsonl").write_text(lines)
    again = import_study(tmp_path / "own.jsonl", f"{study}-again")
    assert export_judgments(again) == lines
    known = "".join(
        json.dumps({"image": str(n), "references": [f"a dog {n} runs"]}) + "\n" for n in range(12)
    )
    (tmp_path / "all.jsonl").write_text(lines if design == "triplet" else known + lines)
    found = read_dataset("judgments", tmp_path / "all.jsonl")
    assert isinstance(found, Pairs) and list(found.questions) == ["fluency", "truth"]
    first, second = (
        evaluate(found, ["rouge-l"], question=question).results["rouge-l"]["accuracy"]
        for question in ("fluency", "truth")
    )
    assert (first, second) == (1, 0)
    with pytest.raises(SettingError, match="no votes on 'beauty'; its questions: fluency, truth"):
        evaluate(found, ["rouge-l"], question="beauty")


def test_judgments_by_question() -> None:
    """The first question is the one that counts; lines must agree on how they name answers."""
    pair = {"image": "1", "pair": ["a", "b"], "references": ["c"]}
    both = Record(pair | {"votes": {"one": [1], "two": [-1, -1]}}, "line 1")
    found = build_judgments([both, Record(pair | {"votes": []}, "line 2")], "file")
    assert isinstance(found, Pairs) and found.answers is not None
    assert (found.votes["preference"].tolist(), found.answers.tolist()) == ([1, 0], [1, 0])
    assert found.ask("two").votes["preference"].tolist() == [-2, 0]
    assert found.ask("one").fingerprint != found.ask("two").fingerprint != found.fingerprint
    with pytest.raises(FormatError, match="line 2: expected votes by question, as other lines"):
        build_judgments([both, Record(pair | {"votes": [1]}, "line 2")], "file")
    sets = {"image": "1", "captions": ["a", "b"], "ratings": {"one": [1, 2], "two": 4}}
    rated = build_judgments([Record(sets, "line 1")], "file")
    assert isinstance(rated, Sets)
    assert (rated.ratings.tolist(), rated.ask("two").ratings.tolist()) == ([1.5], [4.0])


def test_items_as_lines_or_as_a_file(host: Host) -> None:
    from django.core.files.base import ContentFile

    from cidery_server.studies.models import Item
    from cidery_server.studies.text_fields import read_item_lines

    study = make(host, "triplet", 1)
    (made,) = Item.objects.filter(study__name=study)
    pair = {"pair": ["a dog 0", "a cat 0"], "systems": ["ours", "theirs"]}
    assert made.content == {"image": "0", "reference": "dog 0 runs", **pair}
    assert read_item_lines("rating", "7 | A dog. | ours", "x") == [
        {"image": "7", "caption": "A dog.", "system": "ours"}
    ]
    with pytest.raises(FormatError, match=r"x, line 2: expected image \| sentence \| other"):
        read_item_lines("pairwise", "1 | a | b\n2 | a", "x")
    with pytest.raises(FormatError, match="x, line 1: name both systems, or none"):
        read_item_lines("pairwise", "1 | a | b | ours", "x")
    table = 'image,pair\n7,"[""A dog."", ""A cat.""]"\n'
    fields = {"name": f"file-{next(NUMBERS)}", "title": "x", "design": "pairwise", "question": "?"}
    answer = host.owner.post(
        "/api/new-study", **fields, items_file=ContentFile(table.encode(), "items.csv")
    )
    assert answer.json()["item_count"] == 1, answer.content
    wrong = ContentFile(b'{"image": "7"}', "items.jsonl")
    answer = host.owner.post("/api/new-study", **fields | {"name": "y"}, items_file=wrong)
    assert "items.jsonl, line 1" in answer.json()["errors"]["items_file"][0]


def decide(study: str) -> bool:
    from cidery_server.studies.lifecycle import stop_if_decided
    from cidery_server.studies.models import Study

    return stop_if_decided(Study.objects.get(name=study))


def test_a_decided_study_stops_and_lets_judges_finish(host: Host) -> None:
    study = make(host, number=40, judges_each=2, items_per_judge=30, stop_when_decided=True)
    early, task = join(host, study, "early")
    task = answer_all(early, study, task, most=3)
    late, late_task = join(host, study, "late")
    late_task = answer_all(late, study, late_task, most=2)
    assert not decide(study)  # of few answers
    one, one_task = join(host, study, "one")
    assert answer_all(one, study, one_task)["code"]
    assert decide(study)
    shown = host.owner.get(f"/api/studies/{study}").json()
    assert shown["state"] == "decided" and not decide(study)
    assert "it accepts no new judges" in host.owner.get(f"/studies/{study}").content.decode()
    # Who has lost the page comes back to the visit.
    assert join(host, study, "early")[1]["answered"] == 3
    # Nobody joins, who has finished gets nothing more, who is here finishes and has a code.
    assert join(host, study, "new")[1].get("state") is None
    assert one.get(f"/api/studies/{study}/task").json()["state"] == "closed"
    end = answer_all(early, study, task)
    assert (end["state"], end["answered"], len(end["code"])) == ("closed", 30, 10)
    assert "Thank you, you are done" in early.get(f"/studies/{study}/task").content.decode()
    # Without a length of visits, the item at hand is the last.
    from cidery_server.studies.models import Study

    Study.objects.filter(name=study).update(items_per_judge=None, revision=7)
    end = answer_all(late, study, late_task)
    assert (end["answered"], len(end["code"])) == (3, 10)
    # The owner may go on, and is not overruled.
    host.owner.post(f"/api/studies/{study}/state", state="open")
    reopened = Study.objects.get(name=study)
    assert (reopened.stop_when_decided, reopened.closed) == (False, None)


def test_only_what_is_decided_stops(host: Host) -> None:
    """Not what is undecided on one question, nor a study that was not asked to."""
    from cidery_server.studies.models import Study
    from cidery_server.studies.tasks import sweep_studies

    study = make(host, number=40)
    browser, task = join(host, study)
    flips = count()
    while task["state"] == "task":
        dog = "1" if "dog" in task["sentences"][0] else "2"
        # Each system in turn: by places, which are drawn, one could lead by chance.
        truth = dog if next(flips) % 2 else {"1": "2", "2": "1"}[dog]
        task = send(browser, study, task, fluency=dog, truth=truth).json()
    clear = make(host, number=40)
    answer_all(*_swap(clear, *join(host, clear)))
    sweep_studies.call_local()
    assert set(Study.objects.filter(name__in=(study, clear)).values_list("state")) == {("open",)}
    Study.objects.filter(name__in=(study, clear)).update(stop_when_decided=True)
    sweep_studies.call_local()
    assert Study.objects.get(name=study).state == "open"
    assert Study.objects.get(name=clear).state == "decided"
    fields = {"name": "c", "title": "c", "design": "collection", "stop_when_decided": True}
    message = host.owner.post("/api/new-study", **fields, items="1").json()["errors"]
    assert message == {
        "stop_when_decided": ["This study collects sentences; there is nothing to decide."]
    }


def test_the_form_of_a_challenge_is_in_steps(host: Host) -> None:
    """Two steps are open; a wrong field opens its step; what is left makes a challenge."""
    from django.core.files.base import ContentFile

    page = host.owner.get("/new-challenge").content.decode()
    assert page.count('<details class="group" open>') == 2
    assert page.count('<details class="group">') == 4
    fields = {"title": "Cider", "slug": "cider-cup", "per_day": "0", "in_all": "5"}
    page = host.owner.post("/new-challenge", **fields).content.decode()
    assert page.count('<details class="group" open>') >= 3
    captions = [{"image_id": n, "caption": f"a dog {n} on a lawn"} for n in range(20)]
    file = ContentFile(json.dumps(captions).encode(), "c.json")
    sent = fields | {"per_day": "5", "metrics": "rouge-l", "references_name": "c1"}
    sent |= {"visibility": "public", "entry": "approved", "probes_shown": "2"}
    made = host.owner.post("/new-challenge", **sent, frequencies="references", references=file)
    assert (made.status_code, made.get("Location")) == (302, "/challenges/cider-cup"), made.content
    page = host.owner.get("/challenges/cider-cup/settings").content.decode()
    assert page.count('<details class="group') == 4  # those with something to change
