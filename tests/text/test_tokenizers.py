from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cidery
from cidery import _native
from cidery.errors import InputError, SettingError
from cidery.text import TOKENIZERS, get_tokenizer, split_words


def test_the_contract() -> None:
    assert cidery.tokenize(["A dog's bone."]) == [["a", "dog", "'s", "bone"]]
    assert cidery.tokenize(["Dogs running."], stemmer="english") == [["dog", "run"]]
    assert cidery.tokenize([]) == []


@given(st.text())
def test_whitespace_is_str_split(text: Any) -> None:
    assert cidery.tokenize([text], tokenizer="whitespace") == [text.split()]


@given(st.lists(st.text(), max_size=4))
def test_one_list_of_words_per_caption(texts: Any) -> None:
    for tokenizer in TOKENIZERS:
        tokens = cidery.tokenize(texts, tokenizer=tokenizer)
        assert len(tokens) == len(texts)
        assert all(word for words in tokens for word in words)


@given(st.lists(st.text(), min_size=2, max_size=4))
def test_ptb_sees_one_caption_at_a_time(texts: Any) -> None:
    assert cidery.tokenize(texts) == [cidery.tokenize([text])[0] for text in texts]


def test_ptb_coco_looks_into_the_next_caption() -> None:
    captions = ["he likes plan b.", "The dog"]
    assert cidery.tokenize(captions, tokenizer="ptb-coco")[0] == ["he", "likes", "plan", "b"]
    assert cidery.tokenize(captions, tokenizer="ptb")[0] == ["he", "likes", "plan", "b."]


def test_words_of_any_language() -> None:
    assert split_words("Zwei Hunde, 犬が走る!") == ["zwei", "hunde", "犬", "が", "走", "る"]
    assert split_words("कुत्ता दौड़ता है") == ["कुत्ता", "दौड़ता", "है"]  # vowel signs are marks
    assert split_words("Собака бежит.") == ["собака", "бежит"]
    assert split_words("か\u3099くｶ") == ["が", "く", "ｶ"]


def test_a_callable() -> None:
    assert cidery.tokenize(["a-b"], tokenizer=lambda text: text.split("-")) == [["a", "b"]]
    assert get_tokenizer(split_words).id == "callable:cidery.text.tokenizers.split_words"


def test_bad_input() -> None:
    with pytest.raises(InputError, match="caption 1 is int, not a string"):
        cidery.tokenize(["a", 5])
    with pytest.raises(InputError, match="half of a surrogate pair"):
        cidery.tokenize(["a dog\udcff"])
    with pytest.raises(InputError, match="found one string"):
        cidery.tokenize("a dog")
    with pytest.raises(InputError, match="must return strings"):
        cidery.tokenize(["a"], tokenizer=lambda text: [len(text)])
    with pytest.raises(SettingError, match="a name or a callable, not int"):
        cidery.tokenize(["a"], tokenizer=5)


def test_plain_captions_are_cut_as_all_others_are() -> None:
    """The short way for captions of plain words gives what the table of rules does."""
    rng = np.random.default_rng(0)
    pieces = ["a", "Dog", "cannot", "GONNA", "mr", "vs", "st", "runs", "x" * 63, "y" * 64, ",", "."]
    pieces += [" ", "  ", " . . .", ". ", ", ", "inc.", "b" * 17, "c" * 9, "é", "3", "'s", "\t"]
    texts = ["", " ", ".", "a" * 256, "a " * 128, "a " * 129, "a, b." * 60]
    texts += [" ".join(rng.choice(pieces, size)) for size in rng.integers(1, 40, 400)]
    texts += ["".join(rng.choice(pieces, size)) for size in rng.integers(1, 40, 400)]
    assert _native.tokenize(texts, "ptb", 1).tokens() == _native.ptb_tokens(texts)
