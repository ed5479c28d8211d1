"""Fewer judgments: estimates, plans and what to judge next, on judgments that the tests make."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cidery import meta
from cidery.cli import main
from cidery.errors import InputError, SettingError
from cidery.meta.estimation.items import guess_scale
from support import judged as made
from support.example import Example

SYSTEMS = ["good", "cut", "wrong"]


@pytest.fixture
def some_judged(tmp_path: Path, example: Example) -> Path:
    return made.write_questions(tmp_path / "q.jsonl", example.references, judged=30)


def test_means_and_differences(some_judged: Path) -> None:
    dataset = meta.read_dataset("judgments", some_judged)
    found = meta.estimate(dataset, ["rouge-l"])
    assert (found.judged, found.items) == (90, 216)
    people = found.results["people"]
    assert list(people) == [*SYSTEMS, "good - cut", "good - wrong", "cut - wrong"]
    good, wrong, difference = people["good"], people["wrong"], people["good - wrong"]
    assert good is not None and wrong is not None and difference is not None
    assert good.value == pytest.approx(np.mean([4 + (place + 4) % 3 / 2 for place in range(30)]))
    assert difference.value == pytest.approx(good.value - wrong.value)
    assert difference.low < 3.0 < difference.high
    assert found.undecided("people") == []
    for name in people:
        ours, alone = found.results["rouge-l"][name], people[name]
        assert ours is not None and alone is not None
        assert ours.error <= alone.error
    assert found.signatures["rouge-l"].startswith("rouge-l|")


def test_another_question_and_fewer_systems(some_judged: Path) -> None:
    dataset = meta.read_dataset("judgments", some_judged)
    found = meta.estimate(dataset, ["rouge-l"], question="recall", without_system="wrong")
    assert list(found.results["people"]) == ["good", "cut", "good - cut"]
    good = found.results["people"]["good"]
    assert good is not None
    by_hand = [(1 + 4 + (place + 4) % 3 / 2) / 2 for place in range(30)]
    assert good.value == pytest.approx(np.mean(by_hand))
    with pytest.raises(SettingError, match="no ratings of 'style'; its questions: total, recall"):
        meta.estimate(dataset, question="style")
    with pytest.raises(SettingError, match="has no system 'ours'; it has: cut, good, wrong"):
        meta.estimate(dataset, system="ours")


def test_evaluate_ignores_unjudged_captions(some_judged: Path) -> None:
    dataset = meta.read_dataset("judgments", some_judged)
    with pytest.warns(match="126 of 216 captions are not judged and are ignored"):
        found = meta.evaluate(dataset, "rouge-l", resamples=0).results["rouge-l"]
    assert (found["captions"], found["ratings"]) == (90, 90)


def test_wins(tmp_path: Path, example: Example) -> None:
    lines = made.pair_lines(example.references)
    for line in lines[30:]:
        del line["votes"]
    lines[0]["votes"] = [1, -1]  # a tie is half a win
    kept = made.reference_lines({i: g[1:] for i, g in example.references.items()})
    dataset = meta.read_dataset("judgments", made.write_lines(tmp_path / "p.jsonl", kept + lines))
    found = meta.estimate(dataset, ["rouge-l"])
    share = found.results["people"]["own over other"]
    assert share is not None
    assert share.value == pytest.approx(29.5 / 30)
    assert share.low < 0.97 and share.high == 1.0
    assert (found.judged, found.items) == (30, 72)
    with pytest.warns(match="42 of 72 pairs are not judged"):
        assert meta.evaluate(dataset, "rouge-l").results["rouge-l"]["pairs"] == 29
    assert meta.choose_next(dataset, "rouge-l") == []  # it is decided
    del lines[1]["votes"]  # of 29 images nothing is decided
    dataset = meta.read_dataset("judgments", made.write_lines(tmp_path / "p.jsonl", kept + lines))
    following = meta.choose_next(dataset, "rouge-l", count=4)
    assert len(following) == 4
    assert {*following[0]} == {"image", "pair", "systems", "kind"}


def test_too_few_judgments(tmp_path: Path, example: Example) -> None:
    path = made.write_questions(tmp_path / "q.jsonl", example.references, judged=4)
    dataset = meta.read_dataset("judgments", path)
    found = meta.estimate(dataset, ["rouge-l"])
    assert set(found.results["people"].values()) == {None}
    assert found.undecided() == ["good - cut", "good - wrong", "cut - wrong"]
    assert "too few judged" in str(found)
    with pytest.raises(InputError, match="at least 5 judged images"):
        meta.plan(dataset, ["rouge-l"], difference=0.5)


def test_a_study_from_its_beginning(tmp_path: Path, example: Example) -> None:
    """What is chosen is judged; nothing comes twice; what is decided is judged no further."""
    path = made.write_questions(tmp_path / "q.jsonl", example.references, judged=0)
    with pytest.raises(InputError, match="none of the 216 captions has ratings"):
        meta.estimate(meta.read_dataset("judgments", path), ["rouge-l"])
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    rng = np.random.default_rng(0)
    quality = {"good": 4.0, "cut": 3.8, "wrong": 1.0}
    chosen: list[tuple[str, str]] = []
    for _ in range(9):
        dataset = meta.read_dataset("judgments", made.write_lines(path, lines))
        following = meta.choose_next(dataset, "rouge-l", count=12, seed=5)
        new = [(str(item["image"]), item["system"]) for item in following]
        assert not {*new} & {*chosen}
        chosen += new
        for line in lines:
            if (str(line["image"]), line["system"]) in new:
                line["ratings"] = [quality[line["system"]] + rng.normal(0, 0.5)]
    systems = [system for _, system in new]
    assert systems.count("wrong") == 0  # decided as soon as 30 images were judged
    assert systems.count("good") == systems.count("cut") == 6


def test_plans(some_judged: Path, tmp_path: Path, example: Example) -> None:
    dataset = meta.read_dataset("judgments", some_judged)
    found = meta.plan(dataset, ["rouge-l"], difference=0.3, question="recall", answers=1)
    need = {(n.comparison, n.metric): n for n in found.needs}
    people, helped = need["good - cut", "people"], need["good - cut", "rouge-l"]
    assert people.judgments == 2 * people.images
    assert helped.images <= people.images
    more = meta.plan(dataset, ["rouge-l"], difference=0.3, question="recall", answers=4)
    assert more.needs[0].spread < people.spread
    assert more.answers == 4
    never = meta.plan(dataset, ["rouge-l"], difference=0.01, question="recall")
    assert never.needs[0].images == float("inf")
    assert "> 72" in str(never)
    assert json.loads(never.to_json())["needs"][0]["images"] is None
    with pytest.raises(SettingError, match="no variance of answers to the same caption"):
        meta.plan(dataset, ["rouge-l"], difference=0.3, answers=2)


@pytest.mark.parametrize("format", ["table", "json", "csv", "markdown", "latex"])
def test_on_the_command_line(
    format: str, some_judged: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in ("estimate", "plan --difference 0.5"):
        arguments = ["meta", *command.split(), "judgments", str(some_judged), "-m", "rouge-l"]
        assert main([*arguments, "--format", format]) == 0
        assert "good - cut" in capsys.readouterr().out
    assert main(["meta", "estimate", "judgments", str(some_judged), "--confidence", "2"]) == 2
    assert "must be greater than 0 and less than 1" in capsys.readouterr().err
    assert main(["meta", "plan", "judgments", str(some_judged)]) == 2
    assert "--difference" in capsys.readouterr().err


def test_next_on_the_command_line(
    tmp_path: Path, example: Example, capsys: pytest.CaptureFixture[str]
) -> None:
    path = made.write_questions(tmp_path / "q.jsonl", example.references, judged=20)
    arguments = ["meta", "next", "judgments", str(path), "-m", "rouge-l", "--count", "2"]
    assert main(arguments) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(lines) == 3
    assert all({*line} == {"image", "caption", "system"} for line in lines)


def test_own_references(tmp_path: Path) -> None:
    """Each caption of a pair may bring references, and shares its image with the others."""
    lines = [
        {"image": 1, "pair": ["a b", "c"], "votes": [1], "references": [["a b"], ["x"]]},
        {"image": 1, "pair": ["a", "b"], "votes": [-1], "references": ["a b"]},
    ]
    dataset = meta.read_dataset("judgments", made.write_lines(tmp_path / "o.jsonl", lines))
    assert isinstance(dataset, meta.Pairs)
    assert dataset.judged.references == [["a b"], ["x"]]
    assert dataset.judged.documents.tolist() == [0, 0, 1, 0]
    assert dataset.judged.image_of_caption.tolist() == [0, 0, 0, 0]
    assert dataset.judged.names == ["1"]


# Ratings of one kind only


def write_ratings(path: Path, rate: Callable[[int, str], float], images: int, most: int) -> Path:
    """Two systems, each with a caption of every image, of which the first were rated."""
    lines: list[dict[str, Any]] = []
    for image in range(most):
        lines.append({"image": image, "references": ["a cat on a mat", "a cat"]})
        for system in "ab":
            line = {"image": image, "system": system, "caption": f"a cat {system} {image}"}
            lines.append(line | ({"ratings": [rate(image, system)]} if image < images else {}))
    return made.write_lines(path, lines)


def rate_level(_: int, system: str) -> float:
    return 5.0 if system == "a" else 4.0


def test_equal_ratings_are_not_certain(tmp_path: Path) -> None:
    """All fives against all fours: an interval with a width, and no decision of a few images."""
    for images, decided in ((5, False), (29, False), (30, True), (60, True)):
        path = write_ratings(tmp_path / "few.jsonl", rate_level, images, 60)
        found = meta.estimate(meta.read_dataset("judgments", path), ["rouge-l"], horizon=60)
        known = found.results["people"]["a - b"]
        assert known is not None
        assert (known.value, known.images) == (1.0, images)
        assert known.low < 1.0 - 3 / images
        assert (found.undecided() == []) is (decided and known.low > 0)
        mean = found.results["people"]["a"]
        assert mean is not None and mean.low < 5.0 == mean.high
        told = f"still to be judged: a - b on {30 - images}"
        assert any(told in note for note in found.notes()) is (images < 30)
    assert found.undecided() == []


def test_scale_is_set_or_inferred(tmp_path: Path) -> None:
    path = write_ratings(tmp_path / "few.jsonl", rate_level, 10, 60)
    dataset = meta.read_dataset("judgments", path)
    widths = {}
    for scale in (None, (4.0, 5.0), (0.0, 10.0)):
        found = meta.estimate(dataset, ["rouge-l"], scale=scale)
        known = found.results["people"]["b"]
        assert known is not None
        widths[found.scale] = known.high - known.low
    assert widths[4.0, 5.0] < widths[1.0, 5.0] < widths[0.0, 10.0]
    assert "scale of the ratings: 0 to 10" in found.notes()
    for wrong, message in (
        ((1.0, 4.0), "ratings from 4 to 5 are not within the scale 1 to 4"),
        ((5.0, 1.0), "scale must ascend, not from 5 to 1"),
    ):
        with pytest.raises(SettingError, match=message):
            meta.estimate(dataset, ["rouge-l"], scale=wrong)


@pytest.mark.parametrize(
    ("ratings", "scale"),
    [
        ([0, 1], (0, 1)),
        ([5, 5], (1, 5)),
        ([0, 3], (0, 10)),
        ([11, 12], (0, 100)),
        ([-2, 2.5], (-2, 2.5)),
        ([-2, -2], (-2, -1)),
        ([], None),
    ],
)
def test_guessed_scales(ratings: list[float], scale: tuple[float, float] | None) -> None:
    assert guess_scale(np.asarray(ratings, np.float64)) == scale


# Plans


@pytest.mark.parametrize("losses", [0, 6, 30])
def test_plan_of_a_share(tmp_path: Path, losses: int) -> None:
    """Whatever the pilot's share: a share of 0.7 has a spread of √(0.7 · 0.3)."""
    lines: list[dict[str, Any]] = [{"image": n, "references": ["a b c"]} for n in range(60)]
    lines += [
        {
            "image": n,
            "pair": ["a b", "c"],
            "systems": ["x", "y"],
            "votes": [-1 if n < losses else 1],
        }
        for n in range(60)
    ]
    dataset = meta.read_dataset("judgments", made.write_lines(tmp_path / "p.jsonl", lines))
    (need, _) = meta.plan(dataset, ["rouge-l"], difference=0.2, images=1000).needs
    assert need.spread == pytest.approx(math.sqrt(0.21), rel=0.01)
    assert need.images == need.judgments == 52
    for wrong in (0.6, math.inf):
        with pytest.raises(SettingError, match=r"at most 0\.5 for shares of wins"):
            meta.plan(dataset, ["rouge-l"], difference=wrong)


def test_a_plan_counts_all_captions_of_an_image(tmp_path: Path) -> None:
    """Four captions of an image: four times the judgments, a quarter of the answers' scatter."""
    rng = np.random.default_rng(1)
    lines: list[dict[str, Any]] = [{"image": n, "references": ["a b c"]} for n in range(400)]
    for image in range(400):
        for caption in range(4):
            ratings = np.clip(5 + rng.normal(0, 1, 3), 0, 10).tolist()
            lines.append({"image": image, "caption": f"a {caption}", "ratings": ratings})
    dataset = meta.read_dataset("judgments", made.write_lines(tmp_path / "r.jsonl", lines))
    for answers, spread in ((1, 0.5), (3, 0.5 / math.sqrt(3))):
        plan = meta.plan(dataset, ["rouge-l"], difference=0.2, answers=answers)
        need = plan.needs[0]
        assert need.spread == pytest.approx(spread, rel=0.05)
        assert need.judgments == 4 * answers * need.images


def test_bad_plans(some_judged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dataset = meta.read_dataset("judgments", some_judged)
    for images in (0, -5):
        with pytest.raises(SettingError, match=f"images must be at least 1, not {images}"):
            meta.plan(dataset, ["rouge-l"], difference=0.2, images=images)
    arguments = ["meta", "plan", "judgments", str(some_judged), "--difference", "0.2"]
    assert main([*arguments, "--images", "0"]) == 2
    assert "--images" in capsys.readouterr().err


def test_infinite_ratings_are_refused(some_judged: Path) -> None:
    dataset = meta.read_dataset("judgments", some_judged)
    assert isinstance(dataset, meta.Ratings)
    ratings = dataset.ratings.copy()
    ratings[3] = math.inf
    with pytest.raises(InputError, match=r"a rating of the caption '.*' is not finite"):
        meta.plan(replace(dataset, ratings=ratings), ["rouge-l"], difference=0.2)


# What to judge next


def test_answered_lines_are_added_to_the_file(tmp_path: Path, example: Example) -> None:
    """What was chosen and answered is not chosen again, and nothing is counted twice."""
    lines = made.pair_lines(example.references)
    for line in lines:
        del line["votes"]
    kept = made.reference_lines({i: g[1:] for i, g in example.references.items()})
    path = made.write_lines(tmp_path / "p.jsonl", kept + lines)
    before: set[str] = set()
    for turn in range(1, 4):
        dataset = meta.read_dataset("judgments", path)
        following = meta.choose_next(dataset, "rouge-l", count=6)
        images = {line["image"] for line in following}
        assert len(images) == 6 and not images & before
        before |= images
        with path.open("a") as file:
            file.writelines(json.dumps(line | {"votes": [1]}) + "\n" for line in following)
        found = meta.estimate(meta.read_dataset("judgments", path), ["rouge-l"])
        assert (found.judged, found.items) == (6 * turn, 72)


def test_next_keeps_own_references(tmp_path: Path) -> None:
    lines = [
        {"image": "1", "references": ["a b c"]},
        {"image": "2", "references": ["a b"]},
        {"image": "1", "pair": ["a b", "c"], "kind": "x", "references": [["a b"], ["x"]]},
        {"image": "2", "pair": ["a", "c"], "kind": "y", "references": ["c"]},
        {"image": "2", "pair": ["a", "b"], "kind": "y"},
    ]
    dataset = meta.read_dataset("judgments", made.write_lines(tmp_path / "o.jsonl", lines))
    following = meta.choose_next(dataset, "rouge-l", count=3)
    assert sorted(map(str, following)) == sorted(map(str, lines[2:]))


def test_next_without_remaining_items(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_ratings(tmp_path / "all.jsonl", rate_level, 20, 20)
    arguments = ["meta", "next", "judgments", str(path), "-m", "rouge-l"]
    assert main(arguments) == 0
    told = capsys.readouterr()
    assert told.out == "" and "nothing left to judge" in told.err
    assert main([*arguments, "--horizon", "0"]) == 2
    assert "--horizon" in capsys.readouterr().err
    with pytest.raises(SettingError, match="horizon must be at least 1, not 0"):
        meta.choose_next(meta.read_dataset("judgments", path), "rouge-l", horizon=0)
