from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import numpy as np
import pytest

import cidery
from cidery.errors import MismatchError, SettingError, UnreliableWarning
from support.example import Example

pytestmark = pytest.mark.filterwarnings("ignore::cidery.errors.UnreliableWarning")


def test_the_contract(example: Example) -> None:
    table = cidery.score(example.system_a, example.references)
    assert list(table.corpus) == [
        "bleu-1", "bleu-2", "bleu-3", "bleu-4", "rouge-l", "cider-d", "cider-r",
    ]  # fmt: skip
    assert list(table.ids) == list(example.system_a)
    assert table.each["cider-d"].dtype == np.float64
    assert table.each["cider-d"].shape == (72,)
    assert table.corpus["cider-d"] == pytest.approx(table.each["cider-d"].mean())
    assert json.loads(table.to_json()) == table.to_dict()
    assert set(table.to_dict()) == {"images", "scores", "signatures"}
    assert table.to_dict()["images"] == 72
    frame = table.to_pandas()
    np.testing.assert_array_equal(frame["rouge-l"], table.each["rouge-l"])
    assert list(frame.index) == list(example.system_a)
    assert "| cider-d | 1.1376 |" in table.to_markdown()
    assert r"cider-d & 1.1376 \\" in table.to_latex()
    assert "cider-d  1.1376" in str(table)


def test_copies_and_pickles(example: Example) -> None:
    table = cidery.score(example.system_a, example.references, by="length")
    for same in (pickle.loads(pickle.dumps(table)), copy.deepcopy(table)):
        assert same.to_dict() == table.to_dict()
        assert same.interval("bleu-4") == table.interval("bleu-4")
        assert str(same.slices) == str(table.slices)
        with pytest.raises(TypeError):
            same.corpus["cider-d"] = 0
    compared = cidery.compare({"a": example.system_a, "b": example.system_b}, example.references)
    assert str(pickle.loads(pickle.dumps(compared))) == str(compared)


def test_rows_follow_the_candidates(example: Example) -> None:
    backwards = dict(reversed(example.system_a.items()))
    before = cidery.score(example.system_a, example.references, ["cider-d"])
    after = cidery.score(backwards, example.references, ["cider-d"])
    assert list(after.ids) == list(backwards)
    np.testing.assert_array_equal(after.each["cider-d"], before.each["cider-d"][::-1])


def test_candidates_and_references_in_each_others_place_are_warned_of(example: Example) -> None:
    taken = [(image, text) for image, texts in example.references.items() for text in texts]
    with pytest.warns(UnreliableWarning, match="b.json has one caption .* a.json several: are"):
        cidery.score(
            *(taken, {image: [text] for image, text in example.system_a.items()}, ["bleu-1"]),
            candidates_name="a.json",
            references_name="b.json",
        )


def test_several_candidates_for_one_image_are_no_matter_for_a_warning(
    recwarn: pytest.WarningsRecorder,
) -> None:
    cidery.score([(1, "a dog"), (1, "a cat")], {1: ["a dog"]}, ["bleu-1"])
    assert not recwarn.list


def test_lists_and_dicts_agree(example: Example) -> None:
    images = list(example.references)
    by_list = cidery.score(
        [example.system_a[i] for i in images], [example.references[i] for i in images]
    )
    by_dict = cidery.score({i: example.system_a[i] for i in images}, example.references)
    assert by_list.corpus == by_dict.corpus
    assert list(by_list.ids) == list(range(72))


def test_signatures_tell_numbers_apart(example: Example) -> None:
    def sign(metric: Any, **settings: Any) -> Any:
        return cidery.score(example.system_a, example.references, [metric], **settings).signatures

    assert sign("cider-d") == {
        "cider-d": "cider-d|n:4|sigma:6|faithful:coco|refs:5|tokenizer:ptb"
        f"|frequencies:references-72|version:{cidery.__version__}"
    }
    stemmed = sign("cider", frequencies="coco-val2014")["cider"]
    plain = sign("cider-d", frequencies="coco-val2014")["cider-d"]
    assert "frequencies:coco-val2014-" in stemmed
    assert stemmed.split("frequencies:")[1] != plain.split("frequencies:")[1]
    assert "faithful:paper" in sign("cider-d", faithful="paper")["cider-d"]
    assert "tokenizer:callable:" in sign("bleu-1", tokenizer=str.split)["bleu-1"]
    assert "frequencies" not in sign("rouge-l")["rouge-l"]


def test_a_table_cannot_be_changed(example: Example) -> None:
    table = cidery.score(example.system_a, example.references, ["rouge-l"])
    with pytest.raises(TypeError):
        table.corpus["rouge-l"] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        table.each["rouge-l"][0] = 1.0


def test_missing_images(example: Example) -> None:
    some = dict(list(example.system_a.items())[:60])
    with pytest.raises(MismatchError, match="12 of 72"):
        cidery.score(some, example.references)
    table = cidery.score(some, example.references, missing="skip")
    assert table.image_count == 60
    kept = {image: example.references[image] for image in some}
    assert table.corpus == cidery.score(some, kept).corpus
    assert "references-60" in table.signatures["cider-d"]


def test_compare(example: Example) -> None:
    comparison = cidery.compare(
        {"a": example.system_a, "b": example.system_b}, example.references, ["bleu-4", "cider-d"]
    )
    test = comparison.tests["cider-d"]["a", "b"]
    scores = [t.corpus["cider-d"] for t in comparison.tables.values()]
    assert test.difference == pytest.approx(scores[0] - scores[1])
    assert test.p == test.adjusted_p < 1e-6
    assert "there is one comparison by each metric" in comparison.note
    first, second = (table.each["cider-d"] for table in comparison.tables.values())
    wins = np.mean((first > second) + 0.5 * (first == second))
    assert test.wins == pytest.approx(wins)
    assert f"| {100 * wins:.0f} % |" in comparison.table().to_markdown()
    assert json.loads(json.dumps(comparison.to_dict()))["tests"]["bleu-4"][0]["systems"] == [
        "a",
        "b",
    ]
    assert "| system | bleu-4 | cider-d |" in comparison.to_markdown()
    assert r"\toprule" in comparison.to_latex()


def test_compare_three_systems_keeps_common_images(example: Example) -> None:
    some = dict(list(example.system_a.items())[:70])
    others = dict(list(example.system_b.items())[5:])
    systems = {"all": example.system_a, "some": some, "others": others}
    with pytest.raises(MismatchError, match="2 of 72 images have references but no candidates"):
        cidery.compare(systems, example.references, ["rouge-l"])
    comparison = cidery.compare(systems, example.references, ["rouge-l"], missing="skip")
    assert {t.image_count for t in comparison.tables.values()} == {65}
    assert set(comparison.tests["rouge-l"]) == {
        ("all", "some"),
        ("all", "others"),
        ("some", "others"),
    }
    assert comparison.tests["rouge-l"]["all", "some"].difference == 0
    assert "| others | 3" in comparison.to_markdown()


def test_bad_input_is_explained() -> None:
    with pytest.raises(SettingError, match="unknown tokenizer 'stanford'; known: ptb, ptb-coco"):
        cidery.score(["a"], [["a"]], tokenizer="stanford")
    with pytest.raises(SettingError, match="no metrics given"):
        cidery.score(["a"], [["a"]], [])
    with pytest.raises(SettingError, match="no stemmer for 'klingon'; Snowball has: "):
        cidery.score(["a"], [["a"]], [cidery.Cider(stemmer="klingon")])
