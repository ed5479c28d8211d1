"""Captions and references of different kinds."""

from __future__ import annotations

import pytest

import cidery
from cidery.corpus import find_length_mismatch, measure_length_gap
from cidery.errors import UnreliableWarning

LONG = "a dog runs over the lawn and a man looks on . " * 4
REFERENCES = {"a": ["a dog runs", "the dog is running fast"], "b": ["two cats"]}


def test_gap_is_counted_by_caption() -> None:
    corpus = cidery.Corpus.build({"a": "a dog", "b": "cats sit on a sofa"}, REFERENCES)
    gap = measure_length_gap(corpus)
    assert (gap.captions, gap.references, gap.difference) == (3.5, 3.0, 2.5)
    assert not gap.is_wide


def test_scoring_paragraphs_by_sentences_warns() -> None:
    message = r"ours: captions have 48 words \(paragraphs\), references 3 \(sentences\); cider-d is"
    with pytest.warns(UnreliableWarning, match=message):
        cidery.score(
            {"a": LONG, "b": LONG},
            REFERENCES,
            metrics=["cider-d", "rouge-l"],
            frequencies="coco-val2014",
            candidates_name="ours",
        )
    cidery.score({"a": LONG, "b": LONG}, REFERENCES, metrics=["rouge-l"])  # no warning
    cidery.score({"a": "a dog", "b": "a cat"}, REFERENCES, "cider-d", frequencies="coco-val2014")


def test_files_are_compared() -> None:
    long, short = cidery.describe({"a": [LONG]}), cidery.describe(REFERENCES)
    [sentence] = find_length_mismatch({"ours.json": long, "references.json": short})
    assert sentence.startswith("captions of ours.json have 44 words, those of references.json 3: ")
    assert find_length_mismatch({"one": short, "other": short}) == []
