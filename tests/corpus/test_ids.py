"""How ids of two sides match, one by one and all at once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cidery.corpus import ImageId, check_captions, index_ids, match_ids
from cidery.errors import InputError

ids = st.one_of(
    st.lists(st.integers(-20, 20), unique=True),
    st.lists(st.integers(-20, 20).map(str), unique=True),
    st.lists(st.sampled_from(["1", "01", "-0", "-1", "a", "٧", "+2", "2.0"]), unique=True),
)


@pytest.mark.parametrize(
    ("given", "images", "expected"),
    [
        ([1, 2], [2, 1], [1, 0]),
        ([1, 2], ["2", "1"], [1, 0]),
        (["1", "2"], [2, 1], [1, 0]),
        ([1], ["01", "1"], [1]),
        (["01"], [1], [-1]),
        ([1], ["1", "a"], [-1]),
        (["1", "a"], [1], [-1, -1]),
        ([1, "1"], [1], [0, -1]),
        ([-5], ["-5"], [0]),
        ([0], ["-0"], [-1]),
        ([1], ["9" * 5000], [-1]),
    ],
)
def test_matches(given: list[ImageId], images: list[ImageId], expected: list[int]) -> None:
    assert match_ids(given, images).tolist() == expected


@given(ids, ids)
def test_all_at_once_is_one_by_one(given: list[ImageId], images: list[ImageId]) -> None:
    """Where ids of a side are of one kind; `match_ids` is stricter with strings beside integers."""
    places = index_ids(images)
    found = match_ids(given, images).tolist()
    for image, place in zip(given, found, strict=True):
        if place >= 0:
            assert places[image] == place
            assert str(images[place]) == str(image)


def test_captions_can_be_checked_without_references() -> None:
    check_captions(["a dog", "ein Café"], [1, 2], "results.json")
    with pytest.raises(InputError, match=r"^results.json: caption 1 of image 2 is 7, expected"):
        check_captions(["a dog", 7], [1, 2], "results.json")  # type: ignore[list-item]
    with pytest.raises(InputError, match="caption 2 of image 1 has half of a surrogate pair"):
        check_captions(["a dog", "\ud800"], [1, 1], "results.json")
