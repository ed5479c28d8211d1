from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cidery.corpus import Corpus
from cidery.errors import CideryError, InputError, MismatchError, MissingExtraError, SettingError
from support.captions import CANDIDATES, REFERENCES, captions, reference_sets


def grouped(corpus: Corpus) -> dict[Any, list[str]]:
    """Return the references as they were before they were laid flat."""
    bounds = corpus.reference_offsets.tolist()
    return {
        image: corpus.references[start:end]
        for image, start, end in zip(corpus.images, bounds, bounds[1:], strict=False)
    }


def row_pairs(corpus: Corpus) -> list[tuple[Any, str]]:
    """Return each row with the image that it points to."""
    owners = [corpus.images[index] for index in corpus.candidate_images]
    return list(zip(owners, corpus.candidates, strict=True))


def message(candidates: Any, references: Any, **settings: Any) -> str:
    with pytest.raises(CideryError) as caught:
        Corpus.build(candidates, references, **settings)
    return str(caught.value)


def test_images_follow_the_references_and_rows_the_candidates() -> None:
    corpus = Corpus.build(CANDIDATES, REFERENCES)
    assert corpus.images == ("kitchen", "garden", "harbour")
    assert corpus.reference_offsets.tolist() == [0, 2, 5, 6]
    assert corpus.candidates == ["a dog digs", "a boat", "a cat on a stove"]
    assert corpus.candidate_images.tolist() == [1, 2, 0]
    assert corpus.candidate_ids == ["garden", "harbour", "kitchen"]
    assert grouped(corpus) == REFERENCES


def test_arrays_are_int64_and_read_only() -> None:
    corpus = Corpus.build(CANDIDATES, REFERENCES)
    for array in (corpus.reference_offsets, corpus.candidate_images):
        assert array.dtype == np.int64
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@given(reference_sets(), st.data())
def test_any_order_of_rows_finds_its_image(references: dict[Any, list[str]], data: Any) -> None:
    rows = [(image, data.draw(captions)) for image in references] * 2
    rows = data.draw(st.permutations(rows))
    corpus = Corpus.build(rows, references)
    assert row_pairs(corpus) == rows
    assert corpus.candidate_ids == [image for image, _ in rows]
    assert grouped(corpus) == references


@given(reference_sets())
def test_skip_equals_building_from_the_common_images(references: dict[Any, list[str]]) -> None:
    absent = "".join(map(str, references)) + "?"
    common = dict(list(references.items())[1:])
    candidates = {image: group[0] for image, group in references.items()}
    if not common:
        assert "no image has both" in message(candidates, {absent: ["x"]}, missing="skip")
        return
    corpus = Corpus.build(candidates, common, missing="skip")
    assert grouped(corpus) == common
    assert row_pairs(corpus) == [(image, group[0]) for image, group in common.items()]
    assert (
        grouped(Corpus.build(dict(list(candidates.items())[1:]), references, missing="skip"))
        == common
    )


@pytest.mark.parametrize(
    "candidates",
    [
        ["a", "b"],
        [["a"], ["b"]],
        ("a", "b"),
        np.array(["a", "b"]),
        np.array(["a", "b"], dtype=object),
    ],
)
def test_lists_match_by_position(candidates: Any) -> None:
    corpus = Corpus.build(candidates, [["x", "y"], ["z"]])
    assert corpus.images == (0, 1)
    assert corpus.candidates == ["a", "b"]
    assert corpus.candidate_ids == [0, 1]
    assert corpus.references == ["x", "y", "z"]


def test_several_candidates_of_an_image_are_a_row_each() -> None:
    corpus = Corpus.build({"a": ["one", "two"], "b": ["three"]}, {"b": ["x"], "a": ["y"]})
    assert row_pairs(corpus) == [("a", "one"), ("a", "two"), ("b", "three")]
    assert corpus.candidate_ids == ["a", "a", "b"]


def test_references_may_be_tuples_and_arrays() -> None:
    references: Any = {"a": ("1", "2"), "b": np.array(["3"])}
    corpus = Corpus.build({"a": "x", "b": "y"}, references)
    assert grouped(corpus) == {"a": ["1", "2"], "b": ["3"]}
    references = np.array([["1", "2"]])
    assert grouped(Corpus.build(["x"], references)) == {0: ["1", "2"]}


def test_integers_match_the_strings_that_spell_them() -> None:
    corpus = Corpus.build({7: "a", -8: "b"}, {"-8": ["x"], "7": ["y"]})
    assert corpus.images == ("-8", "7")
    assert corpus.candidate_images.tolist() == [1, 0]
    assert corpus.candidate_ids == [7, -8]
    corpus = Corpus.build([("8", "b"), ("7", "a")], {7: ["y"], 8: ["x"]})
    assert corpus.images == (7, 8)
    assert corpus.candidate_images.tolist() == [1, 0]
    assert corpus.candidate_ids == ["8", "7"]


@pytest.mark.parametrize("spelled", ["7.0", "-7", "\u0667"])
def test_other_spellings_do_not_match(spelled: str) -> None:
    assert "no ids match" in message({7: "a"}, {spelled: ["x"]})


def test_spelling_counts_only_where_all_strings_are_integers() -> None:
    assert "no ids match" in message({7: "a"}, {"7": ["x"], "cat.jpg": ["y"]})


def test_numpy_ids_become_plain_ones() -> None:
    corpus = Corpus.build({np.int64(7): "a"}, {np.str_("7"): ["x"]})
    assert corpus.candidate_ids == [7] and type(corpus.candidate_ids[0]) is int
    assert corpus.images == ("7",) and type(corpus.images[0]) is str


@pytest.mark.parametrize("image", [1.0, None, True, (1, 2)])
def test_other_ids_are_refused(image: Any) -> None:
    expected = f"candidates: an image id is a string or an integer, not {image!r}"
    assert message({image: "a"}, {"a": ["x"]}) == expected


def test_one_image_without_references_is_named() -> None:
    rows = [("kitchen", "a"), ("391895", "b")]
    assert message(rows, {"kitchen": ["x"]}, candidates_name="results.json") == (
        "image '391895' has candidates but no references (results.json, row 2); "
        'pass missing="skip" (--missing skip) to leave it out'
    )


def test_both_sides_are_counted_with_examples() -> None:
    candidates = dict.fromkeys((0, 1, 2, 3, 4), "x")
    references = {image: ["x"] for image in (4, 5, 6)}
    with pytest.raises(MismatchError) as caught:
        Corpus.build(candidates, references)
    assert str(caught.value) == (
        "4 of 5 images have candidates but no references: 0, 1, 2, … (candidates, row 1); "
        "2 of 3 images have references but no candidates: 5, 6 (references); "
        'pass missing="skip" (--missing skip) to leave them out'
    )


def test_an_image_with_no_candidate_in_its_list_lacks_candidates() -> None:
    text = message({"a": [], "b": ["x"]}, {"a": ["y"], "b": ["z"]})
    assert text.startswith("image 'a' has references but no candidates (references)")


def test_ids_of_different_kinds_are_shown_from_both_sides() -> None:
    assert message({391895: "x"}, {"val_391895.jpg": ["y"], "b.jpg": ["z"]}) == (
        "no ids match: candidates have integers such as 391895, references have "
        "strings such as 'val_391895.jpg', 'b.jpg'; use the same ids on both sides (1 of 1 would "
        "match by the number at their end, which is only done where all match and are one to one)"
    )
    assert "have ids such as 1, 'b'" in message({1: "x", "b": "y"}, {"c": ["z"]})


def test_nothing_left_after_skipping_is_an_error() -> None:
    assert message({1: "x"}, {2: ["y"]}, missing="skip") == (
        "nothing to score: no image has both candidates (candidates) and references (references)"
    )


def test_empty_lists_of_references_are_refused_or_skipped() -> None:
    references = {"a": ["x"], "b": []}
    candidates = {"a": "1", "b": "2"}
    assert message(candidates, references) == (
        "image 'b' has an empty list of references (references); "
        'pass missing="skip" (--missing skip) to leave it out'
    )
    assert "2 of 2 images have an empty list" in message(candidates, {"a": [], "b": []})
    corpus = Corpus.build(candidates, references, missing="skip")
    assert grouped(corpus) == {"a": ["x"]}
    assert corpus.candidates == ["1"]
    assert grouped(Corpus.build(["1", "2"], [[], ["y"]], missing="skip")) == {1: ["y"]}


def test_lists_of_different_length_are_refused() -> None:
    assert message(["a"], [["x"], ["y"]]) == (
        "lists match by position, but candidates have 1 entries and references 2; "
        "pass dicts by image id to match by id"
    )


def test_a_list_does_not_match_ids() -> None:
    assert "candidates are a list, which matches by position, but references have ids" in message(
        ["a"], {"a": ["x"]}
    )
    assert "candidates have ids, but references are a list, which matches by position" in message(
        {"a": "x"}, [["x"]]
    )
    assert "candidates have ids, but references are a list" in message([(0, "x")], [["x"]])


@pytest.mark.parametrize("empty", [{}, []])
def test_empty_sides_are_refused(empty: Any) -> None:
    assert message(empty, REFERENCES) == "candidates: there are no captions"
    assert message(CANDIDATES, empty) == "references: there are no captions"


@pytest.mark.parametrize("missing", ["error", "skip"])
def test_images_without_any_candidate_are_refused(missing: str) -> None:
    text = message({"kitchen": [], "garden": []}, REFERENCES, missing=missing)
    assert text == "candidates: there are no captions"


def test_a_bare_string_is_no_list_of_references() -> None:
    assert message({"a": "x"}, {"a": "a cat"}) == (
        "references: image 'a' has a bare string, expected a list of captions; "
        "write ['a cat'] if it is the only one"
    )
    assert "image 0 has a bare string" in message(["x"], ["a cat"])


def test_references_are_lists() -> None:
    assert (
        message({"a": "x"}, {"a": None})
        == "references: image 'a' has None, expected a list of captions"
    )


@pytest.mark.parametrize("value", ["results.json", {"a"}, 3, iter(["a"])])
def test_sides_are_dicts_or_lists(value: Any) -> None:
    expected = f"candidates: expected a dict by image id or a list, not {type(value).__name__}; "
    assert message(value, REFERENCES).startswith(expected)


def test_rows_are_all_pairs() -> None:
    expected = "candidates: expected every entry to be an (id, caption) tuple, as the first is"
    assert message([("a", "x"), "y"], {"a": ["x"]}) == expected
    assert message([("a", "x"), ("a", "x", "y")], {"a": ["x"]}) == expected


@pytest.mark.parametrize("value", [None, 3, math.nan, b"bytes"])
def test_captions_are_text(value: Any) -> None:
    assert message({"a": "x", "b": value}, {"a": ["x"], "b": ["y"]}) == (
        f"candidates: caption 1 of image 'b' is {value!r}, expected text"
    )
    assert message({"a": "x"}, {"a": ["x", value]}) == (
        f"references: caption 2 of image 'a' is {value!r}, expected text"
    )
    assert "caption 2 of image 'a'" in message({"a": ["x", value]}, {"a": ["x"]})


def test_half_a_surrogate_pair_is_refused() -> None:
    references = {"a": ["fine 😀", "é", "cut \ud83d"]}
    with pytest.raises(InputError) as caught:
        Corpus.build({"a": "x"}, references)
    assert str(caught.value) == (
        "references: caption 3 of image 'a' has half of a surrogate pair, which is not a valid "
        r"character: 'cut \ud83d'; the text was truncated or decoded wrongly"
    )


def test_long_values_are_cut_in_messages() -> None:
    assert len(message({"a": "x"}, {"a": "long " * 1000})) < 250


def test_empty_captions_are_captions() -> None:
    corpus = Corpus.build({"a": ""}, {"a": ["", "x"]})
    assert corpus.candidates == [""]
    assert corpus.references == ["", "x"]


def test_missing_is_error_or_skip() -> None:
    with pytest.raises(SettingError, match='missing is "error" or "skip", not \'drop\''):
        Corpus.build(CANDIDATES, REFERENCES, missing="drop")  # type: ignore[arg-type]


def test_a_missing_extra_says_how_to_install_it() -> None:
    error = MissingExtraError.to("read Parquet files", package="pyarrow", extra="parquet")
    assert isinstance(error, ImportError)
    assert error.name == "pyarrow"
    assert str(error) == (
        "pyarrow is needed to read Parquet files; install it with: pip install 'cidery[parquet]'"
    )
