"""Words of any tokenizer are found in captions as they were written."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cidery
from cidery.text import locate_words
from support.captions import at_most


def spell(text: str, words: list[str]) -> list[str | None]:
    places = locate_words(text, words)
    return [None if place is None else text[place[0] : place[1]] for place in places]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A Dog's bone.", ["A", "Dog", "'s", "bone"]),
        ("They can't, cannot, gonna!", ["They", "ca", "n't", "can", "not", "gon", "na"]),
        ('"Hi" (there)', ["Hi", "(", "there", ")"]),
        ("[x] {y}", ["[", "x", "]", "{", "y", "}"]),
        ("“the dog’s”", ["the", "dog", "’s"]),
        ("soft\u00adhyphen dog", ["soft\u00adhyphen", "dog"]),
        ("½ cup for £3", ["½", "cup", "for", "£", "3"]),
        ("rock &amp; roll", ["rock", "&", "roll"]),
        ("İstanbul dog", ["İstanbul", "dog"]),
        ("ΟΔΟΣ dog", ["ΟΔΟΣ", "dog"]),
        ("call 555 123-4567 now", ["call", "555 123-4567", "now"]),
        ("a a a dog a", ["a", "a", "a", "dog", "a"]),
        ("...", []),
    ],
)
def test_ptb(text: str, expected: list[str]) -> None:
    [words] = cidery.tokenize([text])
    assert spell(text, words) == expected


def test_other_tokenizers() -> None:
    text = "Zwei Hunde, cafe\u0301 犬が走る"
    [words] = cidery.tokenize([text], "words")
    assert spell(text, words) == ["Zwei", "Hunde", "cafe\u0301", "犬", "が", "走", "る"]
    assert spell("The Dog RUNS", ["The", "Dog", "RUNS"]) == ["The", "Dog", "RUNS"]
    # What is dropped, what is rewritten, and what was never there
    assert spell("the big dog runs", ["dog", "run"]) == ["dog", "run"]
    assert spell("the hounds ran off", ["dog", "run", "off"]) == ["the", "hounds ran", "off"]
    assert spell("a dog", ["a", "dog", "<end>"]) == ["a", "dog", None]
    assert spell("", ["<end>"]) == [None]
    assert spell("dog", ["", "dog"])[1] == "dog"


pieces = st.sampled_from(
    [
        *(
            "a",
            "Dog",
            "dog's",
            "can't",
            "x-ray",
            "U.S.",
            "e.g.",
            "5",
            "1/2",
            "don't",
            "ROCK'n'roll",
        ),
        *('"', "'", "(", ")", "[", ",", ".", "...", "--", "&", "&lt;", "$5", "€", "½", "“", "’s"),
        *(
            "é",
            "e\u0301",
            "İ",
            "Σ",
            "ß",
            "犬",
            "🐕",
            "👩‍👩‍👧",
            "\u200b",
            "\u00ad",
            "\u00a0",
            "ﬁ",
            "<b>",
            "http://a.b/c",
        ),
    ]
)
texts = st.one_of(
    st.text(max_size=40),
    st.lists(st.tuples(pieces, st.sampled_from(["", " ", "  ", "\t"])), max_size=12).map(
        lambda found: "".join(piece + gap for piece, gap in found)
    ),
)


@at_most(300)
@given(texts, st.sampled_from(["ptb", "ptb-coco", "whitespace", "words"]))
def test_places_are_inside_ordered_and_those_of_the_words(text: str, tokenizer: str) -> None:
    try:
        [words] = cidery.tokenize([text], tokenizer)
    except cidery.CideryError:  # half of a surrogate pair
        return
    places = locate_words(text, words)
    assert len(places) == len(words)
    known = [place for place in places if place is not None]
    assert all(0 <= start < end <= len(text) for start, end in known)
    assert all(one == other or one[1] <= other[0] for one, other in pairwise(known))
    if text.isascii() and tokenizer != "whitespace":
        for word, place in zip(words, places, strict=True):
            if word.isalnum():  # nothing rewrites a word of letters
                assert place is not None
                assert text[place[0] : place[1]].lower() == word or "&" in text or "$" in text


def test_a_long_caption_takes_no_longer_per_word() -> None:
    text = "İ " + "(a dog) " * 5_000  # every bracket is rewritten
    [words] = cidery.tokenize([text])
    places = locate_words(text, words)
    assert None not in places
    assert len(set(places)) == len(words) == 20_001
