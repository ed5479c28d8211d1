"""Items of studies: made from captions, read from files, checked; rules for collected sentences."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cidery.errors import FormatError, InputError, SettingError
from cidery.meta import Record, read_judgment_records
from cidery_server.studies.items import Sources, check_content, get_answers, make_items
from cidery_server.studies.sentences import SentenceRules

EXAMPLES = Path(__file__).parents[2] / "src" / "cidery" / "corpus" / "bundled"
SOURCES = Sources(
    {
        "ours": {"1": ["a cat"], "2": ["a dog"], "3": ["same"]},
        "theirs": {"1": ["a cap"], "2": ["a fog", "a log"], "3": ["same"]},
    },
    {"1": ["the cat", "one cat"], "2": ["the dog"]},
)


def test_pairs_leave_out_equal_captions() -> None:
    systems = {"systems": ["ours", "theirs"]}
    assert make_items("pairwise", SOURCES) == [
        {"image": "1", "pair": ["a cat", "a cap"], **systems},
        {"image": "2", "pair": ["a dog", "a fog"], **systems},
    ]


def test_triplets_compare_with_each_reference() -> None:
    made = make_items("triplet", SOURCES)
    assert [item["reference"] for item in made] == ["the cat", "one cat", "the dog"]
    assert len(make_items("triplet", SOURCES, references_each=1)) == 2


def test_ratings_of_captions_and_of_sets() -> None:
    assert [item["caption"] for item in make_items("rating", SOURCES)] == [
        *("a cat", "a cap", "a dog", "a fog", "a log", "same", "same"),
    ]
    sets = make_items("rating", SOURCES, sets=True)
    assert sets == [{"image": "2", "captions": ["a fog", "a log"], "system": "theirs"}]


def test_sets_of_all_systems_side_by_side() -> None:
    sets = {name: {"1": [f"a {name}", f"the {name}"], "2": ["one"]} for name in ("dog", "cat")}
    (made,) = make_items("rating", Sources(sets, {}), together=True)
    assert made == {
        "image": "1",
        "sets": [["a dog", "the dog"], ["a cat", "the cat"]],
        "systems": ["dog", "cat"],
    }
    assert check_content("rating", Record(made, "line 1")) == made
    many = dict.fromkeys(map(str, range(13)), sets["dog"])
    with pytest.raises(InputError, match="at most 12 sets are shown side by side"):
        make_items("rating", Sources(many, {}), together=True)
    with pytest.raises(FormatError, match="expected 2 systems, found 3"):
        check_content("rating", Record({**made, "systems": ["a", "b", "c"]}, "line 1"))


def test_collection_asks_for_every_image() -> None:
    assert make_items("collection", Sources({}, {"7": ["x"]})) == [{"image": "7"}]


def test_samples_are_drawn_by_the_seed() -> None:
    sources = Sources.read(
        {name: EXAMPLES / f"{name}.json" for name in ("system_a", "system_b")},
        EXAMPLES / "references.json",
    )
    one, same, other = (make_items("pairwise", sources, sample=9, seed=s) for s in (1, 1, 2))
    assert one == same != other
    assert len({item["image"] for item in one}) == 9


@pytest.mark.parametrize(
    ("design", "sources", "message"),
    [
        ("pairwise", Sources({"ours": {"1": ["a"]}}, {}), "two systems, not of 1"),
        ("triplet", Sources(SOURCES.results, {}), "image '1' has no references"),
        ("collection", Sources({}, {}), "neither has an image"),
    ],
)
def test_impossible_items(design: Any, sources: Sources, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_items(design, sources)


def test_a_sample_of_nothing() -> None:
    with pytest.raises(SettingError, match="the sample must contain at least 1 image, not 0"):
        make_items("pairwise", SOURCES, sample=0)


@pytest.mark.parametrize(
    ("design", "content", "message"),
    [
        ("pairwise", {"pair": ["a", "b"]}, "expected text in 'image', found None"),
        ("pairwise", {"image": 1, "pair": ["a"]}, "expected at least 2 in 'pair', found 1"),
        ("pairwise", {"image": 1, "pair": ["a", "b", "c"]}, "a pair has 2 captions, not 3"),
        ("triplet", {"image": 1, "pair": ["a", "b"]}, "expected text in 'reference'"),
        ("rating", {"image": 1}, "expected text in 'caption'"),
        (
            "rating",
            {"image": 1, "caption": "x" * 2001},
            "a sentence has 2001 characters, more than 2000",
        ),
        (
            "rating",
            {"image": 1, "caption": "a\0b"},
            "a text contains a NUL character or an unpaired surrogate",
        ),
        ("rating", {"image": 1, "captions": ["a", 2]}, "expected a list of texts in 'captions'"),
    ],
)
def test_refused_content(design: Any, content: dict[str, Any], message: str) -> None:
    with pytest.raises(FormatError, match=f"item 3: {message}"):
        check_content(design, Record(content, "item 3"))


def test_items_are_lines_of_judgments(tmp_path: Path) -> None:
    line = {"image": 4, "pair": ["a", "b"], "votes": [1, -1], "kind": "HM", "extra": "x"}
    path = tmp_path / "items.jsonl"
    path.write_text(json.dumps(line) + "\n")
    (record,) = read_judgment_records(path)
    assert check_content("pairwise", record) == {"image": "4", "pair": ["a", "b"], "kind": "HM"}
    assert get_answers("pairwise", record) == [1, -1]
    assert get_answers("rating", record) == []
    with pytest.raises(FormatError, match="a vote is 1"):
        get_answers("pairwise", Record({"vote": 2}, "here"))


def test_addresses_of_images(local_app: None) -> None:
    from cidery_server.studies.models import Assignment, Item, Study
    from cidery_server.studies.pages.judges import image_address

    def address(images: str) -> str:
        study = Study(name="some", images=images)
        item = Item(pk=7, study=study, content={"image": "../a b?c"})
        return image_address(Assignment(study=study, item=item))

    assert address("") == ""
    assert address("https://x.org/{image}.jpg") == "https://x.org/..%2Fa%20b%3Fc.jpg"
    assert address("photos/{image}.jpg") == "/studies/some/images/7"


def test_rules_of_sentences() -> None:
    rules = SentenceRules(min_words=3, max_words=6, forbidden=("There is",))
    assert rules.refuse("A dog, running!", known=()) == ""
    assert "too short: 2 words" in rules.refuse("A dog.", known=())
    assert "too long: 7 words" in rules.refuse("a b c d e f g", known=())
    assert "without 'There is'" in rules.refuse("there  IS a dog", known=())
    assert rules.refuse("There, isolated dogs run", known=()) == ""
    assert "given before" in rules.refuse("a dog running", known=["A dog – running."])
    assert "links" in rules.refuse("mail me at a@b.org", known=())
    assert "are letters" in rules.refuse("11 22 33 a", known=())
    assert "same words" in rules.refuse("dog dog dog", known=())
