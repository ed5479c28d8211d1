"""CHAIR: lmms-eval's numbers, hand-made cases, files of instances."""

from __future__ import annotations

import gzip
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cidery
from cidery.errors import DataError, SettingError
from cidery.metrics.chair.data_files import read_lines
from cidery.metrics.chair.objects import (
    find_categories,
    find_mentions,
    list_categories,
    locate_mentions,
)
from cidery.metrics.chair.tagger import load_tagger
from cidery.metrics.chair.word_tokenizer import tokenize_words
from support.example import Example

pytestmark = pytest.mark.filterwarnings("ignore::cidery.errors.InputWarning")

ROOT = Path(__file__).parents[2]
MARKS = [
    ".",
    ",",
    "!",
    "...",
    '"',
    "'",
    "(",
    ")",
    ":",
    "'s",
    "n't",
    " - ",
    "--",
    "mr.",
    "10.",
    "a.",
]


def draw_captions(count: int) -> list[str]:
    """Draw words that objects' names are made of, with marks."""
    rng = random.Random(0)
    words = [line.split()[0] for line in read_lines("forms.txt")]
    words += [
        "a",
        "the",
        "two",
        "of",
        "on",
        "with",
        "in",
        "is",
        "are",
        "sitting",
        "parked",
        "red",
    ] * 20
    captions = []
    for _ in range(count):
        caption = ""
        for _ in range(rng.randint(0, 25)):
            word = rng.choice(words)
            word = word.capitalize() if rng.random() < 0.1 else word
            word = f"{rng.choice(words)}-{word}" if rng.random() < 0.05 else word
            mark = rng.choice(MARKS) if rng.random() < 0.15 else ""
            caption += word + mark + rng.choice([" "] * 20 + ["", "  ", "\n"])
        captions.append(caption)
    return captions


@pytest.mark.harness
def test_equal_to_lmms_eval(harnesses: Path, example: Example, tmp_path: Path) -> None:
    if not (harnesses / "wordnet/usr").is_dir() or not (harnesses / "nltk").is_dir():
        pytest.skip("NLTK or WordNet 3.0 is not in build/harnesses: make harnesses")
    captions = [*example.system_a.values(), *example.system_b.values(), *draw_captions(250)]
    rng = random.Random(1)
    kinds = list_categories()
    objects = [rng.sample(kinds, rng.randint(0, 30)) for _ in captions]
    content = tmp_path / "captions.json"
    content.write_text(json.dumps({"captions": captions, "objects": objects}))
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "validity" / "chair.py", content],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["words"] == [[m.word for m in one] for one in find_mentions(captions)]
    assert sum(map(len, found["words"])) > 500
    for name, value in found["lmms-eval"].items():
        assert found["cidery"][name] * 100 == pytest.approx(value, rel=1e-14)


def test_ratios_by_hand() -> None:
    # Named: dog, couch, dog (2 right, 1 wrong: cat is not there); nothing; person (wrong), dog.
    candidates = {1: "a cat and a dog on a sofa", 2: "it is raining", 3: "a man with dogs"}
    references = {1: ["the puppy is on a couch"], 2: ["a red car"], 3: ["two dogs", "a bench"]}
    table = cidery.score(candidates, references, metrics="chair")
    assert table.corpus["chair-i"] == pytest.approx(2 / 5)
    assert table.corpus["chair-s"] == pytest.approx(2 / 3)
    assert table.corpus["chair-recall"] == pytest.approx(3 / 5)
    assert table.each["chair-i"].tolist() == [1 / 3, 0.0, 0.5]
    assert table.each["chair-s"].tolist() == [1.0, 0.0, 1.0]
    assert table.each["chair-recall"].tolist() == [1.0, 0.0, 0.5]


def test_what_counts_as_an_object() -> None:
    def kinds(caption: str) -> list[str]:
        return [mention.kind for mention in find_mentions([caption])[0]]

    assert kinds("Two PUPPIES, a teddy bear and traffic lights.") == [
        "dog",
        "teddy bear",
        "traffic light",
    ]
    assert kinds("the toilet has a seat") == ["toilet"]  # no chair
    assert kinds("a baby elephant on a train track") == ["elephant"]  # no person, no train
    assert kinds("a man tied a tie") == ["person", "tie", "tie"]  # the verb, too: as the original
    assert kinds("a motor bike") == []  # listed with a blank before it, which never matches
    assert kinds("two men") == []  # WordNet knows the noun `men`, which is no shorter than `man`
    assert kinds("he is skiing") == ["skis"] and kinds("the skiing was good") == []
    assert find_categories(["an orange bear", "men, three oranges"]) == [
        ["bear"],
        ["orange", "person"],
    ]
    assert len(list_categories()) == 80 == len(set(list_categories()))


def test_objects_of_the_authors_lemmatizer() -> None:
    captions = [
        "men, vases, geese",
        "a bus",
        "buses",
        "two ties",
        "skiing, tied, seated",
        "a wine glass",
    ]
    assert [[m.kind for m in found] for found in find_mentions(captions, "pattern")] == [
        ["person", "vase", "bird"],
        [],  # singular: bu
        ["bus"],
        [],
        [],
        ["wine glass"],  # singular: glas, for which there is a pair
    ]
    metric = cidery.Chair(lemmatizer="pattern")
    table = cidery.score({1: "men, a dog, a bus"}, {1: ["a dog"]}, metrics=[metric])
    assert table.corpus["chair-i"] == 1 / 2
    assert "lemmatizer:pattern" in table.signatures["chair-i"]


@pytest.mark.shared
def test_equal_to_the_authors_code(shared: Path) -> None:
    """Objects and ratios of LisaAnne/Hallucination with pattern, caption by caption."""
    path = shared / "golden/chair/authors.json.gz"
    if not path.is_file():
        pytest.skip(f"{path} is missing")
    expected = json.loads(gzip.decompress(path.read_bytes()))
    data = shared / "data/audit"
    references = json.loads((data / "references.json").read_text())
    present = {
        image: sorted({m.kind for found in find_mentions(texts, "pattern") for m in found})
        for image, texts in references.items()
    }
    for name, golden in expected.items():
        entries = json.loads((data / f"{name}.json").read_text())
        candidates = {str(entry["image_id"]): entry["caption"] for entry in entries}
        assert list(candidates) == [str(one["image"]) for one in golden["captions"]]
        found = find_mentions(list(candidates.values()), "pattern")
        assert [[m.kind for m in one] for one in found] == [
            one["objects"] for one in golden["captions"]
        ]
        assert [present[image] for image in candidates] == [
            sorted(one["ground_truth"]) for one in golden["captions"]
        ]
        metrics = [cidery.Chair(measure=m, lemmatizer="pattern") for m in ("i", "s", "recall")]
        corpus = cidery.score(candidates, references, metrics=metrics).corpus
        assert corpus["chair-i"] == golden["chair_i"]
        assert corpus["chair-s"] == golden["chair_s"]
        assert corpus["chair-recall"] == golden["recall"]


def test_words_and_tags() -> None:
    assert tokenize_words("a man's dog. it can't sit.") == [
        *("a", "man", "'s", "dog", ".", "it", "ca", "n't", "sit", "."),
    ]
    assert tokenize_words("by mr. smith at 10:10. the end") == [
        *("by", "mr.", "smith", "at", "10:10.", "the", "end"),
    ]
    words = ["the", "quick", "brown", "fox", "jumps", "over", "the", "lazy", "dog"]
    # As NLTK's documentation shows them, but for the capital.
    assert load_tagger().tag([words])[0] == ["DT", "JJ", "NN", "NN", "VBZ", "IN", "DT", "JJ", "NN"]
    assert load_tagger().tag([words, []], [2, 0]) == [["DT", "JJ"], []]


def test_mentions_are_located() -> None:
    caption = "Two Puppies, near traffic  lights"
    places = locate_mentions(caption, find_mentions([caption])[0])
    assert [caption[a:b] for a, b in places] == ["Puppies", "traffic  lights"]


CANDIDATES = {7: "a cat on a couch", 8: "a dog"}
REFERENCES = {7: ["a couch"], 8: ["a bird"]}


class TestInstances:
    def score(self, path: Path, **settings: Any) -> Any:
        metric = cidery.Chair(instances=str(path), **settings)
        return cidery.score(CANDIDATES, REFERENCES, metrics=[metric])

    def test_of_coco_and_references_together(self, tmp_path: Path) -> None:
        path = tmp_path / "instances.json"
        path.write_text(
            json.dumps(
                {
                    "images": [{"id": 7}, {"id": 8}],
                    "categories": [{"id": 17, "name": "cat"}, {"id": 18, "name": "dog"}],
                    "annotations": [{"image_id": 7, "category_id": 17}],
                }
            )
        )
        table = self.score(path)
        assert table.each["chair-i"].tolist() == [0.0, 1.0]
        assert self.score(path, references=False).each["chair-i"].tolist() == [0.5, 1.0]
        assert str(path) not in table.signatures["chair-i"]  # its digest is there
        found = cidery.find_objects(CANDIDATES, REFERENCES, instances=path)
        assert found.captions[1].hallucinated == ("dog",) and found.captions[1].missing == ("bird",)
        assert (found.chair_i, found.chair_s) == (1 / 3, 1 / 2)

    def test_lists_of_kinds(self, tmp_path: Path) -> None:
        path = tmp_path / "kinds.json"
        path.write_text(json.dumps({"7": ["cat"], "8": ["dog"]}))
        assert self.score(path).each["chair-i"].tolist() == [0.0, 0.0]

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("{", "is not JSON"),
            ("[]", "expected COCO's instances, or"),
            ('{"7": "cat"}', "image '7' has no list of categories"),
            ('{"7": ["kat"], "8": []}', "'kat' is not one of COCO's 80 categories"),
            ('{"7": []}', "no annotations of image 8"),
            ('{"annotations": [{"image_id": 7}], "categories": []}', "category_id"),
        ],
    )
    def test_bad_files(self, content: str, message: str, tmp_path: Path) -> None:
        path = tmp_path / "bad.json"
        path.write_text(content)
        with pytest.raises(DataError, match=message):
            self.score(path)

    def test_no_file(self, tmp_path: Path) -> None:
        with pytest.raises(SettingError, match="no such file: instances="):
            self.score(tmp_path / "absent.json")
        with pytest.raises(SettingError, match="needs references=True or"):
            cidery.Chair(references=False)


def test_explanations_name_the_objects() -> None:
    found = cidery.explain("a cat and a dog", ["a puppy"], ["chair-i"])["chair-i"]
    assert {span.note: span.value for span in found.spans if span.note} == {
        "cat: hallucinated": 0.5,
        "dog: present": 0.0,
    }


def test_a_lower_score_is_better() -> None:
    references = {"a": ["a dog", "a puppy", "a cat"]}
    ranked = cidery.rank_references(references, "chair-i")["a"]
    assert ranked[-1].caption == "a cat"
    with pytest.raises(SettingError, match="needs a negative weight"):
        cidery.Reward({"a": ["a dog"]}, metric="chair-i")
    reward = cidery.Reward({"a": ["a dog"]}, metric={"chair-i": -1.0})
    np.testing.assert_array_equal(reward(["a", "a"], ["a cat", "a dog"]), [-1.0, 0.0])


@pytest.mark.model
def test_open_vocabulary() -> None:
    references = {"a": ["a violin on a table"]}
    table = cidery.score({"a": "a fiddle and a guitar"}, references, metrics="chair-open")
    assert table.corpus["chair-open-i"] == pytest.approx(1 / 2)  # a fiddle is a violin
    assert table.corpus["chair-open-s"] == 1.0
    assert table.corpus["chair-open-recall"] == pytest.approx(1 / 2)
