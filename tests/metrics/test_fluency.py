"""Checks of fluency: repetition, broken ends, unlikely n-grams, information."""

from __future__ import annotations

import pytest

from cidery.metrics.contextual.information import (
    find_rarity,
    measure_information,
    measure_shortness,
)
from cidery.metrics.fluency import (
    Faults,
    ReferenceWording,
    find_repeated,
    find_repeated_phrases,
    is_broken,
    is_unlikely,
    measure_repetition,
)

WORDING = ReferenceWording.build([["a", "dog", "and", "a", "cat"], ["the", "dog", "is", "in"]])


@pytest.mark.parametrize(
    ("caption", "broken", "repeated"),
    [
        ("a dog barks and", True, 0),
        ("an engine idles followed by", True, 0),
        ("a car passes by", False, 0),
        ("an engine turns on", False, 0),
        ("a dog and another", True, 0),
        ("men shout at one another", False, 0),
        ("a dog barks and a dog howls", False, 0.25),
        ("water drips water drips water drips", False, 1 - 2 / 6),
        ("", False, 0),
    ],
)
def test_faults_of_fense(caption: str, broken: bool, repeated: float) -> None:
    assert is_broken(caption.split()) == broken
    assert measure_repetition(caption.split()) == repeated


def test_repetition_beyond_the_references() -> None:
    assert find_repeated(["a", "dog", "a"]) == (2,)
    assert WORDING.find_faults(["a", "dog", "a", "cat"]).repeated == ()
    faults = WORDING.find_faults(["a", "dog", "a", "dog", "a"])
    assert faults.repeated == (3, 4)
    assert faults.repetition == pytest.approx(2 / 5)


@pytest.mark.parametrize(
    ("texts", "positions"),
    [
        (["a man and a man and a dog"], (3, 4, 5, 6)),
        (["a dog dog runs"], (2,)),
        (["the end of the road and the end of the day"], ()),
        (["a dog runs home and a dog runs home"], (5, 6, 7, 8)),
        ([""], ()),
        (["two men ride on red horses"] * 2, (6, 7, 8, 9, 10, 11)),
        (["two men ride on red horses", "two men SKIPPED ride on red horses"],
         (6, 7, 9, 10, 11, 12)),
        (["a dog on top of a car", "a cat on top of a tree"], ()),
    ],
)  # fmt: skip
def test_repeated_phrases(texts: list[str], positions: tuple[int, ...]) -> None:
    sentences = [tuple(text.split()) for text in texts]
    assert find_repeated_phrases(sentences, skip) == positions


def skip(word: str) -> str | None:
    return None if word == "SKIPPED" else word


def test_dangling_ends() -> None:
    assert WORDING.find_dangling(["a", "dog", "on", "the"]) == 3
    assert WORDING.find_dangling(["a", "dog"]) is None
    assert WORDING.find_dangling(["a", "cat", "in"]) is None  # as a reference ends
    assert WORDING.find_dangling([]) is None


def test_unlikely_ngrams() -> None:
    assert is_unlikely("the", "on")
    assert not is_unlikely("on", "the")
    assert not is_unlikely("qwx", "the")  # too rare
    assert is_unlikely("riding", "a", "man")
    assert not is_unlikely("riding", "a", "horse")
    assert WORDING.find_unlikely(["the", "on", "dog"]) == (0, 1)
    assert ReferenceWording.build([["the", "on"]]).find_unlikely(["the", "on"]) == ()


def test_shares_of_faults() -> None:
    assert Faults((3, 4), None, (1,), 10).repetition == 0.2
    assert Faults((3, 4), None, (1,), 10).oddity == 0.1
    assert Faults((), None, (), 0).repetition == Faults((), None, (), 0).oddity == 0


def test_information_counts_each_word_once() -> None:
    dog = find_rarity("dog")
    assert 0 < find_rarity("a") < find_rarity("in") < dog < find_rarity("qwx") == 1
    assert measure_information(["dog", "dog", "!"], 1) == dog
    assert measure_information(["ein", "Hund", "rennt", "."], 0) == 3
    assert measure_shortness(["dog", "dog", "!"], 2 * dog, 1) == pytest.approx(0.5)
    assert measure_shortness([], 2.0, 1) == 1
    assert measure_shortness(["okapi", "zebu"], 1.0, 1) == -0.25  # rewarded up to a limit
    assert measure_shortness(["dog"], 0.0, 1) == 0
