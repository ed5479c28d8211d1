"""Scores under several segmenters, and rankings that depend on them."""

from __future__ import annotations

import pytest

import cidery
from cidery.errors import SettingError
from cidery.text import SEGMENTERS

# Whole words favor the first system, letters the second.
REFERENCES = {image: ["a b cccccccc"] for image in range(4)}
BY_WORDS = dict.fromkeys(range(4), "a b")
BY_LETTERS = dict.fromkeys(range(4), "ccccccca")
CHINESE = {1: "一个男人正在攀登雪山。", 2: "一个男人在打架子鼓。"}
CHINESE_REFERENCES = {1: ["一名男子在爬雪山。", "男人在攀登雪山。"], 2: ["有个男人在打鼓。"]}


def test_a_table_has_the_scores_of_each_segmenter() -> None:
    table = cidery.score(
        BY_WORDS, REFERENCES, ["rouge-l"], tokenizer="words", segmenters=["words", "char"]
    )
    alone = cidery.score(BY_WORDS, REFERENCES, ["rouge-l"], tokenizer="char")
    assert list(table.by_segmenter) == ["words", "char"]
    assert table.by_segmenter["words"] == dict(table.corpus)
    assert table.by_segmenter["char"] == dict(alone.corpus)
    low, high = table.find_spread("rouge-l")
    assert (low, high) == (alone.corpus["rouge-l"], table.corpus["rouge-l"])
    assert table.table().header == ["metric", "score", "over segmenters"]
    assert table.table(digits=2).cells == [["rouge-l", f"{high:.2f}", f"[{low:.2f}, {high:.2f}]"]]
    assert table.table(intervals=table.intervals()).header[2:] == [
        "95 % interval",
        "over segmenters",
    ]
    assert table.to_dict()["segmenters"]["char"] == dict(alone.corpus)
    assert table.to_records()[0]["segmenters_low"] == low


def test_a_ranking_that_flips_is_not_significant() -> None:
    systems = {"ours": BY_WORDS, "theirs": BY_LETTERS}
    comparison = cidery.compare(
        systems,
        REFERENCES,
        ["rouge-l", "bleu-1"],
        tokenizer="words",
        segmenters=["words", "char"],
        resamples=50,
    )
    assert comparison.flips["rouge-l"] == {("ours", "theirs"): ["char"]}
    test = comparison.tests["rouge-l"]["ours", "theirs"]
    assert test.difference > 0 and test.adjusted_p == 1
    assert "The ranking depends on the segmenter, so p is 1: rouge-l of ours and theirs (char)" in (
        comparison.note
    )
    content = comparison.to_dict()
    assert {"systems": ["ours", "theirs"], "tokenizers": ["char"]} in content["flips"]["rouge-l"]
    assert content["segmenters"]["ours"]["char"] == comparison.tables["ours"].by_segmenter["char"]


def test_a_ranking_that_stays_keeps_its_p() -> None:
    systems = {"ours": REFERENCES, "theirs": BY_WORDS}
    settings = {"metrics": ["rouge-l"], "tokenizer": "words", "resamples": 50}
    systems = {"ours": {i: c[0] for i, c in REFERENCES.items()}, "theirs": BY_WORDS}
    plain = cidery.compare(systems, REFERENCES, **settings)
    other = cidery.compare(systems, REFERENCES, segmenters=["char", "ptb"], **settings)
    assert plain.tests == other.tests and other.flips == {} and plain.flips is None
    assert "The ranking is the same under all segmenters (char, ptb)" in other.note
    assert "segmenter" not in plain.note


def test_all_segmenters_of_a_language() -> None:
    if not SEGMENTERS["jieba"].is_installed:
        pytest.skip("needs jieba")
    table = cidery.score(CHINESE, CHINESE_REFERENCES, ["rouge-l"], language="zh", segmenters="all")
    assert [name.partition("@")[0] for name in table.by_segmenter] == ["jieba", "char+clean"]
    low, high = table.find_spread("rouge-l")
    assert low < high


def test_wrong_settings() -> None:
    with pytest.raises(SettingError, match='pass it too, such as language="zh"'):
        cidery.score(CHINESE, CHINESE_REFERENCES, segmenters="all")
    with pytest.raises(SettingError, match="remove by"):
        cidery.score(CHINESE, CHINESE_REFERENCES, segmenters=["char"], by="length")
    with pytest.raises(SettingError, match="no segmenters were named"):
        cidery.score(CHINESE, CHINESE_REFERENCES, segmenters=[])
    with pytest.raises(SettingError, match="unknown tokenizer 'nonsense'; known: ptb"):
        cidery.score(CHINESE, CHINESE_REFERENCES, segmenters=["nonsense"])
    table = cidery.score(BY_WORDS, REFERENCES, ["rouge-l"])
    with pytest.raises(SettingError, match="pass segmenters= to score"):
        table.find_spread("rouge-l")
