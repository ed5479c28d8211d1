"""Slices: files that say which image is in which, groupings, and what does not fit."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cidery.corpus import MAX_SLICES, GroupingData
from cidery.errors import FormatError, InputError, MismatchError, SettingError, SliceWarning
from cidery.files import find_slices, read_slices, slice_images, write_rows

IN, OUT = ("in-domain",), ("out-domain",)


def never() -> Any:
    raise AssertionError("not asked for")


UNDESCRIBED = GroupingData(never, never)


def members(by: Any, images: Any, **settings: Any) -> dict[str, list[Any]]:
    found = slice_images(by, images, settings.pop("described", UNDESCRIBED), **settings)
    return {name: [images[i] for i in places] for name, places in found.members.items()}


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.csv", "image_id,domain\n1,in-domain\n2,out-domain\n", {"1": IN, "2": OUT}),
        ("a.tsv", "domain\tid\nin-domain\t1\nout-domain\t2\n", {"1": IN, "2": OUT}),
        ("a.csv", "id,tags\n1,a|b\n2,\n3, b | b \n", {"1": ("a", "b"), "2": (), "3": ("b",)}),
        ("a.json", {"x": "a", "y": ["b", "a"], "z": None}, {"x": ("a",), "y": ("b", "a"), "z": ()}),
        ("a.json", [{"image_id": 7, "tag": 3}, {"image_id": 8}], {7: ("3",), 8: ()}),
        ("a.jsonl", '{"image_id": 7, "seen": true}\n', {7: ("true",)}),
        # nocaps' annotations have domains in their images, and many other fields.
        (
            "nocaps.json",
            {
                "images": [
                    {"id": 0, "file_name": "0.jpg", "width": 3, "domain": "in-domain"},
                    {"id": 1, "file_name": "1.jpg", "width": 4, "domain": "out-domain"},
                ],
                "annotations": [{"id": 0, "image_id": 0, "caption": "a cat"}],
            },
            {0: IN, 1: OUT},
        ),
        # The same image again, in the same slice, as files with a record per caption have it.
        ("a.jsonl", '{"id": 1, "tag": "a"}\n{"id": 1, "tag": "a"}\n', {1: ("a",)}),
    ],
)
def test_files(name: str, content: Any, expected: dict[Any, Any]) -> None:
    text = content if isinstance(content, str) else json.dumps(content)
    assert read_slices(text.encode(), name=name) == expected
    assert read_slices(gzip.compress(text.encode()), name=f"{name}.gz") == expected


def test_a_column_can_be_named(tmp_path: Path) -> None:
    path = tmp_path / "both.parquet"
    write_rows(path, {"photo": ["a", "b"], "domain": ["x", "y"], "source": ["flickr", "coco"]})
    assert read_slices(path, "source", id_field="photo") == {"a": ("flickr",), "b": ("coco",)}
    karpathy = {"images": [{"cocoid": 5, "filepath": "val2014", "sentences": []}]}
    assert read_slices(json.dumps(karpathy).encode(), "filepath") == {5: ("val2014",)}
    in_captions = {
        "images": [{"id": 1}],
        "annotations": [{"image_id": 1, "caption": "a", "source": "x"}],
    }
    assert read_slices(json.dumps(in_captions).encode(), "source") == {1: ("x",)}


@pytest.mark.parametrize(
    ("name", "content", "field", "message"),
    [
        ("a.csv", "id,x,y\n1,2,3\n", None, r"no unique column of slices; found id, x, y; pass"),
        ("a.csv", "id,x,y\n1,2,3\n", "z", "there is no column 'z': a.csv has id, x, y"),
        ("a.csv", "name,x\n1,2\n", None, "no column names the image; expected one of image_id,"),
        (
            *("a.csv", "id,x\n1,p\n2,q\n1,q\n", None),
            "a.csv, row 3: image '1' is in 'q' here, but in 'p' in row 1; give an image once",
        ),
        ("a.json", '{"a": {"b": 1}}', None, "a.json, image 'a': a slice is {'b': 1}, expected"),
        ("a.json", '{"a": ["a caption"]}', "domain", "'domain': a.json has no fields"),
        ("a.json", "{}", None, "there are no slices in it"),
        ("a.json", "[1]", None, "entry 1: expected an object with an id and slices, not 1"),
        ("a.json", '[{"id": null, "x": 1}]', None, "entry 1: the id is null, expected"),
    ],
)
def test_files_that_cannot_be_read(
    name: str, content: str, field: str | None, message: str
) -> None:
    with pytest.raises((FormatError, InputError), match=message):
        read_slices(content.encode(), field, name=name)


def test_images_are_matched_by_either_spelling() -> None:
    assert members({"1": "a", "2": "b"}, [1, 2]) == {"a": [1], "b": [2]}
    assert members({1: "a", 2: "b"}, ["2", "1"]) == {"a": ["1"], "b": ["2"]}
    assert members(["a", "b", "a"], [0, 1, 2]) == {"a": [0, 2], "b": [1]}
    assert members(np.array([10, 9, 10]), [0, 1, 2]) == {"9": [1], "10": [0, 2]}
    assert members({1: ["a", "b"], 2: {"b"}}, [1, 2]) == {"a": [1], "b": [1, 2]}


def test_what_does_not_fit_is_said() -> None:
    with pytest.warns(SliceWarning) as told:
        found = members({1: "a", 7: "a", 8: "b", 3: None}, [1, 2, 3, 4], name="tags.csv")
    assert found == {"a": [1], "(none)": [2, 3, 4]}
    assert [str(warning.message) for warning in told] == [
        "tags.csv: 2 of 4 ids are not among the scored images: 7, 8",
        "tags.csv: 3 of 4 images have no slice and form '(none)': 2, 3, 4",
    ]


@pytest.mark.parametrize(
    ("by", "error", "message"),
    [
        (
            {"x": "a"},
            MismatchError,
            "no image is in a slice: tags has ids such as 'x', the scored images",
        ),
        ({}, InputError, "tags: there are no slices"),
        (
            {1: "(all)"},
            InputError,
            r"the name '\(all\)' is reserved for all images",
        ),
        ({1.5: "a"}, InputError, "an image id is a string or an integer, not 1.5"),
        (7, InputError, "slices are a dict by image id, a list, a file or one of length, ref"),
        (["a"], MismatchError, "slices are a list of 1, which matches by position, but the images"),
        ("no-such.csv", SettingError, "no slices named 'no-such.csv': neither length, references"),
        ("length:9,8", SettingError, "edges of slices must be increasing .* not '9,8'"),
        ("length:x", SettingError, "edges of slices must be increasing .* not 'x'"),
        ("references:3", SettingError, "slices by references have no edges"),
        (
            *({i: f"s{i}" for i in range(3000)}, InputError),
            f"too many slices \\(3000 for 3000 images; the maximum is {MAX_SLICES}\\)",
        ),
    ],
)
def test_slices_that_cannot_be(by: Any, error: type[Exception], message: str) -> None:
    described = GroupingData(lambda: np.ones(3000), lambda: np.ones(3000, np.int64))
    with pytest.raises(error, match=message):
        slice_images(by, range(3000), described, name="tags")


def test_groupings() -> None:
    lengths, counts = np.array([8.0, 9.5, 12.0, 30.0]), np.array([5, 1, 5, 10])
    described = GroupingData(lambda: lengths, lambda: counts)

    def group(by: str) -> Mapping[str, list[int]]:
        return members(by, range(4), described=described)

    assert group("references") == {"1 reference": [1], "5 references": [0, 2], "10 references": [3]}
    assert group("length:8,12") == {
        "up to 8 words": [0],
        "over 8 to 12 words": [1, 2],
        "over 12 words": [3],
    }
    assert list(group("length").values()) == [[0], [1], [2], [3]]
    lengths[:] = 7.0
    assert group("length") == {"up to 7 words": [0, 1, 2, 3]}


def test_a_word_is_a_grouping_a_file_or_a_field(tmp_path: Path) -> None:
    references, results = tmp_path / "references.json", tmp_path / "results.jsonl"
    references.write_text('[{"image_id": 1, "caption": "a", "domain": "x"}, {"image_id": 2}]')
    results.write_text('{"image_id": 1, "caption": "a", "model": "m"}\n')
    files = [(str(references), None), (str(results), None)]
    assert find_slices("length", files, {1}) == "length"
    assert find_slices(f"{results}:model", files, {1}) == {1: ("m",)}
    assert find_slices("domain", files, {1}) == {1: ("x",)}  # images of other splits are left out
    assert find_slices("model", files, {1}) == {1: ("m",)}
    with pytest.raises(SettingError, match=r"nor a field; .*references.json has image_id, caption"):
        find_slices("domian", files, {1})
    with pytest.raises(SettingError, match="standard input can be read once only"):
        find_slices("domain", [("-", None)], {1})
