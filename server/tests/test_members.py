"""Teams of several people, private submissions, choosing and withdrawing; and how to cheat."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from server.tests.support.challenges import Host, captions, references

IMAGES = range(20)
TRIES = ("runs", "sits down", "sleeps quite well", "is", "walks over", "stands there all day long")


@pytest.fixture(scope="module")
def host(local_app: None) -> Iterator[Host]:
    made = Host()
    made.challenge("fair", {"c2": references(IMAGES)}, per_day=3, in_all=6)
    yield made
    made.close()


def invite(host: Host, team: str) -> str:
    answer = host.person(team).post("/api/team", action="invite")
    assert answer.status_code == 200, answer.content
    return str(answer.json()["link"]).removeprefix("http://testserver/")


def join(host: Host, name: str, team: str) -> Any:
    return host.person(name).post(f"/api/{invite(host, team)}")


def tries(number: int, **changed: str) -> list[dict[str, Any]]:
    return captions(IMAGES, TRIES[number], **changed)


def test_members_submit_for_their_team(host: Host) -> None:
    host.approve("fair", "Growers")
    ann, ben, growers = (host.person(name) for name in ("Ann", "Ben", "Growers"))
    assert "may not submit" in host.refusal("Ann", "fair", tries(0))
    link = invite(host, "Growers")
    assert "Join Growers" in ann.get(f"/{link}").content.decode()
    assert ann.post(f"/api/{link}").status_code == 204
    assert ben.post(f"/api/{link}").status_code == 404  # it was used
    number = host.submit("Ann", "fair", tries(0))
    shown = growers.get(f"/api/submissions/{number}").json()["submission"]
    assert (shown["team"], shown["author"]) == ("Growers", "Ann")
    assert ben.get(f"/api/submissions/{number}").json()["submission"]["author"] == ""
    page = ann.get("/api/challenges/fair").json()
    assert (page["team"], page["participation"]) == ("Growers", "approved")
    assert page["quota"] == {
        "per_day": 3, "in_all": 6, "left_today": 2, "left": 5, "shared_with": ""
    }  # fmt: skip
    assert "2 of 3 left today, 5 of 6 in all" in ann.get("/challenges/fair").content.decode()
    assert 'class="mine"' in ann.get("/challenges/fair").content.decode()
    assert growers.post("/api/team", action="forbid", member="Ann").status_code == 200
    assert host.refusal("Ann", "fair", tries(1)) == "You may not submit for your team, Growers."
    message = ann.get("/challenges/fair/submissions").content.decode()
    assert "You may not submit for your team." in message and "<h2>Submit</h2>" not in message
    assert ann.post(f"/api/submissions/{number}/standing", action="withdraw").status_code == 403
    growers.post("/api/team", action="allow", member="Ann")
    assert ann.post("/api/team", action="invite").status_code == 400
    assert ann.post("/api/team", action="remove", member="Ann").status_code == 400
    left = ann.post("/api/team", action="leave")
    assert (left.json()["team"], left.json()["is_mine"]) == ("Ann", True)
    private = host.submit("Growers", "fair", tries(1), private="true")
    assert ann.get(f"/api/submissions/{private}").status_code == 404
    assert "may not submit" in host.refusal("Ann", "fair", tries(2))
    for path in ("/team", "/account"):
        assert growers.get(path).status_code == 200


def test_nobody_is_in_two_teams(host: Host) -> None:
    assert join(host, "Cat", "Growers").status_code == 204
    message = join(host, "Cat", "Planters").json()["errors"]["non_field_errors"][0]
    assert message == "You are in the team Growers; leave it first."
    own = join(host, "Growers", "Planters").json()["errors"]["non_field_errors"][0]
    assert "Your team has members" in own
    mine = join(host, "Planters", "Planters").json()["errors"]["non_field_errors"][0]
    assert "your own team" in mine
    owner = host.owner.post(f"/api/{invite(host, 'Planters')}").json()
    assert "cannot join a team" in str(owner["errors"])
    assert host.owner.post("/api/team", action="invite").status_code == 400


def test_going_from_team_to_team_gives_no_more_submissions(host: Host) -> None:
    """Who has submitted for one team has used up the same of the next."""
    host.approve("fair", "North", "South", "Hopper")
    join(host, "Hopper", "North")
    for number in (2, 3):
        host.submit("Hopper", "fair", tries(number))
    host.person("Hopper").post("/api/team", action="leave")
    join(host, "Hopper", "South")
    quota = host.person("Hopper").get("/api/challenges/fair").json()["quota"]
    assert (quota["left_today"], quota["left"]) == (1, 4)
    host.submit("Hopper", "fair", tries(4))
    assert "used its 3 submissions of today" in host.refusal("Hopper", "fair", tries(5))
    host.person("Hopper").post("/api/team", action="leave")
    assert "used its 3 submissions of today" in host.refusal("Hopper", "fair", tries(5))
    assert host.person("South").get("/api/challenges/fair").json()["quota"]["left_today"] == 2


def test_who_is_refused_or_suspended_does_not_come_back_in_a_team(host: Host) -> None:
    host.owner.post("/api/challenges/fair/teams", team="North", action="approve")
    host.person("Banned")
    host.owner.post("/api/challenges/fair/teams", team="Banned", action="refuse")
    join(host, "Banned", "North")
    assert "may not submit" in host.refusal("Banned", "fair", tries(5))
    join(host, "Dora", "North")
    host.owner.post("/api/accounts", account=host.person("North").account.pk, action="suspend")
    assert "Your team is suspended" in host.refusal("Dora", "fair", tries(5))
    host.owner.post("/api/accounts", account=host.person("North").account.pk, action="restore")


def test_a_withheld_probe_stops_its_author_in_every_team(host: Host) -> None:
    from cidery_server.challenges.models import Submission

    host.challenge("strict", {"c2": references(IMAGES)}, probes_shown=0)
    host.approve("strict", "East", "West")
    join(host, "Prober", "East")
    host.submit("East", "strict", tries(0))
    probe = host.submit("Prober", "strict", tries(0, _3="a fish"))
    assert Submission.objects.get(pk=probe).probe == "withheld"
    host.person("Prober").post("/api/team", action="leave")
    join(host, "Prober", "West")
    assert "must review it" in host.refusal("Prober", "strict", tries(1))
    host.submit("West", "strict", tries(2))


def test_an_invite_that_many_use_at_once_admits_one(host: Host) -> None:
    from django.db import connection

    link = invite(host, "Planters")
    people = [host.person(f"Crowd {n}") for n in range(4)]

    def use(n: int) -> int:
        try:
            return int(people[n].post(f"/api/{link}").status_code)
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        codes = list(pool.map(use, range(4)))
    assert codes.count(204) == 1, codes
    members = host.person("Planters").get("/api/team").json()["members"]
    assert sum(one["name"].startswith("Crowd") for one in members) == 1


def board(host: Host, slug: str) -> list[int]:
    shown = host.stranger().get(f"/api/challenges/{slug}").json()["leaderboard"]
    return [entry["submission"] for entry in shown["entries"]]


def test_a_team_says_which_submission_is_ranked(host: Host) -> None:
    host.challenge("ranks", {"c2": references(IMAGES)}, per_day=3, exact_scores=True)
    host.approve("ranks", "Choosers")
    team, stranger = host.person("Choosers"), host.stranger()
    best = host.submit("Choosers", "ranks", tries(4))
    worse = host.submit("Choosers", "ranks", tries(2))
    private = host.submit("Choosers", "ranks", tries(5), private="true")

    def change(number: int, action: str) -> Any:
        return team.post(f"/api/submissions/{number}/standing", action=action)

    assert board(host, "ranks") == [best]
    assert change(worse, "choose").json()["is_chosen"]
    assert board(host, "ranks") == [worse]
    assert stranger.get(f"/api/submissions/{best}").status_code == 404
    for path in (f"/api/submissions/{private}", f"/api/submissions/{private}/standing"):
        assert stranger.get(path).status_code in (401, 404)
    refused = change(private, "choose").json()["errors"]["action"]
    assert refused == ["A submission that is private, or withheld, is not ranked."]
    change(worse, "best")
    change(best, "hide")
    assert board(host, "ranks") == [worse]
    change(best, "publish")
    page = team.get(f"/submissions/{best}").content.decode()
    assert "Rank this submission" in page and "Withdraw …" in page
    assert change(best, "withdraw").json()["withdrawn"]
    assert board(host, "ranks") == [worse]
    assert change(best, "publish").status_code == 403  # for good
    assert stranger.get(f"/api/submissions/{best}").status_code == 404
    assert host.person("Ann").post(
        f"/api/submissions/{worse}/standing", action="withdraw"
    ).status_code == 403  # fmt: skip


def test_withdrawing_gives_nothing_back(host: Host) -> None:
    """Neither the place among the limits nor what later ones are compared with."""
    from cidery_server.challenges.models import Submission

    assert "used its 3 submissions of today" in host.refusal("Choosers", "ranks", tries(0))
    host.approve("ranks", "Watchers")
    probe = host.submit("Watchers", "ranks", tries(4, _3="a fish"))  # like the withdrawn one
    assert Submission.objects.get(pk=probe).probe_reason.endswith("1 of 20 images")
    like_private = host.submit("Watchers", "ranks", tries(5, _3="a fish"))
    assert Submission.objects.get(pk=like_private).probe == "shown"
