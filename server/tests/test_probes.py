"""Probes for hidden references: who may ask, what is seen of it, what the answer still tells."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from server.tests.support.attacks import World, make_challenge, references, submit
from server.tests.support.installations import PASSWORD, Visitor

IMAGES = [image["id"] for image in references()["images"]]


def captions(*changes: tuple[int, str], other: str = "a dog is walking over field {image}") -> Any:
    """Return results for all images, with other captions for some."""
    changed = dict(changes)
    return [
        {"image_id": image, "caption": changed.get(image, other.format(image=image))}
        for image in IMAGES
    ]


@dataclass
class Guarded:
    """A challenge with the default rules, and teams that the owner has approved."""

    world: World
    slug: str
    teams: list[Visitor]

    def submit(self, team: int, content: Any) -> int:
        answer = submit(self.teams[team], self.slug, content, "a try")
        assert answer.status_code == 201, answer.text
        number = int(answer.json()["id"])
        self.world.wait_for(number)
        return number

    def sees(self, team: int, number: int) -> dict[str, Any]:
        return dict(self.teams[team].get(f"/api/submissions/{number}").json())

    def decide(self, number: int, action: str) -> None:
        path = f"/api/submissions/{number}/decision"
        assert self.world["owner"].post(path, json={"action": action}).status_code == 200

    def probes(self) -> dict[int, str]:
        shown = self.world["owner"].get(f"/api/challenges/{self.slug}/teams").json()
        return {probe["id"]: probe["probe_reason"] for probe in shown["probes"]}


def guard(world: World, slug: str, teams: int, **rules: Any) -> Guarded:
    fields = {"entry": "approved", "probes_shown": 2, "metrics": "rouge-l bleu-1"}
    make_challenge(world["owner"], slug, **fields | rules)
    found = []
    for number in range(teams):
        visitor, name = world.app.visitor(), f"{slug} team {number}"
        visitor.post("/api/sign-up", json={"name": name, "password": PASSWORD})
        assert visitor.post(f"/api/challenges/{slug}/take-part", json={}).status_code == 204
        approved = world["owner"].post(f"/api/challenges/{slug}/teams", json={"team": name})
        assert approved.status_code == 200, approved.text
        found.append(visitor)
    return Guarded(world, slug, found)


@pytest.fixture(scope="module")
def guarded(world: World) -> Guarded:
    return guard(world, "guarded", 4)


def test_only_approved_teams_submit(world: World) -> None:
    make_challenge(world["owner"], "by-approval", entry="approved")
    assert world["owner"].get("/api/challenges/by-approval").json()["challenge"]["entry"] == (
        "approved"
    )
    team, path = world.app.visitor(), "/api/challenges/by-approval"
    team.post("/api/sign-up", json={"name": "Newcomers", "password": PASSWORD})
    refused = submit(team, "by-approval", captions())
    assert "may not submit to this challenge yet" in refused.json()["errors"]["file"][0]
    assert "request approval" in team.get("/challenges/by-approval").text
    for _ in range(2):  # once is enough
        assert team.post(f"{path}/take-part", json={}).status_code == 204
    assert team.get(path).json()["participation"] == "asked"
    assert submit(team, "by-approval", captions()).status_code == 400
    (waiting,) = world["owner"].get(f"{path}/teams").json()["teams"]
    assert (waiting["team"], waiting["state"], waiting["submissions"]) == ("Newcomers", "asked", 0)
    decided = world["owner"].post(f"{path}/teams", json={"team": "Newcomers", "action": "approve"})
    assert decided.json()["teams"][0]["state"] == "approved"
    assert submit(team, "by-approval", captions()).status_code == 201
    world["owner"].post(f"{path}/teams", json={"team": "Newcomers", "action": "refuse"})
    assert submit(team, "by-approval", captions()).status_code == 400
    unknown = world["owner"].post(f"{path}/teams", json={"team": "Nobody"})
    assert "there is no team 'Nobody'" in unknown.json()["errors"]["team"][0]
    assert "Newcomers" in world["owner"].get("/challenges/by-approval/teams").text


def test_probes_count_for_the_whole_challenge(guarded: Guarded) -> None:
    """Four accounts share two probes; then their scores, and their next tries, wait."""
    base = guarded.submit(0, captions())
    assert guarded.sees(0, base)["scores"] and not guarded.probes()
    again = guarded.submit(0, captions())  # the same: it tells nothing new
    assert guarded.sees(0, again)["scores"]
    for team, probe in ((1, (3, "a bird")), (2, (4, "a cat sits"))):
        number = guarded.submit(team, captions(probe))
        assert guarded.sees(team, number)["scores"]
        assert guarded.probes()[number].endswith("1 of 12 images")
    number = guarded.submit(3, captions((5, "a horse")))
    shown = guarded.sees(3, number)
    assert (shown["scores"], shown["hides_scores"]) == ([], True)
    assert shown["submission"]["is_withheld"]
    assert "probe_reason" not in json.dumps(shown)  # it names another team's submission
    assert (
        "The organizers must review this submission"
        in guarded.teams[3].get(f"/submissions/{number}").text
    )
    refused = submit(guarded.teams[3], guarded.slug, captions((6, "a fish")))
    assert "must review it before you can submit again" in refused.json()["errors"]["file"][0]
    board = guarded.teams[3].get(f"/api/challenges/{guarded.slug}").json()["leaderboard"]
    assert number not in {entry["submission"] for entry in board["entries"]}
    for path in ("compare", "chart", "teams"):
        assert guarded.world["owner"].get(f"/challenges/{guarded.slug}/{path}").status_code == 200
    assert guarded.world["owner"].get(f"/submissions/{number}/decision").status_code == 200
    guarded.decide(number, "release")
    assert guarded.sees(3, number)["scores"]
    quite_other = captions(other="walking over field {image}")
    assert guarded.sees(3, guarded.submit(3, quite_other))["scores"]


def test_nonsense_is_a_probe_however_it_varies(guarded: Guarded) -> None:
    """Scores, not captions, are compared: other nonsense everywhere else changes nothing."""
    first = guarded.submit(0, captions((0, "field"), other="qq{image}"))
    second = guarded.submit(1, captions((0, "walking"), other="xx{image} yy"))
    assert "scores 0 on more than 90% of the 12 images" in guarded.probes()[first]
    assert guarded.sees(0, first)["hides_scores"] and guarded.sees(1, second)["hides_scores"]
    guarded.decide(first, "keep")
    assert guarded.sees(0, first)["scores"] == []
    message = guarded.teams[0].get(f"/submissions/{first}").text
    assert "The organizers have decided not to show them." in message
    half = captions(*((image, f"qq{image}") for image in IMAGES[:6]))
    third = guarded.submit(2, half)
    guarded.decide(second, "keep")
    changed = captions((0, "field"), *((image, f"ww{image} rr") for image in IMAGES[1:6]))
    fourth = guarded.submit(1, changed)
    assert guarded.probes()[fourth] == f"differs from submission {third} on 1 of 12 images"


def test_scores_have_the_digits_that_are_significant(world: World, guarded: Guarded) -> None:
    number = guarded.submit(2, captions(other="a cat is walking over field {image} zqreference"))
    for path in (f"/api/submissions/{number}", f"/api/challenges/{guarded.slug}"):
        seen, exact = (who.get(path).text for who in (guarded.teams[2], world["owner"]))
        assert seen != exact
        assert all(len(n.partition(".")[2]) <= 1 for n in _numbers(json.loads(seen)))
        assert any(len(n.partition(".")[2]) > 6 for n in _numbers(json.loads(exact)))


def _numbers(content: Any) -> list[str]:
    if isinstance(content, dict):
        return [n for key, value in content.items() if key != "p" for n in _numbers(value)]
    if isinstance(content, list):
        return [n for value in content for n in _numbers(value)]
    return [str(content)] if isinstance(content, float) else []


def test_decimals_follow_from_the_number_of_images() -> None:
    pytest.importorskip("django")
    from cidery_server.challenges.precision import Precision

    shown = {n: Precision.of_images(n).decimals for n in (1, 12, 72, 1000, 4500, 40_000)}
    assert shown == {1: 1, 12: 1, 72: 2, 1000: 2, 4500: 3, 40_000: 3}


def test_scores_can_be_hidden_until_closing(world: World) -> None:
    hidden = guard(world, "sealed", 1, scores_hidden=True)
    number = hidden.submit(0, captions())
    assert hidden.sees(0, number)["scores"] == []
    page = hidden.teams[0].get("/challenges/sealed").text
    assert "Scores are shown when the challenge has closed." in page
    assert hidden.teams[0].get("/api/challenges/sealed").json()["leaderboard"] is None
    assert hidden.teams[0].get("/api/challenges/sealed/compare").json()["choices"] == []
    assert hidden.teams[0].get("/challenges/sealed/chart").status_code == 404
    assert world["owner"].get(f"/api/submissions/{number}").json()["scores"]
    world.app.run("challenge", "close", "sealed")
    assert hidden.sees(0, number)["scores"]
    assert hidden.teams[0].get("/api/challenges/sealed").json()["leaderboard"]["entries"]


def test_only_what_a_leaderboard_shows_is_public(world: World) -> None:
    """A team's other submissions, their titles and scores are its own."""
    rules = {"exact_scores": True, "probes_shown": 1000}
    mine = guard(world, "own", 2, **rules)
    worse = mine.submit(0, captions(other="a dog"))
    better = mine.submit(0, captions(other="a dog is walking over a field"))
    for stranger in (mine.teams[1], world.app.visitor()):
        assert stranger.get(f"/api/submissions/{better}").status_code == 200
        assert stranger.get(f"/api/submissions/{worse}").status_code == 404
        choices = stranger.get("/api/challenges/own/compare").json()["choices"]
        assert [choice["id"] for choice in choices] == [better]
        path = f"/api/challenges/own/compare?first={better}&second={worse}"
        assert stranger.get(path).status_code == 404
    assert mine.sees(0, worse)["scores"]


def test_equal_scores_share_a_rank(world: World) -> None:
    ranked = guard(world, "ranked", 3)
    for team in (0, 1):
        ranked.submit(team, captions(other="a dog is walking over a field"))
    ranked.submit(2, captions(other="a dog"))
    board = ranked.teams[0].get("/api/challenges/ranked").json()["leaderboard"]
    assert [entry["rank"] for entry in board["entries"]] == [1, 1, 3]
    assert [entry["cells"][0]["mark"] for entry in board["entries"]][:2] == ["best", "best"]


def test_scoring_again_keeps_the_leaderboard(world: World) -> None:
    """Scores stand until new ones are there."""
    again = guard(world, "again", 1)
    again.submit(0, captions())
    board = again.teams[0].get("/api/challenges/again").json()["leaderboard"]
    assert world["owner"].post("/api/challenges/again/rescore", json={}).status_code == 204
    now = again.teams[0].get("/api/challenges/again").json()["leaderboard"]
    assert now["entries"] and now["entries"][0]["cells"] == board["entries"][0]["cells"]
