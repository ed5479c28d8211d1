from __future__ import annotations

import math
import pickle
import shutil
import struct
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cidery
from cidery import DocumentFrequencies
from cidery.errors import FrequenciesError, SettingError, UnreliableWarning
from cidery.frequencies import SHIPPED, load_shipped
from support import oracle
from support.captions import at_most
from support.example import Example

caption = st.lists(st.sampled_from(["a", "b", "c", "d e", "ü"]), max_size=8).map(" ".join)
collections = st.dictionaries(
    st.integers(0, 99), st.lists(caption, min_size=1, max_size=3), min_size=1, max_size=6
)


def count(references: Any, order: Any = 4) -> Any:
    split = [[text.split() for text in captions] for captions in references.values()]
    return oracle.frequencies(split, order)


def build(references: Any, **settings: Any) -> Any:
    return DocumentFrequencies.from_references(references, tokenizer="whitespace", **settings)


def everything(frequencies: Any) -> Any:
    """Return all n-grams with counts, by walking the levels."""
    grams = [(word,) for word in frequencies.words]
    found = dict(zip(grams, frequencies.levels[0].counts.tolist(), strict=True))
    for level in list(frequencies.levels)[1:]:
        grams = [
            grams[parent] + (frequencies.words[word],)
            for parent, word in zip(level.parents.tolist(), level.words.tolist(), strict=True)
        ]
        found |= dict(zip(grams, level.counts.tolist(), strict=True))
    return found


@given(collections)
def test_counts_images_not_captions(references: Any) -> None:
    frequencies = build(references)
    expected = count(references)
    assert everything(frequencies) == dict(expected)
    assert frequencies.image_count == len(references)
    for ngram, images in expected.items():
        assert frequencies.count(ngram) == images
    assert frequencies.count(["never", "seen"]) == 0
    assert frequencies.count(["a"] * 9) == 0


@given(collections)
def test_a_cut_set_keeps_what_weighs(references: Any) -> None:
    cut = build(references, min_count=2)
    assert everything(cut) == {g: n for g, n in count(references).items() if n >= 2}


@given(collections, collections)
def test_merging_equals_counting_together(one: Any, other: Any) -> None:
    other = {image + 100: captions for image, captions in other.items()}
    merged = build(one) | build(other)
    assert everything(merged) == dict(count(one | other))
    assert merged.fingerprint == build(one | other).fingerprint


@at_most(30)
@given(collections, st.integers(1, 2))
def test_saving_and_loading(
    tmp_path_factory: pytest.TempPathFactory, references: Any, min_count: Any
) -> None:
    path = tmp_path_factory.mktemp("df") / "set.df"
    saved = build(references, min_count=min_count, name="mine", source="written here")
    saved.save(path)
    loaded = DocumentFrequencies.load(path)
    assert everything(loaded) == everything(saved)
    assert loaded.fingerprint == saved.fingerprint
    for what in ("image_count", "tokenizer", "stemmer", "min_count", "name", "source", "order"):
        assert getattr(loaded, what) == getattr(saved, what)
    assert [p.name for p in path.parent.iterdir()] == ["set.df"]


def test_counts_above_a_byte_survive(tmp_path: Path) -> None:
    references = {image: ["a dog", "a cat"] for image in range(300)} | {"x": ["a bird"]}
    build(references).save(tmp_path / "set.df")
    loaded = DocumentFrequencies.load(tmp_path / "set.df")
    assert loaded.count(["a"]) == 301
    assert loaded.count(["a", "dog"]) == 300
    assert loaded.count(["a", "bird"]) == 1


def test_a_vocabulary_too_large_for_two_bytes(tmp_path: Path) -> None:
    references = {image: [f"w{image} v{image}"] for image in range(40_000)}
    build(references, n=2).save(tmp_path / "set.df")
    loaded = DocumentFrequencies.load(tmp_path / "set.df")
    assert loaded.count(["w39999", "v39999"]) == 1
    assert loaded.count(["w39999", "v39998"]) == 0


def test_damage_is_found_and_named(tmp_path: Path) -> None:
    path = tmp_path / "set.df"
    build({1: ["a dog runs"], 2: ["a cat"]}).save(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for position in rng.integers(0, len(whole), 200):
        broken = bytearray(whole)
        broken[position] ^= 0x55
        path.write_bytes(broken)
        with pytest.raises(FrequenciesError, match=r"set\.df"):
            DocumentFrequencies.load(path)
    for length in (0, 7, 47, 48, 100, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(FrequenciesError, match=r"set\.df"):
            DocumentFrequencies.load(path)
    path.write_bytes(whole[:8] + struct.pack("<I", 9) + whole[12:])
    with pytest.raises(FrequenciesError, match="format version 9; this cidery reads 1"):
        DocumentFrequencies.load(path)
    path.write_bytes(pickle.dumps({}) * 40)
    with pytest.raises(FrequenciesError, match="import a pickle with"):
        DocumentFrequencies.load(path)


def test_saving_never_leaves_half_a_file(tmp_path: Path) -> None:
    frequencies = build({1: ["a"]})
    with pytest.raises(FileNotFoundError):
        frequencies.save(tmp_path / "nowhere" / "set.df")
    target = tmp_path / "folder.df"
    target.mkdir()
    with pytest.raises(IsADirectoryError):
        frequencies.save(target)
    assert [p.name for p in tmp_path.iterdir()] == ["folder.df"]


def test_import_of_a_pickle_scores_like_counting(tmp_path: Path, example: Example) -> None:
    counted = DocumentFrequencies.from_references(example.references)
    content = {
        "document_frequency": Counter(everything(counted)),
        "ref_len": math.log(len(example.references)),
    }
    (tmp_path / "df.p").write_bytes(pickle.dumps(content))
    imported = DocumentFrequencies.from_pickle(tmp_path / "df.p")
    assert imported.image_count == len(example.references)
    scores = [
        cidery.score(example.system_a, example.references, ["cider-d"], frequencies=f).each[
            "cider-d"
        ]
        for f in (counted, imported)
    ]
    np.testing.assert_array_equal(*scores)


def test_counts_without_their_prefixes_are_usable() -> None:
    frequencies = DocumentFrequencies.from_counts({("a", "b", "c"): 3.0, ("z",): 2.0}, 10)
    assert frequencies.count(["a", "b", "c"]) == 3
    assert frequencies.count(["a", "b"]) == 0
    assert frequencies.count(["z"]) == 2


def test_own_references_and_the_same_set_give_the_same_bits(example: Example) -> None:
    counted = DocumentFrequencies.from_references(example.references)
    with pytest.warns(UnreliableWarning):
        own = cidery.score(example.system_a, example.references, ["cider-d", "cider-r"])
    given_set = cidery.score(
        example.system_a, example.references, ["cider-d", "cider-r"], frequencies=counted
    )
    for name in own.each:
        np.testing.assert_array_equal(own.each[name], given_set.each[name])


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize("stemmer", [None, "english"])
def test_shipped_sets(name: Any, stemmer: Any) -> None:
    shipped = load_shipped(name, stemmer)
    assert shipped.image_count == {"coco-val2014": 40504, "coco-train2014": 82783}[name]
    assert shipped.min_count == 2
    assert shipped.tokenizer == "ptb"
    assert shipped.stemmer == stemmer
    assert "CC BY 4.0" in shipped.source
    assert (
        shipped.count(["a"]) > shipped.count(["a", "man"]) > shipped.count(["a", "man", "in"]) > 0
    )
    with pytest.raises(FrequenciesError, match="leaves out n-grams that occur in fewer than 2"):
        shipped | build({1: ["a"]})


def test_shipped_sets_are_the_counts_of_the_captions(java: str) -> None:
    from support import reference_tools

    captions = reference_tools.coco_captions("val2014")
    counted = DocumentFrequencies.from_references(captions, min_count=2)
    assert counted.fingerprint == load_shipped("coco-val2014").fingerprint


def test_one_image_gets_a_meaningful_score() -> None:
    table = cidery.score(
        {"a": "a dog runs on the grass"},
        {"a": ["a dog is running on grass", "the dog runs"]},
        ["cider-d", "cider"],
        frequencies="coco-val2014",
    )
    assert 0.1 < table.corpus["cider-d"] < 10
    assert 0.1 < table.corpus["cider"] < 1


def test_few_images_are_called_unreliable() -> None:
    with pytest.warns(UnreliableWarning, match='2 images.*pass frequencies="coco-val2014"'):
        cidery.score(["a", "b"], [["a"], ["b"]], ["cider-d"])
    with pytest.warns(UnreliableWarning, match="only 1 image, so every CIDEr score is 0"):
        cidery.score(["a"], [["a"]], ["cider-d"])


@pytest.mark.parametrize(
    ("settings", "metric", "message"),
    [
        ({"tokenizer": "words"}, "cider-d", "counted with the tokenizer 'words'"),
        ({"stemmer": "english"}, "cider-d", "english stems, the metric uses unstemmed words"),
        ({}, "cider", "unstemmed words, the metric uses english stems"),
        ({"n": 2}, "cider-d", "holds n-grams up to 2; 4 are needed"),
    ],
)
def test_a_set_that_does_not_fit_is_refused(settings: Any, metric: Any, message: Any) -> None:
    wrong = DocumentFrequencies.from_references({1: ["a dog"]}, **settings)
    with pytest.raises(FrequenciesError, match=message):
        cidery.score(["a dog"], [["a dog"]], [metric], frequencies=wrong)


def test_unknown_names_and_files(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="neither 'references', a shipped set"):
        cidery.score(["a"], [["a"]], ["cider-d"], frequencies="coco-2099")
    shutil.copy(__file__, tmp_path / "x.df")
    with pytest.raises(FrequenciesError, match="is not a document-frequency file"):
        cidery.score(["a"], [["a"]], ["cider-d"], frequencies=tmp_path / "x.df")
    metric = cidery.Cider(stemmer="french")
    with pytest.raises(FrequenciesError, match="not with 'french' stems"):
        cidery.score(["a"], [["a"]], [metric], frequencies="coco-val2014")
    with pytest.raises(FrequenciesError, match="differ in tokenizer: ptb and whitespace"):
        DocumentFrequencies.from_references({1: ["a"]}) | build({2: ["a"]})


def test_settings_and_counts_out_of_range() -> None:
    assert build({1: ["a dog"]}, n=1).order == 1
    for n in (0, 9):
        with pytest.raises(SettingError, match=f"from 1 to 8, not {n}"):
            build({1: ["a dog"]}, n=n)
    with pytest.raises(SettingError, match="must be at least 1, not 0"):
        build({1: ["a dog"]}, min_count=0)
    with pytest.raises(FrequenciesError, match="no n-grams"):
        DocumentFrequencies.from_counts({}, 5)
    with pytest.raises(FrequenciesError, match="'dog' occurs in 7 images, but there are only 5"):
        DocumentFrequencies.from_counts({("a",): 2, ("dog",): 7, ("cat",): 6}, 5)


def test_the_representation_names_the_settings() -> None:
    shown = repr(build({1: ["a dog"]}, n=2))
    assert "up to 2, tokenizer whitespace, stemmer none" in shown
