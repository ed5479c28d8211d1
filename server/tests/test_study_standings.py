"""Results by system: the estimates of `cidery meta estimate`, who leads, what more would bring."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest

from cidery import meta
from cidery.corpus import bundled
from cidery.errors import UnreliableWarning
from cidery.files import read_references
from cidery.meta import Record, build_judgments
from cidery.statistics import Estimate, forecast_answers

NUMBERS = count(1)
SYSTEMS = ("system_a", "system_b")


@pytest.fixture(scope="module")
def sources(local_app: None) -> Any:
    from cidery_server.studies.items import Sources

    results = {name: bundled.path(f"{name}.json") for name in SYSTEMS}
    return Sources.read(results, bundled.path("references.json"))


@pytest.fixture
def make(sources: Any) -> Iterator[Callable[..., Any]]:
    """A function that makes a study with judges who have answered some of its items."""
    from cidery_server.studies.creation import create_study
    from cidery_server.studies.definition import Definition
    from cidery_server.studies.items import make_items
    from cidery_server.studies.models import Study

    made = []

    def make_study(design: Any, choose: Callable[[dict[str, Any]], float], **settings: Any) -> Any:
        answered = settings.pop("answered", 10**6)
        references = sources.references if settings.pop("references", True) else {}
        items = make_items(design, sources, references_each=2, sets=settings.pop("sets", False))
        fields = {"name": f"standings-{next(NUMBERS)}", "title": "x", "design": design}
        fields |= {"question": "Which?", "judges_each": 1, **settings}
        study = create_study(Definition(fields, items, references=references))
        made.append(study)
        answer(study, choose, answered)
        return study

    yield make_study
    Study.objects.filter(pk__in=[study.pk for study in made]).delete()


def answer(study: Any, choose: Callable[[dict[str, Any]], float], most: int) -> None:
    """Let judges answer as `choose(content)` says: 1 or -1 of a pair, or a rating."""
    from cidery_server.studies.assignment import get_task, record_answer
    from cidery_server.studies.invites import find_invite, join_study, make_invite

    key = make_invite(study, "judges", personal=False)
    invite = find_invite(study.name, key)
    assert invite is not None
    for _ in range(study.judges_each):
        judge = join_study(invite, "", "")
        task = get_task(judge.pk)
        for _ in range(most):
            given = task.assignment
            if given is None:
                break
            value = choose(given.item.content)
            if study.is_pairwise:
                sent = "1" if (value > 0) != given.swapped else "2"
            else:
                sent = f"{value:g}"
            task = record_answer(judge.pk, given.ticket, sent)


def prefer_a(content: dict[str, Any]) -> float:
    """Prefer the first system on three of four images."""
    return -1.0 if int(content["image"]) % 4 == 0 else 1.0


def estimate_outside(study: Any, **settings: Any) -> Any:
    """Return what `cidery meta` makes of the same items and answers, judged or not."""
    from cidery_server.studies.answer_counts import Count

    counted = Count(study)
    key = "votes" if study.is_pairwise else "ratings"
    lines: list[dict[str, Any]] = [
        {"image": image, "references": captions} for image, captions in study.references.items()
    ]
    lines += [
        {**content, key: counted.values.get(item, [])} for item, content in counted.items.items()
    ]
    dataset = build_judgments([Record(line, "line") for line in lines], "judgments")
    with pytest.warns(UnreliableWarning, match="only 72 images"):
        return meta.estimate(dataset, ["cider-d"], **settings)


def test_estimates_are_those_of_meta(make: Any) -> None:
    study = make("pairwise", prefer_a, answered=40)
    from cidery_server.studies.system_results import rank_systems

    images = len(read_references(bundled.path("references.json")))
    found = rank_systems(study)
    assert found.problem == ""
    expected = estimate_outside(study, horizon=images)
    fixed = estimate_outside(study)
    (name,) = expected.comparisons
    assert [one.metric for one in found.standings] == ["people", "cider-d"]
    for standings in found.standings:
        known = expected.results[standings.metric][name]
        (contest,) = standings.contests
        assert (contest.first, contest.second) == SYSTEMS
        assert (contest.value, contest.low, contest.high, contest.p) == (
            *(known.value, known.low, known.high, known.adjusted_p),
        )
        apart = fixed.results[standings.metric][name]
        assert (contest.fixed_low, contest.fixed_p) == (apart.low, apart.adjusted_p)
        assert contest.high - contest.low > contest.fixed_high - contest.fixed_low
        best, other = standings.systems
        assert best.value == pytest.approx(1 - other.value)
        assert best.low == pytest.approx(1 - other.high)
        assert standings.judged == 40
    assert found.best == [found.standings[1]]


def test_who_leads_and_what_more_would_bring(make: Any) -> None:
    from cidery_server.studies.system_results import rank_systems

    (clear,) = rank_systems(make("pairwise", lambda _: 1.0)).best
    assert clear.verdict() == [
        "system_a is better than system_b (p < 0.001).",
        "All comparisons are decided: no more answers are needed.",
    ]
    (early,) = rank_systems(make("pairwise", prefer_a, answered=4, judges_each=2)).best
    (contest,) = early.contests
    assert not contest.decided and contest.needed
    assert early.needed == contest.needed <= 2 * 72
    assert early.verdict()[0].startswith("system_a looks best so far; no difference is found yet")
    assert early.verdict()[1] == (
        "system_a and system_b: no decision before 30 images have answers."
    )
    assert early.verdict()[2] == (
        f"About {early.needed} more answers are needed to decide system_a and system_b, if the "
        "difference stays as it is."
    )
    flips = count()
    (level,) = rank_systems(make("pairwise", lambda _: 1.0 if next(flips) % 2 else -1.0)).best
    assert level.contests[0].needed is None
    assert "is too small to be decided by all answers" in level.verdict()[-1]
    few = rank_systems(make("pairwise", prefer_a, answered=3))
    assert (few.standings, few.problem) == (
        [],
        "An interval needs answers on at least 5 images.",
    )
    assert rank_systems(make("pairwise", prefer_a, answered=0)).problem.startswith("There are no")


def test_ratings_triplets_and_what_has_no_references(make: Any) -> None:
    from cidery_server.studies.system_results import rank_systems

    def rate(content: dict[str, Any]) -> float:
        return 3 + (content["system"] == "system_a") + int(content["image"]) % 2

    rated = make("rating", rate, references=False)
    (alone,) = rank_systems(rated).standings
    assert [one.system for one in alone.systems] == list(SYSTEMS)
    assert alone.contests[0].value == pytest.approx(1.0)
    assert alone.contests[0].decided and alone.kind == "mean"
    triplets = rank_systems(make("triplet", lambda _: 1.0, answered=60)).standings
    assert [one.metric for one in triplets] == ["people", "cider-d"]
    assert triplets[0].leader == "system_a"
    refused = rank_systems(make("pairwise", prefer_a, answered=20), "no-such-metric")
    assert refused.problem.startswith("No scores of a metric: unknown metric")
    assert len(refused.standings) == 1


def test_export_has_every_number(make: Any) -> None:
    from cidery_server.studies.exports import export_study
    from cidery_server.studies.system_results import rank_systems

    study = make("pairwise", prefer_a, answered=30)
    rows = list(csv.DictReader(io.StringIO(export_study(study, "results"))))
    found = rank_systems(study).standings
    assert [(row["with"], row["system"], row["against"]) for row in rows] == [
        (label, system, against)
        for label in ("people", "cider-d")
        for system, against in (*((s, "") for s in SYSTEMS), SYSTEMS)
    ]
    assert float(rows[-1]["value"]) == found[1].contests[0].value
    assert (rows[-1]["decided"], rows[-1]["ahead"]) == ("1", "system_a")
    assert rows[0]["decided"] == ""
    assert rows[-1]["signature"].startswith("cider-d|")


def test_a_forecast_counts_images_first_and_people_then() -> None:
    found = Estimate(0.6, 0.4, 0.8, 0.95, 0.1, 0.1, 0.0, 25, 0.3, 0.3, 25)
    asked: dict[str, Any] = {"answers": 25, "items": 400, "judged_images": 25, "images": 400}
    fixed = forecast_answers(found, most=400, null=0.5, **asked)
    # 0.1 apart with spread 0.5: 1.96² · 0.25 / 0.01 = 96 images, and one or two for Student's t.
    assert fixed is not None and 96 <= 25 + fixed <= 102
    looked = forecast_answers(found, most=400, null=0.5, horizon=400, **asked)
    assert looked is not None and looked > fixed
    few = asked | {"items": 25, "images": 25}
    assert forecast_answers(found, most=75, null=0.5, **few) is None
    more = forecast_answers(found, most=2500, null=0.5, scatter=0.5, fewest=20, **few)
    assert more is not None and more > 25
    # On 25 images nothing is decided, whatever people say.
    assert forecast_answers(found, most=2500, null=0.5, scatter=0.5, **few) is None


def test_a_few_images_decide_nothing(make: Any) -> None:
    """People who agree on a few images end no study; a known scale keeps intervals open."""
    from cidery_server.studies.system_results import rank_systems

    def rate(content: dict[str, Any]) -> float:
        return 5.0 if content["system"] == "system_a" else 4.0

    (few,) = rank_systems(make("rating", rate, answered=18, references=False)).standings
    (contest,) = few.contests
    assert contest.images < 30 and not few.is_decided
    assert contest.low < contest.value < contest.high
    assert "no decision before 30 images have answers." in few.verdict()[1]
    assert contest.needed is not None and contest.needed >= 2 * (30 - contest.images) - 2
    (all_of_it,) = rank_systems(make("rating", rate, references=False)).standings
    assert all_of_it.is_decided
