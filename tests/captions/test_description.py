"""describe(): counts by hand, and advice at the paper's thresholds."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

import cidery
from cidery.captions.description import COCO_DEVIATION, FLICKR30K_DEVIATION, PRACEGOVER_DEVIATION
from cidery.errors import MismatchError
from support.example import Example


def sized(*lengths: int, per_image: int = 1) -> dict[int, list[str]]:
    """Return captions of those lengths, so many per image, all different."""
    captions = [" ".join([f"w{number}", *["a"] * (n - 1)]) for number, n in enumerate(lengths)]
    groups = range(0, len(captions), per_image)
    return {image: captions[image : image + per_image] for image in groups}


def test_counts() -> None:
    found = cidery.describe(
        {
            "one": ["A dog runs.", "a dog runs", "the dog"],
            "two": ["a dog runs", "..."],
        }
    )
    assert (found.images, found.captions) == (2, 5)
    assert (found.references.least, found.references.mean, found.references.most) == (2, 2.5, 3)
    assert found.length.mean == (3 + 3 + 2 + 3 + 0) / 5
    assert found.length.deviation == pytest.approx(np.std([3, 3, 2, 3, 0]))
    assert (found.vocabulary, found.seen_once) == (4, 1)
    assert (found.repeated, found.repeated_anywhere, found.empty) == (1, 2, 1)
    assert [(b.low, b.high, b.captions) for b in found.histogram] == [
        (0, 0, 1),
        (1, 1, 0),
        (2, 2, 1),
        (3, 3, 3),
    ]


def test_example(example: Example) -> None:
    found = cidery.describe(example.references)
    lengths = [
        len(words)
        for captions in example.references.values()
        for words in cidery.tokenize(captions)
    ]
    assert (found.length.least, found.length.most) == (min(lengths), max(lengths))
    assert found.length.deviation == pytest.approx(np.std(lengths))
    assert sum(bin.captions for bin in found.histogram) == len(lengths)
    assert json.loads(json.dumps(found.to_dict()))["advice"] == list(found.advice)


@pytest.mark.parametrize("longest", [1, 7, 40, 1000, 30_000])
def test_histogram_covers_all_lengths_and_stays_readable(longest: int) -> None:
    lengths = np.linspace(1, longest, 200).astype(int).tolist()
    bins = cidery.describe(sized(*lengths), "whitespace").histogram
    assert sum(bin.captions for bin in bins) == 200
    assert bins[0].low <= 1
    assert bins[-1].high >= longest
    assert len(bins) <= 17 or longest > 10_000
    for bin, following in itertools.pairwise(bins):
        assert bin.high + 1 == following.low


def test_one_long_caption_does_not_squeeze_the_histogram() -> None:
    bins = cidery.describe(sized(*[8, 9, 10, 11] * 100, 5000), "whitespace").histogram
    assert [bin.low for bin in bins] == [8, 9, 10, 11]
    assert (bins[-1].high, bins[-1].captions) == (5000, 101)


def test_the_papers_table() -> None:
    assert (COCO_DEVIATION, FLICKR30K_DEVIATION, PRACEGOVER_DEVIATION) == (2.2, 5.2, 26.8)


@pytest.mark.parametrize(
    ("lengths", "per_image", "advice"),
    [
        ([5, 60], 1, "and there is one reference per image: prefer cider-r"),
        (
            [10, 10],
            1,
            "lengths vary little (sd 0.0; COCO 2.2, Flickr30k 5.2, #PraCegoVer 26.8): cider-d and",
        ),
        ([5, 60], 5, "report cider-r beside cider-d"),
        ([10, 12], 5, "cider-d fits"),
    ],
)
def test_advice_on_metrics(lengths: list[int], per_image: int, advice: str) -> None:
    found = cidery.describe(sized(*lengths * 250, per_image=per_image), "whitespace")
    assert advice in found.advice[0]
    assert len(found.advice) == 1


@pytest.mark.parametrize(("deviation", "wide"), [(5, False), (6, True)])
def test_flickr30k_is_the_threshold(deviation: int, wide: bool) -> None:
    lengths = [20 - deviation, 20 + deviation] * 250
    found = cidery.describe(sized(*lengths, per_image=5), "whitespace")
    assert found.length.deviation == deviation
    assert ("widely" in found.advice[0]) == wide


def test_advice_on_few_images_copies_and_empty_captions() -> None:
    advice = cidery.describe({"a": ["a dog", "a dog", ""], "b": ["a cat", "the cat"]}).advice[1:]
    assert advice == (
        "fewer than 100 images are too few to count CIDEr's weights on: pass --frequencies "
        "coco-val2014",
        "1 caption repeats another one of the same image word for word: copies count as consensus",
        "1 of 5 captions has no words: correct them",
    )


def test_messages_name_the_references() -> None:
    with pytest.raises(MismatchError, match=r"refs\.json"):
        cidery.describe({"a": []}, references_name="refs.json")
