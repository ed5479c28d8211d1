"""Fewer judgments: estimates, plans and what to judge next, on judgments that the tests make."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from cidery import meta
from cidery.cli import main
from cidery.errors import InputError, SettingError
from support import judged as made
from support.example import Example

pytest.importorskip("scipy", reason="intervals need SciPy")

SYSTEMS = ["good", "cut", "wrong"]


@pytest.fixture
def some_judged(tmp_path: Path, example: Example) -> Path:
    return made.write_questions(tmp_path / "q.jsonl", example.references, judged=20)


def test_means_and_differences(some_judged: Path) -> None:
    dataset = meta.read_dataset("judgments", some_judged)
    found = meta.estimate(dataset, ["rouge-l"])
    assert (found.judged, found.items) == (60, 216)
    people = found.results["people"]
    assert list(people) == [*SYSTEMS, "good - cut", "good - wrong", "cut - wrong"]
    good, wrong, difference = people["good"], people["wrong"], people["good - wrong"]
    assert good is not None and wrong is not None and difference is not None
    assert good.value == pytest.approx(np.mean([4 + (place + 4) % 3 / 2 for place in range(20)]))
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
    by_hand = [(1 + 4 + (place + 4) % 3 / 2) / 2 for place in range(20)]
    assert good.value == pytest.approx(np.mean(by_hand))
    with pytest.raises(SettingError, match="no ratings of 'style'; its questions: total, recall"):
        meta.estimate(dataset, question="style")
    with pytest.raises(SettingError, match="has no system 'ours'; it has: cut, good, wrong"):
        meta.estimate(dataset, system="ours")


def test_evaluate_leaves_out_what_was_not_judged(some_judged: Path) -> None:
    dataset = meta.read_dataset("judgments", some_judged)
    with pytest.warns(match="156 of 216 captions were not judged and are left out"):
        found = meta.evaluate(dataset, "rouge-l", resamples=0).results["rouge-l"]
    assert (found["captions"], found["ratings"]) == (60, 60)


def test_wins(tmp_path: Path, example: Example) -> None:
    lines = made.pair_lines(example.references)
    for line in lines[20:]:
        del line["votes"]
    lines[0]["votes"] = [1, -1]  # a tie is half a win
    kept = made.reference_lines({i: g[1:] for i, g in example.references.items()})
    dataset = meta.read_dataset("judgments", made.write_lines(tmp_path / "p.jsonl", kept + lines))
    found = meta.estimate(dataset, ["rouge-l"])
    share = found.results["people"]["own over other"]
    assert share is not None
    assert share.value == pytest.approx(19.5 / 20)
    assert share.low < 0.95 and share.high == 1.0
    assert (found.judged, found.items) == (20, 72)
    with pytest.warns(match="52 of 72 pairs were not judged"):
        assert meta.evaluate(dataset, "rouge-l").results["rouge-l"]["pairs"] == 19
    assert meta.choose_next(dataset, "rouge-l") == []  # it is decided
    following = meta.choose_next(dataset, "rouge-l", count=4, confidence=1 - 1e-12)
    assert len(following) == 4
    assert {*following[0]} == {"image", "pair", "systems"}


def test_too_few_to_say(tmp_path: Path, example: Example) -> None:
    path = made.write_questions(tmp_path / "q.jsonl", example.references, judged=4)
    dataset = meta.read_dataset("judgments", path)
    found = meta.estimate(dataset, ["rouge-l"])
    assert set(found.results["people"].values()) == {None}
    assert found.undecided() == ["good - cut", "good - wrong", "cut - wrong"]
    assert "too few judged" in str(found)
    with pytest.raises(InputError, match="judged on at least 5 images"):
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
    for _ in range(8):
        dataset = meta.read_dataset("judgments", made.write_lines(path, lines))
        following = meta.choose_next(dataset, "rouge-l", count=12, seed=5)
        new = [(str(item["image"]), item["system"]) for item in following]
        assert not {*new} & {*chosen}
        chosen += new
        for line in lines:
            if (str(line["image"]), line["system"]) in new:
                line["ratings"] = [quality[line["system"]] + rng.normal(0, 0.5)]
    systems = [system for _, system in new]
    assert systems.count("wrong") == 0  # soon decided
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
    with pytest.raises(SettingError, match="does not say how far answers to the same caption"):
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


def test_next_on_the_command_line(some_judged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["meta", "next", "judgments", str(some_judged), "-m", "rouge-l", "--count", "2"]
    assert main([*arguments, "--confidence", "0.9999999999999"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
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
