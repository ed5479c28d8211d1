"""The sentences above the table say what the tests found, and no more."""

from __future__ import annotations

import numpy as np
import pytest

import cidery
from cidery.corpus import ALL
from cidery.reports.summary import explain_scores
from cidery.scoring.comparison import Comparison
from cidery.scoring.pair_tests import Sampling
from support.example import Example


def explain(systems: dict[str, dict[int, str]], example: Example, *metrics: str) -> list[str]:
    compared = cidery.compare(
        systems, example.references, list(metrics), frequencies="coco-val2014"
    )
    return explain_scores(compared, metrics[0])


def test_the_best_is_named_whatever_the_order(example: Example) -> None:
    systems = {"b": example.system_b, "a": example.system_a}
    first, second, third = explain(systems, example, "cider-d", "rouge-l")
    assert first.startswith("By cider-d, a scores highest, ") and ", then b, " in first
    assert "is unlikely to be chance (p < 0.001); a is better on" in second
    a, b = (
        cidery.score(captions, example.references, "cider-d", frequencies="coco-val2014")
        for captions in (example.system_a, example.system_b)
    )
    differences = np.sign(a.each["cider-d"] - b.each["cider-d"])
    assert second.endswith(f"; a is better on {50 + 50 * differences.mean():.0f} % of the images.")
    low, high = map(float, second.partition("interval ")[2].partition(")")[0].split(" to "))
    assert 0 < low < high
    assert third == "All 2 metrics put a first."


def test_no_difference_is_not_equality(example: Example) -> None:
    swapped = dict(example.system_a)
    for image in list(swapped)[:2]:
        swapped[image] = example.system_b[image]
    found = explain({"a": example.system_a, "mixed": swapped}, example, "rouge-l")
    assert "No difference between a and mixed was found (p = " in found[1]
    assert found[1].endswith("that does not mean that there is none.")


def test_equal_systems_and_metrics_that_disagree(example: Example) -> None:
    found = explain({"a": example.system_a, "twin": dict(example.system_a)}, example, "rouge-l")
    assert found[0].startswith("By rouge-l, a and twin have the same score, ")
    longer = {image: f"{caption} xyzzy" for image, caption in example.system_a.items()}
    compared = cidery.compare(
        {"a": example.system_a, "longer": longer},
        example.references,
        {"rouge-l": "rouge-l", "words": lambda candidate, _references: len(candidate.split())},
    )
    found = explain_scores(compared, "rouge-l")
    assert found[-1] == "Not all metrics put a first: by words, longer is."


def test_one_system(example: Example) -> None:
    table = cidery.score(example.system_a, example.references, "rouge-l")
    alone = Comparison({"a": table}, {}, Sampling(), {ALL: {"a": table.intervals()}})
    found = explain_scores(alone, "rouge-l")
    assert found[0].startswith("a scores 0.5296 (95 % interval 0.") and "72 images" in found[0]
    with pytest.raises(KeyError):
        explain_scores(alone, "meteor")


def test_nobody_is_first_among_equals(example: Example) -> None:
    found = explain(dict.fromkeys("ab", example.system_a), example, "cider-d", "rouge-l")
    assert "same score" in found[0]
    assert not any("first" in sentence for sentence in found)


def test_several_systems_in_few_sentences(example: Example) -> None:
    shares = {"best": 0, "near": 2, "far": 40, "last": 72}
    images = list(example.references)
    systems = {
        name: {
            image: (example.system_b if place < count else example.system_a)[image]
            for place, image in enumerate(images)
        }
        for name, count in shares.items()
    }
    found = explain({**systems, "twin": systems["best"]}, example, "rouge-l")
    assert found[2] == "best is significantly better than far and last (p < 0.001)."
    assert found[3].startswith("No difference between best and near was found; that does not mean")
