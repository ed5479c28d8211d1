"""Captions in a column of Arrow are cut as captions in a list are."""

from __future__ import annotations

import pytest

from cidery.text import TextColumn, get_tokenizer

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'cidery[stream]'")

CAPTIONS = [
    "A man, riding a bench.",
    "",
    "Cafe\u0301 and café",
    "犬が走る",
    " two  blanks\u00a0here ",
    "it's 5 1/2 o'clock",
    "😀 a dog " * 40,
]


@pytest.mark.parametrize("tokenizer", ["ptb", "whitespace", "words", "char"])
@pytest.mark.parametrize("chosen", [slice(None), slice(2, 5), slice(5, 6), slice(0, 0)])
def test_cut_as_a_list_is(tokenizer: str, chosen: slice) -> None:
    column = TextColumn(pa.array(CAPTIONS, pa.string())[chosen])
    cut = get_tokenizer(tokenizer)
    expected, found = cut(CAPTIONS[chosen]), cut.tokenize_column(column)
    assert found.captions.tokens() == expected.captions.tokens()
    assert found.captions.vocabulary() == expected.captions.vocabulary()
    assert found.texts == CAPTIONS[chosen]


def test_a_sequence_of_captions() -> None:
    column = TextColumn(pa.array(CAPTIONS, pa.string())[1:])
    assert len(column) == len(CAPTIONS) - 1
    assert list(column) == CAPTIONS[1:]
    assert (column[1], column[1:3]) == (CAPTIONS[2], CAPTIONS[2:4])
    assert not column.is_normal
    assert TextColumn(pa.array(CAPTIONS[3:], pa.string())).is_normal


def test_nothing_at_all() -> None:
    column = TextColumn(pa.array([], pa.string()))
    assert list(column) == []
    assert len(get_tokenizer("ptb").tokenize_column(column)) == 0
