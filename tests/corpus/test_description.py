"""describe(): counts by hand, and advice at the paper's thresholds."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import cidery
from cidery.cli import main
from cidery.corpus.description import COCO_DEVIATION, FLICKR30K_DEVIATION, PRACEGOVER_DEVIATION
from cidery.errors import InputError, MismatchError, SettingError
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


def test_fewer_than_two_references_on_average() -> None:
    found = cidery.describe({"a": ["a dog", "the dog"], "b": ["a cat"]})
    assert found.advice[0].startswith("there are fewer than two references per image, and lengths")


def test_table(example: Example) -> None:
    found = cidery.describe(example.references)
    lines = str(found).splitlines()
    assert lines[0].split() == ["property", "value"]
    assert lines[1].split() == ["images", "72"]
    assert lines[-1] == found.advice[-1]
    assert found.to_records()[0] == {"property": "images", "value": "72"}


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
        ([5, 60], 1, "and there is one reference per image: prefer cider-r, which agrees"),
        ([10, 31], 1, "report cider-r beside cider-d"),
        ([10, 32], 1, "prefer cider-r"),
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


class TestFilters:
    """The subsets of the CIDEr-R paper."""

    LONG: ClassVar[dict[str, list[str]]] = {
        str(count): ["a dog", " ".join(["word"] * count)] for count in range(2, 12)
    }

    def test_at_most_so_many_words(self) -> None:
        assert list(cidery.filter_references(self.LONG, max_words=4)) == ["2", "3", "4"]
        kept = cidery.filter_references({"a": ["um café.", "uma xícara de café"]}, max_words=4)
        assert kept == {"a": ["um café.", "uma xícara de café"]}

    def test_outer_quartiles(self) -> None:
        kept = cidery.filter_references(self.LONG, outer_quartiles=True, single="longest")
        assert list(kept) == ["2", "3", "4", "9", "10", "11"]
        assert all(len(group) == 1 for group in kept.values())
        lengths = [len(group[0].split()) for group in kept.values()]
        assert np.std(lengths) > np.std(range(2, 12))

    def test_single_references(self) -> None:
        told = {"a": ["a dog", "a big dog", "the big dog"]}
        assert cidery.filter_references(told, single="longest") == {"a": ["a big dog"]}
        assert cidery.filter_references(told, single="first") == {"a": ["a dog"]}

    def test_what_cannot_be(self) -> None:
        with pytest.raises(InputError, match="none of 10 images match"):
            cidery.filter_references(self.LONG, max_words=1)
        with pytest.raises(SettingError, match="must be at least 1"):
            cidery.filter_references(self.LONG, max_words=0)
        with pytest.raises(SettingError, match="'longest' or 'first'"):
            cidery.filter_references(self.LONG, single="last")  # type: ignore[arg-type]

    def test_command(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        source, target = tmp_path / "all.json", tmp_path / "kept.jsonl"
        source.write_text(json.dumps(self.LONG))
        assert (
            main(["stats", str(source), "--max-words", "3", "-o", str(target), "-f", "json"]) == 0
        )
        assert json.loads(capsys.readouterr().out)["images"] == 2
        kept = cidery.read_references(target)
        assert kept == cidery.filter_references(self.LONG, max_words=3)
        assert main(["stats", str(source), str(target), "-o", str(tmp_path / "x.jsonl")]) != 0
