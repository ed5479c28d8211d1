"""Phases of challenges: their own references, dates and limits; no second chance to ask."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from cidery.errors import CideryError
from server.tests.support.challenges import Host, captions, references

DEV, TEST = range(20), range(20, 50)


@pytest.fixture(scope="module")
def host(local_app: None) -> Iterator[Host]:
    made = Host()
    yield made
    made.close()


def add_phase(slug: str, phase: str, sets: dict[int, list[str]], **fields: Any) -> Any:
    from cidery_server.challenges.creation import add_phase
    from cidery_server.challenges.management import find_challenge

    return add_phase(find_challenge(slug), {"phase": phase, **fields}, {"c2": sets})


@pytest.fixture(scope="module")
def phased(host: Host, tmp_path_factory: pytest.TempPathFactory) -> Host:
    """A challenge of two phases, from a file, and a team."""
    from cidery_server.challenges.creation import create_from_file

    folder = tmp_path_factory.mktemp("phases")
    for name, images in (("dev", DEV), ("test", TEST)):
        (folder / f"{name}.json").write_text(json.dumps(references(images)))
    content = {
        "slug": "cup",
        "title": "Cup",
        "metrics": ["rouge-l", "bleu-1"],
        "per_day": 7,
        "phases": [
            {"phase": "dev", "references": {"c2": "dev.json"}, "per_day": 3, "in_all": 4},
            {
                "phase": "test",
                "references": {"c2": "test.json"},
                "opens": "2999-01-01T00:00Z",
                "metrics": ["bleu-1"],
            },
        ],
    }
    path = folder / "cup.json"
    path.write_text(json.dumps(content))
    assert [made.slug for made in create_from_file(path)] == ["cup", "cup-test"]
    host.approve("cup", "Pickers")
    return host


def test_a_phase_has_its_own_images_dates_limits_and_metrics(phased: Host) -> None:
    team = phased.person("Pickers")
    dev, test = (team.get(f"/api/challenges/{s}").json()["challenge"] for s in ("cup", "cup-test"))
    assert (dev["title"], dev["phase"], dev["per_day"], dev["image_count"]) == (
        *("Cup: dev", "dev", 3),
        20,
    )
    assert (test["title"], test["main"], test["per_day"], test["image_count"]) == (
        *("Cup: test", "cup", 7),
        30,
    )
    assert test["metrics"] == ["bleu-1"] and test["is_to_come"]
    assert [p["slug"] for p in dev["phases"]] == [p["slug"] for p in test["phases"]]
    page = team.get("/challenges/cup").content.decode()
    assert 'aria-current="page">dev <span class="faint">open<' in page
    assert 'href="/challenges/cup-test">test <span class="faint">opens later<' in page
    listed = team.get("/api/challenges").json()["challenges"]
    assert [one["slug"] for one in listed if one["slug"].startswith("cup")] == ["cup"]
    assert "/challenges/cup-test" in team.get("/challenges").content.decode()
    assert "opens on 1 January 2999" in phased.refusal("Pickers", "cup-test", captions(TEST))


def test_teams_are_those_of_the_challenge(phased: Host) -> None:
    """Who is approved for one phase is so for all, and asks once; so does who is refused."""
    from cidery_server.challenges.management import find_challenge

    find_challenge("cup-test").family.filter(slug="cup-test").update(opens=None)
    phased.submit("Pickers", "cup-test", captions(TEST))
    assert "ask the organizers" in phased.refusal("Strangers", "cup-test", captions(TEST))
    assert phased.person("Strangers").post("/api/challenges/cup-test/take-part").status_code == 204
    teams = phased.owner.get("/api/challenges/cup-test/teams").json()["teams"]
    assert [(t["team"], t["state"]) for t in teams] == [
        ("Strangers", "asked"),
        ("Pickers", "approved"),
    ]
    phased.owner.post("/api/challenges/cup-test/teams", team="Strangers", action="refuse")
    assert "may not submit" in phased.refusal("Strangers", "cup", captions(DEV))


def test_rules_for_entry_are_changed_for_all_phases_at_once(phased: Host) -> None:
    form = phased.owner.get("/challenges/cup-test/settings").content.decode()
    assert 'name="per_day"' in form
    assert not any(f'name="{name}"' in form for name in ("entry", "probes_shown", "title"))
    refused = phased.owner.post("/api/challenges/cup-test/settings", entry="open", title="Mine")
    assert set(refused.json()["errors"]) == {"entry", "title"}
    (message,) = refused.json()["errors"]["entry"]
    assert message.startswith("There is no such field; there are: ")
    unchanged = phased.owner.get("/api/challenges/cup-test").json()["challenge"]
    assert (unchanged["entry"], unchanged["title"]) == ("approved", "Cup: test")
    named = phased.owner.post("/api/challenges/cup/settings", phase="test")
    assert named.json()["errors"]["phase"] == ["There is another phase of this name."]


def test_a_hidden_challenge_has_hidden_phases(host: Host) -> None:
    host.challenge("shade", {"c2": references(DEV)}, visibility="hidden")
    add_phase("shade", "test", references(TEST))
    team = host.person("Pickers")
    for below in ("", "/images", "/submissions", "/compare", "/chart"):
        assert team.get(f"/api/challenges/shade-test{below}").status_code == 404
    host.owner.post("/api/challenges/shade/settings", visibility="public")
    host.owner.post("/api/challenges/shade-test/settings", visibility="hidden")
    assert team.get("/api/challenges/shade-test").status_code == 404
    assert [
        p["phase"] for p in team.get("/api/challenges/shade").json()["challenge"]["phases"]
    ] == ["main"]


def test_a_phase_is_made_on_the_web(host: Host) -> None:
    from django.core.files.base import ContentFile

    host.challenge("made", {"c2": references(DEV)})
    file = ContentFile(json.dumps(references(TEST)).encode(), "test.json")
    made = host.owner.post("/challenges/made/new-phase", phase="test", references=file, per_day=1)
    assert (made.status_code, made.headers["location"]) == (302, "/challenges/made-test")
    file.seek(0)
    again = host.owner.post("/api/challenges/made-test/new-phase", phase="test", references=file)
    assert again.json()["errors"]["non_field_errors"] == ["there is a phase 'test' already"]
    shown = host.owner.get("/api/challenges/made-test").json()["challenge"]
    assert (shown["metrics"], shown["per_day"]) == (["rouge-l", "bleu-1"], 1)


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (range(15, 50), "5 images are in both"),
        (range(21), "1 images are only in the new phase"),
        (range(11), "9 images are only in 'main'"),
    ],
)
def test_phases_do_not_differ_in_few_images(host: Host, images: range, message: str) -> None:
    """The difference of two scores would be one of single images."""
    slug = f"near-{images.stop}"
    host.challenge(slug, {"c2": references(DEV)})
    with pytest.raises(CideryError, match=message):
        add_phase(slug, "test", references(images))


@pytest.fixture(scope="module")
def twice(host: Host) -> Host:
    host.challenge("twice", {"c2": references(DEV)}, per_day=3, in_all=6, exact_scores=True)
    add_phase("twice", "test", references(DEV), per_day=1, in_all=2)
    host.approve("twice", "Doublers", "Helpers", "Others")
    return host


def test_no_quota_is_doubled(twice: Host) -> None:
    for word in ("runs", "sits down"):
        twice.submit("Doublers", "twice", captions(DEV, word))
    twice.submit("Doublers", "twice-test", captions(DEV, "sleeps quite well"))
    message = twice.refusal("Doublers", "twice", captions(DEV, "flies"))
    assert "used its 3 submissions of today" in message
    assert message.endswith("Submissions to test count too.")
    message = twice.refusal("Doublers", "twice-test", captions(DEV, "flies"))
    assert "used its 1 submissions of today" in message


def test_digits_are_those_of_the_stricter_phase(twice: Host) -> None:
    shown = twice.person("Doublers").get("/api/challenges/twice").json()
    assert shown["challenge"]["exact_scores"] is False
    values = [c["value"] for e in shown["leaderboard"]["entries"] for c in e["cells"]]
    assert values and all(round(value, 2) == value for value in values)


def test_probes_are_seen_across_phases(twice: Host) -> None:
    """A change of one caption is a probe, in whichever phase the other submission is."""
    from cidery_server.challenges.models import Submission

    probes = [
        twice.submit("Helpers", "twice-test", captions(DEV, "sleeps quite well", _3="a fish")),
        twice.submit("Helpers", "twice", captions(DEV, "sleeps quite well", _4="a fish")),
    ]
    withheld = twice.submit("Others", "twice", captions(DEV, "sleeps quite well", _5="a fish"))
    found = {s.pk: s for s in Submission.objects.filter(pk__in=[*probes, withheld])}
    assert [found[n].probe for n in probes] == ["shown", "shown"]
    assert found[withheld].probe == "withheld"  # probes of all phases count together
    assert "of 20 images" in found[withheld].probe_reason
    assert "must review it" in twice.refusal("Others", "twice-test", captions(DEV, "is"))


def test_the_same_captions_in_both_are_no_probe(host: Host) -> None:
    """One system in a small and in a large phase; then one that differs on an image."""
    from cidery_server.challenges.models import Submission

    host.challenge("nested", {"c2": references(DEV)})
    whole = range(50)
    assert add_phase("nested", "all", references(whole)).sharing.get().slug == "nested"
    host.approve("nested", "Nesters")
    host.submit("Nesters", "nested", captions(DEV))
    same = host.submit("Nesters", "nested-all", captions(whole))
    assert Submission.objects.get(pk=same).probe == ""
    odd = captions(DEV, _3="a fish") + captions(range(20, 50), "jumps away")
    probe = host.submit("Nesters", "nested-all", odd)
    assert Submission.objects.get(pk=probe).probe_reason.endswith("1 of 20 images")


def test_limits_of_a_day_end_with_it(twice: Host) -> None:
    from cidery_server.challenges.management import find_challenge
    from cidery_server.challenges.models import Submission
    from cidery_server.challenges.submissions import find_quota

    team = twice.person("Doublers").account
    Submission.objects.filter(team=team).update(
        created=Submission.objects.filter(team=team).first().created - timedelta(days=1)
    )
    quota = find_quota(team, find_challenge("twice-test"))
    assert (quota.left_today, quota.left, quota.shared_with) == (1, 1, "main")
    assert find_quota(team, find_challenge("twice")).left == 3


def test_a_slice_is_no_hole_in_the_detector(host: Host) -> None:
    """Many changes elsewhere do not hide a single one in a slice, whose score is shown."""
    from cidery_server.challenges.definition import NamedSlices
    from cidery_server.challenges.models import Submission

    images = range(60)
    domains = {n: "in" if n < 12 else "out" for n in images}
    host.challenge("sliced", {"c2": references(images)}, NamedSlices("domain", domains))
    host.approve("sliced", "Slicers")
    host.submit("Slicers", "sliced", captions(images))
    other = captions(range(12)) + captions(range(12, 60), "creeps off at once")
    assert Submission.objects.get(pk=host.submit("Slicers", "sliced", other)).probe == ""
    elsewhere = captions(range(12), _3="a fish") + captions(range(12, 60), "jumps away")
    found = Submission.objects.get(pk=host.submit("Slicers", "sliced", elsewhere))
    assert found.probe_reason.endswith("on 1 of 12 images of in")
    nonsense = [{"image_id": n, "caption": f"qq{n}"} for n in range(12)]
    found = Submission.objects.get(
        pk=host.submit("Slicers", "sliced", nonsense + captions(range(12, 60), "over"))
    )
    assert found.probe_reason.endswith("of the 12 images of in")


@pytest.mark.parametrize(
    ("phases", "message"),
    [
        ([], '"phases" must be a list of tables'),
        ([{"references": {"c2": "dev.json"}}] * 2, "each phase needs a name"),
        ([{"phase": "a", "references": {"c2": "dev.json"}}] * 2, "there is a phase 'a' already"),
        (
            [
                {"phase": "a", "references": {"c2": "dev.json"}},
                {"phase": "b", "references": {"c2": "dev.json"}, "color": "red"},
            ],
            "phase 'b': unknown color",
        ),
    ],
)
def test_files_of_phases_that_cannot_be(
    host: Host, tmp_path: Path, phases: Any, message: str
) -> None:
    from cidery_server.challenges.creation import create_from_file
    from cidery_server.challenges.models import Challenge

    (tmp_path / "dev.json").write_text(json.dumps(references(DEV)))
    path = tmp_path / "c.json"
    content = {"slug": "none", "title": "None", "metrics": ["bleu-1"], "phases": phases}
    path.write_text(json.dumps(content))
    with pytest.raises(CideryError, match=message):
        create_from_file(path)
    assert not Challenge.objects.filter(slug="none").exists()
