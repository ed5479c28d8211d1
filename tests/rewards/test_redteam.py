"""The red team finds nonsense captions with a high reward."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cidery
from cidery.cli import main
from cidery.cli.redteam import read_mix
from cidery.errors import InputError, SettingError
from cidery.rewards.redteam import Nonsense, RedTeam, red_team
from cidery.rewards.redteam.search import (
    Best,
    BlindPolicy,
    HillClimb,
    change,
    list_common,
    list_pieces,
)
from cidery.runtime import use_progress
from support.example import BUNDLED, Example

QUICK: dict[str, Any] = {"images": 6, "rounds": 12, "tries": 8, "steps": 12}


@pytest.fixture(scope="module")
def found(example: Example) -> RedTeam:
    return red_team(example.references, ["cider-d", "rouge-l"], **QUICK)


@pytest.fixture(scope="module")
def nonsense() -> Nonsense:
    groups = [
        ["a man walks a dog", "a man with a dog"],
        ["the cat sleeps", "a cat on a bed bed"],
        ["people looking on"],
    ]
    return Nonsense([[text.split() for text in group] for group in groups])


@pytest.mark.parametrize(
    ("kind", "image", "caption", "is_nonsense"),
    [
        ("broken", 0, "a man walks a dog in front of a", True),
        ("broken", 0, "a man walks a dog", False),
        ("broken", 0, "two men with people looking on", False),  # the ending of a reference
        ("repeated", 0, "a man man walks walks", True),
        ("repeated", 0, "a man walks a dog", False),
        ("repeated", 1, "a cat on a bed bed", False),  # as in a reference
        ("scrambled", 0, "dog walks man a", True),
        ("scrambled", 0, "a man with a dog", False),
        ("scrambled", 0, "dog", False),
    ],
)
def test_nonsense_rules(
    nonsense: Nonsense, kind: Any, image: int, caption: str, is_nonsense: bool
) -> None:
    assert (nonsense.distance(kind, image, caption.split()) == 0) == is_nonsense
    assert nonsense.distance(None, image, caption.split()) == 0


def test_bigrams_of_the_frequencies_count_as_seen() -> None:
    references = [[["a", "man"]]]
    counted = cidery.DocumentFrequencies.from_references({"a": ["dog runs"]})
    assert Nonsense(references).share_unseen(["dog", "runs"]) == 1
    assert Nonsense(references, counted).share_unseen(["dog", "runs"]) == 0


def test_broken_endings_support_english_only() -> None:
    german = [[["ein", "hund", "rennt"], ["der", "hund"]]]
    assert Nonsense(german).kinds == ("repeated", "scrambled")
    references = {i: ["ein hund rennt schnell", "der hund rennt", "hund im gras"] for i in range(3)}
    with pytest.warns(cidery.errors.UnreliableWarning):
        found = red_team(references, "cider-d", language="de", **QUICK)
    assert [attack.name for attack in found.attacks] == ["free", "repeated", "scrambled", "blind"]


def test_hill_climbing_finds_the_best_caption() -> None:
    wanted = ("a", "red", "bus")

    def score(images: Any, captions: Any) -> np.ndarray:
        matches = [sum(a == b for a, b in zip(c, wanted, strict=False)) for c in captions]
        return np.array(matches) - np.array([abs(len(c) - 3) for c in captions])

    references = [[("bus", "a"), ("red",)]]
    climb = HillClimb.start(
        score, lambda *_: 0.0, references, common=["a"], tries=16, max_words=9, seed=0
    )
    first = climb.best[0].score
    for _ in climb.run(40):
        pass
    assert climb.best[0] == Best(wanted, 3.0, 0.0)
    assert climb.best[0].score > first


def test_distance_precedes_the_reward() -> None:
    near, far = Best(("a",), 1.0, 0.0), Best(("b",), 9.0, 0.5)
    assert far.loses_to(near)
    assert not near.loses_to(far)
    assert near.loses_to(Best(("c",), 1.0, 0.0))  # ties are replaced


def test_changes_use_only_the_pieces() -> None:
    from random import Random

    rng = Random(0)
    pieces = list_pieces([("a", "b"), ("b", "c")])
    assert pieces == [("a",), ("b",), ("a", "b"), ("c",), ("b", "c")]
    words: tuple[str, ...] = ("a", "b", "c")
    for _ in range(500):
        words = change(words, rng.choice(pieces), rng)[:8]
        assert set(words) <= {"a", "b", "c"}
    assert list_common([[("b", "a")], [("a",)], [("c", "b", "b")]], 2) == ["a", "b"]


def test_the_blind_policy_learns_its_reward() -> None:
    def score(images: Any, captions: Any) -> np.ndarray:
        return np.array([2.0 * (c[:1] == ("b",)) - 0.1 * len(c) for c in captions])

    policy = BlindPolicy(score, 4, ["a", "b", "c"], max_words=5, seed=0)
    for _ in policy.run(60):
        pass
    assert policy.find_best() == ("b",)


def test_captions_follow_the_rule_of_their_attack(found: RedTeam, example: Example) -> None:
    assert [a.name for a in found.attacks] == 2 * [
        "free",
        "broken",
        "repeated",
        "scrambled",
        "blind",
    ]
    words = cidery.tokenize([text for group in example.references.values() for text in group])
    for attack in found.attacks:
        faults = attack.faults
        assert attack.scored > 0
        if attack.name == "broken":
            assert faults["broken"].all()
        if attack.name == "repeated":
            assert (faults["repeated"] >= 1 / 3).all()
        if attack.name == "scrambled":
            assert (faults["unseen"] >= 1 / 2).all()
        if attack.name in ("broken", "repeated", "scrambled"):
            assert faults["nonsense"].all()
            assert 0 < attack.hackability.low <= attack.hackability.score <= 1.05
        assert {w for c in attack.captions for w in c.split()} <= {w for row in words for w in row}
    free = found.attacks[0]
    assert free.hackability.score == 1
    assert free.wins == 1


def test_scores_equal_the_reward(found: RedTeam, example: Example) -> None:
    seen = {
        image: [c for c in group if image not in found.images or c != human.get(image)]
        for human in [dict(zip(found.images, found.human, strict=True))]
        for image, group in example.references.items()
    }
    reward = cidery.Reward(seen, "cider-d", frequencies="coco-train2014")
    attack = found.attacks[1]
    rows = [caption.split() for caption in attack.captions]
    assert reward(found.images, rows).tolist() == attack.scores.tolist()
    assert reward(found.images, list(found.human)).tolist() == attack.human.tolist()


def test_results_depend_on_the_seed_alone(example: Example) -> None:
    def captions(seed: int, threads: int) -> Any:
        attacks = red_team(
            example.references, attacks=["blind"], seed=seed, threads=threads, **QUICK
        ).attacks
        return [attack.captions for attack in attacks]

    assert captions(1, 1) == captions(1, 2) != captions(2, 1)


def test_functions_and_mixes(example: Example) -> None:
    def length(candidate: str, references: list[str]) -> float:
        return float(len(candidate.split()))

    rewards = {"long": length, "mix": {"bleu-4": 1.0, length: 0.1}}
    settings = {**QUICK, "images": 2, "rounds": 8}
    found = red_team(
        example.references, rewards, attacks=["repeated"], held_out="rouge-l", **settings
    )
    assert [a.reward for a in found.attacks] == ["long", "long", "mix", "mix"]
    assert found.attacks[0].scores.mean() > found.attacks[0].human.mean()
    assert found.attacks[0].held_out == "rouge-l"
    with pytest.raises(SettingError, match="rewards contains the same reward twice"):
        red_team(example.references, ["cider-d", "cider-d"], **QUICK)


def test_progress_rises_and_names_the_searches(example: Example) -> None:
    seen: list[tuple[str, float]] = []
    with use_progress(lambda *state: seen.append(state)):
        found = red_team(example.references, ["cider-d", "bleu-4"], **QUICK)
    shares = [share for _, share in seen]
    assert shares == sorted(shares) and 0.9 < shares[-1] <= 1
    names = list(dict.fromkeys(name for name, _ in seen if name.startswith("searching")))
    assert names == [f"searching {a.name} captions for {a.reward}" for a in found.attacks]


def test_ctrl_c_returns_the_result_so_far(example: Example) -> None:
    calls = 0

    def reward(candidate: str, references: list[str]) -> float:
        nonlocal calls
        calls += 1
        if calls == 300:
            raise KeyboardInterrupt
        return float(len(set(candidate.split())))

    found = red_team(example.references, {"words": reward}, **QUICK | {"rounds": 1000})
    assert found.interrupted
    assert [attack.name for attack in found.attacks] == ["free"]
    assert found.attacks[0].scores.mean() >= found.attacks[0].human.mean()
    assert "interrupted: the last attack is incomplete" in str(found)
    assert json.loads(found.to_json())["interrupted"]


def test_formats(found: RedTeam, tmp_path: Path) -> None:
    content = json.loads(found.to_json())
    assert len(content["attacks"]) == 10
    assert len(content["attacks"][0]["captions"]) == 6
    assert found.to_markdown().startswith("| reward | attack | score | human | hackability |")
    assert r"\begin{tabular}" in found.to_latex()
    assert list(found.to_records()[0])[:3] == ["reward", "attack", "score"]
    page = tmp_path / "page.html"
    found.write_page(page)
    text = page.read_text(encoding="utf-8")
    assert "<h2>cider-d: broken</h2>" in text
    assert "hackability:" in text


def test_plot_shows_all_attacks(found: RedTeam) -> None:
    pytest.importorskip("matplotlib")
    from cidery.plots import plot_hackability

    figure = plot_hackability(found.to_records())
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        *("broken", "repeated", "scrambled", "blind")
    ]
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == [
        "cider-d",
        "rouge-l",
    ]
    with pytest.raises(InputError, match="nothing to draw"):
        plot_hackability([record for record in found.to_records() if record["attack"] == "free"])


@pytest.mark.parametrize(
    ("references", "settings", "error", "message"),
    [
        ({"a": ["a dog"]}, {}, InputError, "at least one image must have two references"),
        ({"a": ["!", "a dog"], "b": ["?", "."]}, {}, InputError, "all references are empty"),
        (
            {"a": ["a dog", "x"]},
            {"attacks": ["wild"]},
            SettingError,
            "attacks must be some of free.*not 'wild'",
        ),
        (
            {"a": ["a dog", "x"]},
            {"attacks": []},
            SettingError,
            "attacks must be some of free.*not none",
        ),
        ({"a": ["a dog", "x"]}, {"rounds": 0}, SettingError, "rounds must be at least 1, not 0"),
        (
            {"a": ["a dog", "x"]},
            {"rewards": []},
            SettingError,
            "rewards must contain at least one reward",
        ),
    ],
)
def test_bad_input(references: Any, settings: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        red_team(references, **settings)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cider-d", "cider-d"),
        ("cider-d + 0.5*bleu-4", {"cider-d": 1.0, "bleu-4": 0.5}),
        ("2 * cider-d - 0.1*chair-s", {"cider-d": 2.0, "chair-s": -0.1}),
        ("bleu-4:smoothing=add-one + rouge-l", {"bleu-4:smoothing=add-one": 1.0, "rouge-l": 1.0}),
    ],
)
def test_mixes(text: str, expected: Any) -> None:
    assert read_mix(text) == expected


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    references = str(BUNDLED / "references.json")
    quick = ["--images", "3", "--rounds", "3", "--steps", "3", "--attack", "broken"]
    page = tmp_path / "page.html"
    mix = "bleu-1 + 0.5*rouge-l"
    assert main(["redteam", references, "-r", mix, "--page", str(page), *quick]) == 0
    output = capsys.readouterr().out
    assert "bleu-1 + 0.5*rouge-l  broken" in output
    assert "hackability: the mean reward" in output
    assert page.exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-r", "cider-d + + bleu-4"], "'+ bleu-4' in 'cider-d + + bleu-4' is not a metric"),
        (["-r", "1.1.1*bleu-1"], "is not a metric; a mix is written as"),
        (["-r", "bleu-1 + bleu-1"], "names bleu-1 twice"),
        (["-r", "no-such"], "no-such"),
        (["--page", "no/p.html"], "there is no folder no"),
        (["--plot", "p.txt"], "unsupported figure format"),
        (["--attack", "wild"], "attacks must be some of free"),
    ],
)
def test_command_refuses(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["redteam", str(BUNDLED / "references.json"), *options]) == 2
    assert message in capsys.readouterr().err
