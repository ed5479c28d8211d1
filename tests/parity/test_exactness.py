"""Equality with the reference tools: run live, and by recorded values."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cidery
from cidery.files import read_candidates, read_references
from support import reference_tools
from support.example import Example

pytestmark = [
    pytest.mark.filterwarnings("ignore::cidery.errors.UnreliableWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:pycocoevalcap"),
]

COCO_METRICS = ["bleu", "rouge-l", "cider-d"]

# pycocoevalcap 1.2 on Java 17, for the bundled example: `reference_tools.score(system, references)`
GOLDEN = {
    "system_a": {
        "bleu-1": 0.8113149489665953,
        "bleu-2": 0.6339390092430659,
        "bleu-3": 0.46237920275669386,
        "bleu-4": 0.3195687420062565,
        "rouge-l": 0.5296330969059744,
        "cider-d": 1.1376035666693705,
    },
    "system_b": {
        "bleu-1": 0.5746666666659005,
        "bleu-2": 0.35057194454002344,
        "bleu-3": 0.20259179352815568,
        "bleu-4": 0.11927980233191801,
        "rouge-l": 0.3694370246690147,
        "cider-d": 0.3529139617620901,
    },
}


def assert_same(table: Any, expected: Any, rtol: Any = 1e-9) -> None:
    assert set(table.corpus) == set(expected)
    for name, (corpus, each) in expected.items():
        np.testing.assert_allclose(table.each[name], each, rtol=rtol, atol=1e-300, err_msg=name)
        np.testing.assert_allclose(table.corpus[name], corpus, rtol=rtol, err_msg=name)


def ours(candidates: Any, references: Any) -> Any:
    return cidery.score(candidates, references, metrics=COCO_METRICS, tokenizer="ptb-coco")


@pytest.fixture(scope="module")
def karpathy(shared: Path) -> Any:
    folder = shared / "data" / "coco_karpathy"
    references = read_references(folder / "captions_test5k.json")
    candidates = dict(read_candidates(folder / "tden_karpathy_test_result.json"))
    return {image: candidates[image] for image in references}, references


@pytest.mark.parametrize("system", GOLDEN)
def test_the_example_gets_the_numbers_of_pycocoevalcap(example: Example, system: Any) -> None:
    table = ours(getattr(example, system), example.references)
    assert dict(table.corpus) == pytest.approx(GOLDEN[system], rel=1e-9)


def test_live_on_the_example(java: str, example: Example) -> None:
    assert_same(
        ours(example.system_a, example.references),
        reference_tools.score(example.system_a, example.references),
    )


def test_live_on_captions_of_a_real_model(java: str, karpathy: Any) -> None:
    """A quarter of the 5,000 images; all of them with new examples."""
    step = 1 if os.environ.get("CIDERY_EXAMPLES") == "new" else 4
    images = list(karpathy[0])[::step]
    candidates, references = ({image: part[image] for image in images} for part in karpathy)
    assert_same(ours(candidates, references), reference_tools.score(candidates, references))


def test_live_on_val2014(java: str) -> None:
    """A tenth of the images; all of them, a minute of the original's time, with new examples."""
    captions = reference_tools.coco_captions("val2014")
    assert len(captions) == 40504
    if os.environ.get("CIDERY_EXAMPLES") != "new":
        captions = dict(list(captions.items())[::10])
    candidates = {image: listed[-1] for image, listed in captions.items()}
    references = {image: listed[:-1] for image, listed in captions.items()}
    assert_same(ours(candidates, references), reference_tools.score(candidates, references))


# Written for this test, with blanks between words, as COCO-CN has them.
CHINESE = {
    "snow": (
        "一个 男人 正在 攀登 雪山",
        [
            "一个 男人 正在 雪山 上 攀登 。",
            "一名 男子 在 爬 雪山",
            "穿着 红色 外套 的 人 在 雪山 上",
        ],
    ),
    "drums": ("一个 男人 在 打 架子鼓", ["戴着 耳机 的 男人 在 打 架子鼓", "男子 在 舞台 上 打鼓"]),
    "bus": (
        "一辆 红色 的 公共汽车 停 在 路边",
        ["红色 公共汽车 停 在 街道 上", "路边 有 一辆 大 公共汽车"],
    ),
    "dog": (
        "两 只 狗 在 海滩 上 奔跑",
        ["两 只 棕色 的 狗 在 沙滩 上 跑", "狗 在 海边 奔跑 ， 很 高兴"],
    ),
    "shirt": (
        "穿 T恤 的 女孩 在 吃 苹果",
        ["一个 女孩 穿着 白色 T恤 吃 苹果", "女孩 手 里 有 2 个 苹果"],
    ),
}


def test_live_on_chinese_with_blanks(java: str) -> None:
    """Captions that are cut already have the original's numbers, with `ptb` too."""
    candidates = {image: candidate for image, (candidate, _) in CHINESE.items()}
    references = {image: listed for image, (_, listed) in CHINESE.items()}
    expected = reference_tools.score(candidates, references)
    assert expected["cider-d"][0] > 1  # neither is all zero
    for tokenizer in ("ptb-coco", "ptb"):
        table = cidery.score(candidates, references, COCO_METRICS, tokenizer=tokenizer)
        assert_same(table, expected)


ADVERSARIAL = {
    "empty candidates": ({1: "", 2: "."}, {1: ["a dog", "the dog"], 2: ["a cat"]}),
    "empty references": ({1: "a dog", 2: "", 3: ""}, {1: ["", "."], 2: [""], 3: ["", "a cat"]}),
    "repeated": (
        {1: "a a a a a a a a", 2: "the dog the dog the dog the dog"},
        {1: ["a a", "a a a a a a a a a a"], 2: ["the dog", "the dog the dog runs"]},
    ),
    "one word": ({1: "dog", 2: "cat", 3: "dog"}, {1: ["dog"], 2: ["dog"], 3: ["a dog", "dog"]}),
    "one image": ({1: "a dog on the grass"}, {1: ["a dog on the grass", "a brown dog"]}),
    "unicode": (
        {1: "ein Hündchen läuft 😀", 2: "日本語 の 犬", 3: "5 1/2 dogs — café"},
        {1: ["ein Hund", "das Hündchen läuft"], 2: ["日本語 の 猫"], 3: ["5 1/2 dogs", "a café"]},
    ),
    "uneven": (
        {1: "a dog", 2: "word " * 300, 3: "a dog runs over the green grass"},
        {1: ["a dog " * 50], 2: ["word"] * 12, 3: ["a dog runs over the green grass"]},
    ),
}


@pytest.mark.parametrize("name", ADVERSARIAL)
def test_live_on_adversarial_sets(java: str, name: Any) -> None:
    candidates, references = ADVERSARIAL[name]
    assert_same(ours(candidates, references), reference_tools.score(candidates, references))


def test_the_real_model_gets_the_scores_that_the_community_reports(karpathy: Any) -> None:
    table = cidery.score(*karpathy, metrics=COCO_METRICS, tokenizer="ptb-coco")
    assert table.corpus["cider-d"] == pytest.approx(1.3345, abs=5e-5)
    assert table.corpus["bleu-4"] == pytest.approx(0.4022, abs=5e-5)
    assert table.corpus["rouge-l"] == pytest.approx(0.5963, abs=5e-5)


@pytest.mark.parametrize("kind", ["CC", "IC"])
def test_cider_r_of_its_authors(shared: Path, kind: Any) -> None:
    """`toy_candidate_classification_results.csv`: what the CIDEr-R authors' code gave."""
    folder = shared / "data" / "cider_r"
    part = {"CC": "correct", "IC": "incorrect"}[kind]
    references = read_references(folder / "toy_references.json")
    captions = json.loads((folder / f"toy_{part}_candidates.json").read_text())
    candidates = {row["image_id"]: row["caption"] for row in captions}
    table = cidery.score(
        candidates, references, metrics=["cider-r", "cider-d", "rouge-l", "bleu-4"]
    )
    columns = {"cider-r": "CIDEr-R", "cider-d": "CIDEr-D", "rouge-l": "ROUGE", "bleu-4": "BLEU4"}
    with (folder / "toy_candidate_classification_results.csv").open() as file:
        expected = {int(row["key"]): row for row in csv.DictReader(file)}
    for name, column in columns.items():
        values = [float(expected[image][f"{column} {kind}"]) for image in table.ids]
        np.testing.assert_allclose(100 * table.each[name], values, rtol=1e-9, err_msg=name)
