"""Systems with several runs: submissions that the leaderboard shows as one entry."""

from __future__ import annotations

import csv
import io
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import cidery
from server.tests.support.challenges import WORDS, Host, references

if TYPE_CHECKING:
    from cidery_server.challenges.models import Challenge

IMAGES = range(60)
DOMAINS = {str(n): ("in", "out")[n % 2] for n in IMAGES}
METRICS = ["rouge-l", "bleu-1"]
REFERENCES = {str(n): captions for n, captions in references(IMAGES).items()}


def results(seed: int, quality: float) -> list[dict[str, Any]]:
    """Return captions of one run, some of them of another animal and place."""
    chosen = random.Random(seed)

    def write(n: int) -> str:
        if chosen.random() < quality:
            return f"a {WORDS[n % 10]} walks over field {n}"
        return f"{chosen.choice(WORDS)} {chosen.choice(WORDS)} walks in field {chosen.randrange(9)}"

    return [{"image_id": n, "caption": write(n)} for n in IMAGES]


RUNS = [results(seed, 0.6) for seed in (1, 2, 3)]
OTHER = results(4, 0.5)
FIFTH = results(5, 0.55)


def to_captions(content: list[dict[str, Any]]) -> dict[str, str]:
    return {str(one["image_id"]): one["caption"] for one in content}


@pytest.fixture
def host(local_app: None) -> Iterator[Host]:
    made = Host()
    yield made
    made.close()


def make(host: Host, slug: str = "seeds", **rules: Any) -> Challenge:
    from cidery_server.challenges.definition import NamedSlices

    sets: Any = {"c2": REFERENCES}
    fields = {"entry": "open", "probes_shown": 1000, "per_day": 50, "exact_scores": True}
    return host.challenge(slug, sets, NamedSlices("domain", DOMAINS), **fields | rules)


def send_runs(host: Host, slug: str = "seeds") -> list[int]:
    """Submit three runs of one team, the second and third as runs of the first."""
    first = host.submit("Seeds", slug, RUNS[0], title="run 1")
    return [first, *(host.submit("Seeds", slug, one, run_of=first) for one in RUNS[1:])]


def compare_again(slug: str = "seeds") -> None:
    from cidery_server.challenges.models import Challenge
    from cidery_server.challenges.ranking import compare_with_best

    compare_with_best(Challenge.objects.get(slug=slug))


def show_board(host: Host, slug: str = "seeds", **query: Any) -> dict[str, Any]:
    answer = host.stranger().get(f"/api/challenges/{slug}", **query)
    assert answer.status_code == 200, answer.content
    return dict(answer.json()["leaderboard"])


def show_entry(host: Host, team: str = "Seeds", slug: str = "seeds", **query: Any) -> Any:
    entries = show_board(host, slug, **query)["entries"]
    return next(entry for entry in entries if entry["team"] == team)


def change(host: Host, number: int, action: str, name: str = "Seeds", **fields: Any) -> Any:
    return host.person(name).post(f"/api/submissions/{number}/standing", action=action, **fields)


def test_runs_are_those_of_cidery_compare(host: Host) -> None:
    """Mean, standard deviation, interval, difference and p, on all images and in slices."""
    from cidery_server.challenges.models import Submission
    from cidery_server.challenges.ranking import contrast

    make(host)
    numbers = send_runs(host)
    other = host.submit("Other", "seeds", OTHER)
    compare_again()
    expected = cidery.compare(
        {"seeds": cidery.Runs([to_captions(run) for run in RUNS]), "other": to_captions(OTHER)},
        REFERENCES,
        METRICS,
        by=DOMAINS,
    )
    assert expected.slices is not None
    table = expected.tables["seeds"]
    assert table.slices is not None
    for name in ("", "in", "out"):
        part = table.slices[name] if name else table
        tests = expected.slices[name] if name else expected.tests
        entry = show_entry(host, slice=name)
        assert (entry["submission"], entry["runs"], entry["title"]) == (numbers[0], 3, "run 1")
        rival = show_entry(host, "Other", slice=name)
        assert [cell["sd"] for cell in rival["cells"]] == [None, None]
        for metric, cell, single in zip(METRICS, entry["cells"], rival["cells"], strict=True):
            interval = expected.intervals[name or "(all)"]["seeds"][metric]
            assert cell["value"] == part.corpus[metric]
            assert cell["sd"] == part.spread_over_runs(metric)
            assert (cell["low"], cell["high"]) == (interval.low, interval.high)
            test = tests[metric]["seeds", "other"]
            assert test.method == "images and runs"
            assert {cell["p"], single["p"]} == {None, test.p}
            assert {cell["mark"], single["mark"]} == {
                "best", "apart" if test.p < 0.05 else "tied"
            }  # fmt: skip
    sides = [Submission.objects.get(pk=number) for number in (numbers[0], other)]
    contrasts = contrast(*sides)
    assert contrasts is not None and len(contrasts) == 6
    for row in contrasts:
        tests = expected.slices[row.column.slice] if row.column.slice else expected.tests
        test = tests[row.column.metric]["seeds", "other"]
        assert (row.difference, row.low, row.high, row.wins) == (
            test.difference, test.low, test.high, test.wins
        )  # fmt: skip
    page = host.stranger().get("/challenges/seeds").content.decode()
    assert "3 runs" in page and " ± " in page and "standard deviation over runs" in page
    assert host.stranger().get("/challenges/seeds/chart").status_code == 200


def test_one_run_is_as_before(host: Host) -> None:
    make(host)
    host.submit("Seeds", "seeds", RUNS[0])
    host.submit("Other", "seeds", OTHER)
    compare_again()
    expected = cidery.compare(
        {"seeds": to_captions(RUNS[0]), "other": to_captions(OTHER)},
        REFERENCES,
        METRICS,
    )
    board = show_board(host)
    assert not board["has_runs"]
    entry = show_entry(host)
    for metric, cell, single in zip(
        METRICS, entry["cells"], show_entry(host, "Other")["cells"], strict=True
    ):
        interval = expected.tables["seeds"].interval(metric)
        assert (cell["value"], cell["sd"]) == (expected.tables["seeds"].corpus[metric], None)
        assert (cell["low"], cell["high"]) == (interval.low, interval.high)
        assert {cell["p"], single["p"]} == {None, expected.tests[metric]["seeds", "other"].p}
    assert (entry["runs"], " ± " in host.stranger().get("/challenges/seeds").content.decode()) == (
        1, False
    )  # fmt: skip


def test_changes_of_the_runs_are_computed_again(host: Host) -> None:
    from cidery_server.challenges.models import Challenge, Difference, Submission
    from cidery_server.challenges.ranking import rank

    make(host)
    first, second, third = send_runs(host)
    other = host.submit("Other", "seeds", OTHER)
    change(host, first, "choose")
    compare_again()

    def expect(runs: list[Any]) -> None:
        """Check that nothing out of date is shown, then that all of it is computed again."""
        entry = show_entry(host)
        scores = [cidery.score(to_captions(run), REFERENCES, METRICS).corpus for run in runs]
        assert entry["runs"] == len(runs)
        assert entry["cells"][0]["value"] == float(np.mean([score["rouge-l"] for score in scores]))
        if len(runs) > 1:
            assert (entry["cells"][0]["low"], entry["cells"][0]["high"]) == (None, None)
        assert "…" in host.stranger().get("/challenges/seeds").content.decode()
        assert host.stranger().get("/challenges/seeds/chart").status_code == 200
        challenge = Challenge.objects.get(slug="seeds")
        assert challenge.compared_version < challenge.scored_version
        marks = {
            cell["mark"] for team in ("Seeds", "Other") for cell in show_entry(host, team)["cells"]
        }
        assert marks == {"best", "untested"}
        compare_again()
        given: Any = [to_captions(run) for run in runs]
        test = cidery.compare(
            {"seeds": given if len(given) > 1 else given[0], "other": to_captions(OTHER)},
            REFERENCES,
            METRICS,
        ).tests["bleu-1"]["seeds", "other"]
        (one, two) = rank(Challenge.objects.get(slug="seeds")).entries
        assert {one.scores[1].p, two.scores[1].p} == {None, test.p}
        assert show_entry(host)["cells"][0]["low"] is not None

    assert change(host, third, "hide").status_code == 200
    expect(RUNS[:2])
    change(host, third, "publish")
    expect(RUNS)
    assert change(host, second, "single").json()["run_of"] is None
    expect([RUNS[0], RUNS[2]])
    assert change(host, second, "run", run_of=first).json()["run_of"] == first
    expect(RUNS)
    probe = Submission.objects.filter(pk=third)
    probe.update(probe="withheld", probe_reason="a test")
    host.owner.post(f"/api/submissions/{third}/decision", action="keep")
    expect(RUNS[:2])
    host.owner.post(f"/api/submissions/{third}/decision", action="release")
    expect(RUNS)
    assert change(host, third, "withdraw").json()["run_of"] is None
    expect(RUNS[:2])
    change(host, second, "withdraw")
    expect(RUNS[:1])
    before = set(Difference.objects.values_list("pk", flat=True))
    for number in (first, other):
        Submission.objects.filter(pk=number).update(state="queued")
        host.score(number)
    assert not before & set(Difference.objects.values_list("pk", flat=True))


def test_scoring_again_computes_again(host: Host) -> None:
    from cidery_server.challenges.models import Submission

    make(host)
    numbers = send_runs(host)
    host.submit("Other", "seeds", OTHER)
    compare_again()
    before = show_board(host)
    Submission.objects.filter(pk=numbers[1]).update(state="queued")
    assert show_board(host) == before
    host.score(numbers[1])
    assert show_entry(host)["cells"][0]["low"] is None
    compare_again()
    assert show_board(host) == before


def test_groups_are_ranked_by_their_means(host: Host) -> None:
    """A team's best is a system: one good run does not lift it above a better mean."""
    make(host)
    team = [results(seed, quality) for seed, quality in ((1, 0.9), (2, 0.2), (3, 0.7))]
    good, poor, middle = (host.submit("Seeds", "seeds", one) for one in team)
    assert show_entry(host)["submission"] == good
    change(host, poor, "run", run_of=good)
    assert show_entry(host)["submission"] == middle
    assert host.stranger().get(f"/api/submissions/{good}").status_code == 404
    assert change(host, good, "choose").status_code == 200
    assert (show_entry(host)["submission"], show_entry(host)["runs"]) == (good, 2)
    change(host, good, "hide")  # with it, its runs
    assert show_entry(host)["submission"] == middle
    change(host, middle, "hide")
    assert show_board(host)["entries"] == []


def test_what_cannot_be_a_run(host: Host) -> None:
    make(host)
    make(host, "elsewhere")
    first, second, third = send_runs(host)
    alone = host.submit("Seeds", "seeds", FIFTH)
    theirs = host.submit("Other", "seeds", OTHER)
    away = host.submit("Seeds", "elsewhere", FIFTH)

    def refuse(number: int, run_of: Any, action: str = "run") -> str:
        answer = change(host, number, action, **({} if run_of is None else {"run_of": run_of}))
        assert answer.status_code == 400, answer.content
        ((message,),) = answer.json()["errors"].values()
        return str(message)

    none = "Your team has no submission {} to this challenge."
    for number in (theirs, away, 10**9):
        assert refuse(alone, number) == none.format(number)
        answer = host.person("Seeds").submit("seeds", FIFTH, run_of=number)
        assert answer.json()["errors"] == {"run_of": [none.format(number)]}
    assert change(host, alone, "run", "Other", run_of=theirs).status_code in (403, 404)
    assert change(host, second, "single", "Other").status_code == 404
    itself = f"Submission {second} is itself a run of submission {first}; choose that one."
    assert refuse(alone, second) == itself
    assert refuse(alone, alone) == "A submission cannot be a run of itself."
    assert refuse(alone, None) == "Choose the submission of which this is another run."
    assert refuse(alone, "x") == "A valid integer is required."
    has_runs = "It has other runs, submissions {}, {}: remove these from its runs first."
    assert refuse(first, alone) == has_runs.format(second, third)
    assert refuse(first, None, "withdraw") == has_runs.format(second, third)
    assert refuse(second, None, "choose") == f"It is a run of submission {first}; rank that one."
    change(host, alone, "withdraw")
    again = host.person("Seeds").submit("seeds", results(6, 0.5), run_of=alone)
    assert again.json()["errors"] == {"run_of": [f"Submission {alone} is withdrawn."]}
    team, path = host.person("Seeds"), f"/submissions/{third}/standing"
    assert team.post(path, action="hide", run_of="").status_code == 302  # as a form sends it
    page = team.post(path, action="run", run_of=str(second))
    assert (page.status_code, itself in page.content.decode()) == (400, True)
    compared = host.person("Seeds").get("/api/challenges/seeds/compare", first=first, second=second)
    assert compared.json()["detail"] == "One of the two is another run of the other one."


def test_strangers_see_the_mean_only(host: Host) -> None:
    make(host)
    first, second, third = send_runs(host)
    compare_again()
    values = [
        host.person("Seeds").get(f"/api/submissions/{number}").json()["scores"][0]["value"]
        for number in (first, second, third)
    ]
    assert len(set(values)) == 3
    for visitor in (host.stranger(), host.person("Other")):
        assert visitor.get(f"/api/submissions/{second}").status_code == 404
        page = visitor.get(f"/api/submissions/{first}").json()
        score = page["scores"][0]
        assert (score["value"], score["runs"]) == (float(np.mean(values)), 3)
        assert score["sd"] == float(np.std(values, ddof=1))
        assert score["signature"].endswith("|runs:3")
        assert page["other_runs"] == []
        for path in (
            f"/submissions/{first}",
            "/challenges/seeds",
            "/challenges/seeds/leaderboard.csv",
        ):
            for prefix in ("", "/api"):
                text = visitor.get(f"{prefix}{path}").content.decode()
                assert not [value for value in values if str(value) in text]
    mine = host.person("Seeds").get(f"/api/submissions/{first}").json()
    assert (mine["scores"][0]["runs"], [run["id"] for run in mine["other_runs"]]) == (
        1, [second, third]
    )  # fmt: skip
    html = host.person("Seeds").get(f"/submissions/{first}").content.decode()
    assert "Other runs" in html
    html = host.person("Seeds").get(f"/submissions/{second}").content.decode()
    assert "Remove from the runs" in html and f"submission {first}</a>" in html
    form = host.person("Seeds").get("/challenges/seeds/submissions").content.decode()
    assert f'<option value="{first}">run 1 ({first})</option>' in form
    assert f'<option value="{second}"' not in form


def test_shown_digits_of_runs_reveal_no_more(host: Host) -> None:
    """Mean and standard deviation follow from the rounded scores that the team sees anyway."""
    make(host, exact_scores=False)
    numbers = send_runs(host)
    host.submit("Other", "seeds", OTHER)
    compare_again()
    for slice, decimals in (("", 2), ("in", 2)):
        own = [
            next(
                score["value"]
                for score in (page["slice_scores"] if slice else page["scores"])
                if score["metric"] == "rouge-l" and score.get("slice", "") == slice
            )
            for page in (
                host.person("Seeds").get(f"/api/submissions/{number}").json() for number in numbers
            )
        ]
        cell = show_entry(host, slice=slice)["cells"][0]
        assert cell["decimals"] == decimals
        assert cell["value"] == round(float(np.mean(own)), decimals)
        assert cell["sd"] == round(float(np.std(own, ddof=1)), decimals)
        middle = (cell["low"] + cell["high"]) / 2
        assert middle == pytest.approx(cell["value"], abs=10**-decimals / 2 + 1e-9)
    query = {"first": numbers[0], "second": show_entry(host, "Other")["submission"]}
    shown = host.stranger().get("/api/challenges/seeds/compare", **query).json()
    assert (shown["first_runs"], shown["second_runs"]) == (3, 1)
    for row in shown["contrasts"]:
        assert row["difference"] == pytest.approx(row["first"] - row["second"])
        for name in ("first", "difference", "low", "high"):
            assert row[name] == round(row[name], shown["decimals"])
    page = host.stranger().get("/challenges/seeds/compare", **query).content.decode()
    assert "With several runs" in page and "3 runs" in page


def test_a_rounded_mean_above_that_of_the_best(host: Host) -> None:
    """Where rounding turns two means around, the shown best has the star, and both are tied."""
    from cidery_server.challenges.models import Score
    from cidery_server.challenges.precision import Precision
    from cidery_server.challenges.ranking import Mark, _judge_column
    from cidery_server.challenges.runs import SystemScore

    def system(pk: int, *values: float) -> SystemScore:
        scores = [Score(pk=pk + n, value=v, low=v, high=v) for n, v in enumerate(values)]
        return SystemScore.of(scores)

    scores = {1: system(10, 0.504, 0.504), 2: system(20, 0.5051, 0.5051, 0.4951)}
    assert scores[1].value > scores[2].value
    cells = dict(_judge_column(scores, {}, Precision(2)))
    shown = [(cell.value, cell.mark) for cell in cells.values()]
    assert shown == [(0.5, Mark.TIED), (0.51, Mark.BEST)]


def test_exports_have_runs(host: Host) -> None:
    from cidery_server.challenges.management import export_leaderboard

    challenge = make(host)
    send_runs(host)
    host.submit("Other", "seeds", OTHER)
    compare_again()
    answer = host.stranger().get("/challenges/seeds/leaderboard.csv")
    lines = {row["team"]: row for row in csv.DictReader(io.StringIO(answer.content.decode()))}
    cell = show_entry(host)["cells"][0]
    ours = lines["Seeds"]
    assert (ours["runs"], lines["Other"]["runs"]) == ("3", "1")
    assert (ours["c2.rouge-l"], ours["c2.rouge-l.sd"]) == (str(cell["value"]), str(cell["sd"]))
    assert (ours["c2.rouge-l.low"], lines["Other"]["c2.rouge-l.sd"]) == (str(cell["low"]), "")
    records = {record["team"]: record for record in export_leaderboard(challenge)}
    assert (records["Seeds"]["runs"], records["Seeds"]["c2.rouge-l.sd"]) == (3, cell["sd"])
    assert records["Other"]["c2.rouge-l.sd"] is None


MIGRATE = """
import sys
from pathlib import Path
from cidery_server.web.environment import Environment, set_up
set_up(Environment(data=Path(sys.argv[1]), database=sys.argv[2]))
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from cidery_server.web.database import migrate

migrate()
call_command("migrate", "challenges", "0001", verbosity=0)
apps = MigrationExecutor(connection).loader.project_state([("challenges", "0001_initial")]).apps
get = lambda name: apps.get_model("challenges", name).objects
team = apps.get_model("web", "Account").objects.create(name="Old")
fields = {"packed_images": b"", "metrics": ["rouge-l"], "scored_version": 2, "compared_version": 2}
challenge = get("Challenge").create(slug="old", title="Old", **fields)
references = get("HiddenReferences").create(
    challenge=challenge, name="c1", packed_references=b""
)
scores = []
for number in range(2):
    made = get("Submission").create(challenge=challenge, team=team, title="x", packed_captions=b"")
    rows = get("ImageRows").create(submission=made, packed=b"")
    fields = {"reference_set": references, "metric": "rouge-l", "rows": rows, "signature": ""}
    scores.append(get("Score").create(submission=made, value=0.5, low=0.4, high=0.6, **fields))
get("Difference").create(
    one=scores[0], other=scores[1], difference=0, low=0, high=0, p=0.5, effect=0, wins=0.5
)
migrate()
from cidery_server.challenges.models import Challenge, Difference, Score, Submission
print(Difference.objects.count(), Score.objects.count(), Submission.objects.count())
print(list(Challenge.objects.values_list("compared_version", "scored_version")))
"""


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_tests_of_earlier_versions_are_made_again(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    url = "" if kind == "sqlite" else request.getfixturevalue("postgresql").new_database()
    command = [sys.executable, "-c", MIGRATE, str(tmp_path), url]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "0 2 2\n[(0, 2)]\n", done.stderr
