"""compare(why=True): what makes the difference between two systems."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import cidery
from cidery.errors import SettingError
from support.example import Example

pytestmark = pytest.mark.filterwarnings("ignore::cidery.errors.UnreliableWarning")


def count(candidate: str, references: list[str]) -> float:
    return float(len(candidate) + len(references))


def test_n_grams_make_the_difference(example: Example) -> None:
    systems = {"a": example.system_a, "b": example.system_b}
    comparison = cidery.compare(
        systems, example.references, ["bleu-1", "cider-d"], why=True, frequencies="coco-val2014"
    )
    assert comparison.why is not None and list(comparison.why) == ["cider-d"]
    found = comparison.why["cider-d"]["a", "b"]
    assert found.kind == "n-gram"
    reward = cidery.Reward(example.references, frequencies="coco-val2014")
    sums: dict[str, float] = {}
    for system, sign in ((example.system_a, 1), (example.system_b, -1)):
        for credit in reward.credit(list(system), list(system.values())):
            for ngram in credit.ngrams:
                words = " ".join(ngram.words)
                sums[words] = sums.get(words, 0.0) + sign * ngram.value / len(system)
    # All n-grams together are the whole difference.
    assert math.fsum(sums.values()) == pytest.approx(
        comparison.tests["cider-d"]["a", "b"].difference
    )
    largest = sorted(map(abs, sums.values()), reverse=True)[:10]
    assert [abs(piece.difference) for piece in found.pieces] == pytest.approx(largest)
    for piece in found.pieces:
        assert piece.difference == pytest.approx(sums[piece.piece])
        assert piece.low <= piece.difference <= piece.high
        have = [
            sum(f" {piece.piece} " in f" {' '.join(cut)} " for cut in cidery.tokenize(said))
            for said in (example.system_a.values(), example.system_b.values())
        ]
        assert [piece.uses, piece.other_uses] == have


def test_images_make_the_difference(example: Example) -> None:
    systems = {"a": example.system_a, "b": example.system_b}
    comparison = cidery.compare(systems, example.references, ["rouge-l"], why=True)
    [found] = comparison.differences
    assert found.kind == "word"
    each = [comparison.tables[name].each["rouge-l"] for name in systems]
    order = np.argsort(-np.abs(each[0] - each[1]), kind="stable")[:5]
    ids = list(example.references)
    assert [image.image for image in found.images] == [ids[place] for place in order]
    assert found.images[0].captions == (example.system_a[found.images[0].image],)
    assert found.images[0].difference == each[0][order[0]] - each[1][order[0]]


@pytest.mark.usefixtures("parser")
def test_tuples_make_the_difference() -> None:
    references = {i: ["a brown dog on the grass", "a dog"] for i in range(4)}
    systems = {"a": dict.fromkeys(range(4), "a brown dog"), "b": dict.fromkeys(range(4), "a cat")}
    comparison = cidery.compare(systems, references, ["spice"], why=True)
    [found] = comparison.differences
    assert found.kind == "tuple"
    pieces = {piece.piece: piece for piece in found.pieces}
    assert pieces["(dog)"].difference > 0 and pieces["(dog)"].uses == 4
    total = math.fsum(piece.difference for piece in found.pieces)
    assert total == pytest.approx(comparison.tests["spice"]["a", "b"].difference)


def test_three_systems_several_captions_and_slices(example: Example) -> None:
    some = dict(list(example.system_a.items())[:20])
    references = {image: example.references[image] for image in some}
    systems = {
        "a": some,
        "twice": {image: [caption, "a dog"] for image, caption in some.items()},
        "c": dict.fromkeys(some, "a cat"),
    }
    comparison = cidery.compare(systems, references, ["cider-d"], why=True, by="length")
    assert len(comparison.differences) == 3
    dogs = comparison.why["cider-d"]["twice", "c"] if comparison.why else None
    assert dogs is not None and max(len(image.captions) for image in dogs.images) == 2
    assert json.dumps(comparison.to_dict()["why"])
    parts = [part for part in comparison.to_markdown().split("\n\n") if part.startswith("|")]
    assert len(parts) == 7 and parts[1].startswith("| n-gram | diff | 95 % interval | a | twice |")
    assert comparison.to_latex().count(r"\begin{tabular}") == 7


def test_metrics_that_cannot_say_why() -> None:
    with pytest.raises(SettingError, match=r"^none of ours explains its scores"):
        cidery.compare({"a": ["x"], "b": ["y"]}, [["z"]], {"ours": count}, why=True)
    same = cidery.compare({"a": ["a dog"], "b": ["a dog"]}, [["a dog"]], ["rouge-l"], why=True)
    [found] = same.differences
    assert found.images == () and all(piece.difference == 0 for piece in found.pieces)
