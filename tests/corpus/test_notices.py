"""Ids that are written differently, and captions that look wrong."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest

import cidery
from cidery.corpus import Corpus, ReadReferences, find_suspicious, translate_ids
from cidery.errors import InputError, InputNote, InputWarning, MismatchError, SettingError

FREQUENCIES = "coco-val2014"
WORDS = ("dog", "cat", "horse", "bus", "train", "boat")
REFERENCES = {i: [f"a {word} is here", f"one {word}"] for i, word in enumerate(WORDS)}
CANDIDATES = {i: f"a {word} outside" for i, word in enumerate(WORDS)}


@pytest.mark.parametrize(
    ("ids", "images"),
    [
        (["COCO_val2014_000000391895.jpg", "COCO_val2014_000000000007.jpg"], [391895, 7]),
        (["000000391895", "000000000007"], [391895, 7]),
        (["000000391895", "000000000007"], ["391895", "7"]),
        ([391895, 7], ["COCO_val2014_000000391895.jpg", "COCO_val2014_000000000007.jpg"]),
        (["images/a.jpg", "images/b.jpg"], ["a", "b"]),
        (["a.png", "b.png"], ["a.jpg", "b.jpg"]),
        (["val2014\\391895.jpg", "val2014\\7.jpg"], [391895, 7]),
    ],
)
def test_ids_match_one_to_one(ids: list[Any], images: list[Any]) -> None:
    assert translate_ids(ids, images) == images
    assert translate_ids(list(reversed(ids)), images) == images[::-1]
    corpus = Corpus.build({ids[1]: "b", ids[0]: "a"}, {images[0]: ["x"], images[1]: ["y"]})
    assert corpus.images == tuple(images)
    assert corpus.candidate_images.tolist() == [1, 0]
    assert corpus.candidate_ids == [ids[1], ids[0]]
    (notice,) = corpus.notices
    assert notice.kind == "ids"
    assert "all 2 ids match those of references one to one, written differently" in str(notice)


@pytest.mark.parametrize(
    ("ids", "images"),
    [
        (["a1", "a2"], ["b1", "b2"]),  # two data sets
        (["COCO_1", "FLICKR_1"], [1]),  # not one to one
        (["COCO_1"], [1, 2]),  # not complete
        (["x/a.jpg", "y/a.jpg"], ["a"]),
        ([-7], [7]),
        (["7.0"], [7]),
        (["9" * 30], [9]),
        (["a"], ["b"]),
    ],
)
def test_other_ids_do_not_match(ids: list[Any], images: list[Any]) -> None:
    assert translate_ids(ids, images) is None
    with pytest.raises(MismatchError):
        Corpus.build(dict.fromkeys(ids, "a"), {image: ["x"] for image in images})


def test_ids_that_match_exactly_are_left_alone() -> None:
    references = {"07": ["x"], "7": ["y"]}
    corpus = Corpus.build({"7": "b", "07": "a"}, references)
    assert corpus.notices == ()
    assert corpus.candidate_images.tolist() == [1, 0]


def test_a_hint_where_some_would_match() -> None:
    with pytest.raises(MismatchError, match=r"\(1 of 2 would match by the number at their end"):
        Corpus.build({"COCO_1": "a", "COCO_9": "b"}, {1: ["x"], 2: ["y"]})
    with pytest.raises(MismatchError, match=r"nothing to score.*1 of 2 would match"):
        Corpus.build({"COCO_1": "a", "COCO_9": "b"}, {1: ["x"], 2: ["y"]}, missing="skip")


def check(
    candidates: Any, references: Any = REFERENCES, **settings: Any
) -> dict[str, cidery.corpus.Notice]:
    with pytest.warns(InputWarning):
        table = cidery.score(
            candidates, references, ["rouge-l"], frequencies=FREQUENCIES, **settings
        )
    with pytest.raises(InputError, match=r"\(an error because of strict=True, --strict\)"):
        cidery.score(
            candidates, references, ["rouge-l"], frequencies=FREQUENCIES, strict=True, **settings
        )
    assert pickle.loads(pickle.dumps(table)).notices == table.notices
    listed = json.loads(json.dumps(table.to_dict()))["notices"]
    assert [one["message"] for one in listed] == [str(notice) for notice in table.notices]
    return {notice.kind: notice for notice in table.notices}


def test_repeated_rows() -> None:
    rows = [*CANDIDATES.items(), (2, CANDIDATES[2]), (3, "something else")]
    (notice,) = check(rows, candidates_name="results.csv").values()
    assert str(notice) == (
        "results.csv: 8 captions of 6 images: 2 have more than one, such as 2 (2 additional "
        "captions, 1 of them repeated exactly); each counts, so remove all but one of each image"
    )
    twice = check([*CANDIDATES.items()] * 2)
    assert "6 of 12 captions repeat another of the same image" in str(twice["repeated"])


def test_samples_are_not_repeated_rows() -> None:
    samples = {i: [caption, caption, f"{caption}!"] for i, caption in CANDIDATES.items()}
    table = cidery.score(samples, REFERENCES, ["rouge-l"])
    assert table.notices == ()


def test_repeated_references() -> None:
    doubled = {i: group * 2 for i, group in REFERENCES.items()}
    assert "12 of 24 references repeat another" in str(check(CANDIDATES, doubled)["repeated"])


@pytest.mark.parametrize("text", ["NaN", "nan", "None", "null", " <NA> ", "N/A"])
def test_missing_values_as_text(text: str) -> None:
    (notice,) = check(CANDIDATES | {1: text}).values()
    assert f"1 of 6 captions seems to be a missing value, such as {text!r} of image 1" in str(
        notice
    )


def test_empty_captions() -> None:
    (notice,) = check(CANDIDATES | {1: "", 2: " "}).values()
    assert (notice.kind, notice.count) == ("empty", 2)
    assert "2 of 6 captions are empty, such as that of image 1" in str(notice)
    assert "references: 1 of 12 references is empty" in str(
        check(CANDIDATES, REFERENCES | {0: ["", "a dog"]})["empty"]
    )


def test_lists_of_words() -> None:
    words = {i: caption.split() for i, caption in CANDIDATES.items()}
    (notice,) = check(words).values()
    assert str(notice).startswith(
        "candidates: all captions of 6 of 6 images are single words, such as ['a', 'dog', "
        "'outside'] of image 0: a list is a list of captions; join words by blanks"
    )
    references = {i: group[0].split() for i, group in REFERENCES.items()}
    assert "all references of 6 of 6 images" in str(check(CANDIDATES, references)["words"])


def test_debris_is_counted_with_an_example_and_removed_by_name() -> None:
    dirty = {i: f"Answer: {caption}<|im_end|>" for i, caption in CANDIDATES.items()}
    found = check(dirty)
    assert list(found) == ["special-tokens", "prefix"]
    assert str(found["special-tokens"]) == (
        "candidates: 6 of 6 captions have special tokens of a model (<|im_end|>, </s>, [PAD]), "
        "such as 'Answer: a dog outside<|im_end|>' of image 0; "
        'pass clean="special-tokens" (--clean special-tokens) to remove them'
    )
    with pytest.warns(InputNote, match="candidates: 6 of 6 captions were cleaned, such as 'Answer"):
        table = cidery.score(dirty, REFERENCES, ["rouge-l"], clean="special-tokens,prefix")
    clean = cidery.score(CANDIDATES, REFERENCES, ["rouge-l"])
    assert table.corpus == clean.corpus
    assert "|clean:prefix+special-tokens|version:" in table.signatures["rouge-l"]
    assert "clean" not in clean.signatures["rouge-l"]


def test_clean_names_kinds() -> None:
    with pytest.raises(SettingError, match=r"clean \(--clean\): unknown kind of debris 'html'"):
        cidery.score(CANDIDATES, REFERENCES, ["rouge-l"], clean="html")
    with pytest.raises(SettingError, match="'refusal' is found but cannot be removed"):
        cidery.score(CANDIDATES, REFERENCES, ["rouge-l"], clean=["refusal"])


def test_few_refusals_of_people_are_no_debris() -> None:
    references = {i: [f"a {i}"] for i in range(400)}
    people = Corpus.build(
        {i: f"{i}" for i in references}, references | {7: ["I am unable to see an image above."]}
    )
    arguments = people.references, people.reference_images(), people.images, "r"
    assert find_suspicious(*arguments, "references") == []
    assert [notice.kind for notice in find_suspicious(*arguments)] == ["refusal"]


def test_compare_collects_the_notices_of_all_systems() -> None:
    references = ReadReferences(REFERENCES)
    references.notices = (cidery.corpus.Notice("log", "refs.json: read as a log"),)
    systems = {"a": CANDIDATES, "b": CANDIDATES | {1: ""}}
    with pytest.warns(InputWarning) as caught:
        compared = cidery.compare(systems, references, ["rouge-l"], resamples=10)
    assert [str(one.message) for one in caught if one.category is not InputWarning] == []
    assert [notice.kind for notice in compared.notices] == ["log", "empty"]
    assert [one["level"] for one in compared.to_dict()["notices"]] == ["note", "warning"]
    with pytest.raises(InputError, match="b: 1 of 6 captions is empty"):
        cidery.compare(systems, references, ["rouge-l"], strict=True)
