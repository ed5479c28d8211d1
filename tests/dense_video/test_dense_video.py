"""Captioned events: thresholds, SODA-c and paragraphs, worked out by hand; readers."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cidery
from cidery.cli import main
from cidery.dense_video import match_in_order, measure_tiou, score_dense_video
from cidery.errors import (
    DataWarning,
    FormatError,
    InputError,
    MissingExtraError,
    SettingError,
    UnreliableWarning,
)
from cidery.files import Event, read_events

CANDIDATES = {"v": [Event(0, 10, "a dog runs"), Event(20, 30, "a cat sits")]}
REFERENCES = {
    "v": [Event(0, 10, "a dog runs"), Event(20, 38, "two birds fly")],
    "w": [Event(0, 5, "it rains")],
}


def test_overlap_in_time() -> None:
    assert measure_tiou(Event(0, 10, ""), Event(5, 15, "")) == pytest.approx(1 / 3)
    assert measure_tiou(Event(0, 10, ""), Event(10, 15, "")) == 0
    assert measure_tiou(Event(3, 3, ""), Event(3, 3, "")) == 0
    # As in ActivityNet's evaluator, an overlap of exactly a half is a little less.
    assert measure_tiou(Event(20, 30, ""), Event(20, 40, "")) < 0.5


def test_scores_by_hand() -> None:
    table = score_dense_video(CANDIDATES, REFERENCES, ["bleu-1", "cider-d"], soda=False)
    # Video v: 3 of 6 words match, whatever the second caption is paired with; video w: nothing.
    assert table.scores["bleu-1"] == pytest.approx((0.25,) * 4)
    # Two pairs with their own frequencies: 10 for each of n = 1, 2, 3, as three words have no
    # 4-grams, so 7.5 for the same words, and 0 for others; video w: nothing.
    assert table.scores["cider-d"] == pytest.approx((7.5 / 2 / 2,) * 4)
    assert table.videos == 2


def test_a_caption_meets_every_event_that_it_overlaps() -> None:
    candidates = {"v": [Event(0, 10, "a dog runs")]}
    references = {"v": [Event(0, 10, "a dog runs"), Event(0, 12, "two birds fly")]}
    table = score_dense_video(candidates, references, ["bleu-1"], soda=False, tious=[0.8, 0.9])
    assert table.scores["bleu-1"] == pytest.approx((0.5, 1.0))  # 10/12 is between the two
    sets = [references, references]
    both = score_dense_video(candidates, sets, ["bleu-1"], soda=False, tious=[0.8, 0.9])
    assert both.scores["bleu-1"] == pytest.approx(table.scores["bleu-1"])
    assert table.means == pytest.approx({"bleu-1": 0.75})


def test_too_short_captions_of_unmatched_events() -> None:
    # Unmatched, its reference is one word: no brevity penalty, and no match.
    candidates = {"v": [Event(50, 60, "a dog")]}
    table = score_dense_video(candidates, REFERENCES, ["bleu-1"], soda=False, tious=[0.3])
    assert table.scores["bleu-1"] == pytest.approx((0.0,), abs=1e-12)  # BLEU adds a trace


def test_soda(meteor_data: Path) -> None:
    table = score_dense_video(CANDIDATES, REFERENCES, ["bleu-1"])
    meteor = cidery.score({"a": "a dog runs"}, {"a": ["a dog runs"]}, "meteor").corpus["meteor"]
    # One of two captions, one of two events; video w has no captions.
    assert table.soda == pytest.approx(
        {"precision": meteor / 4, "recall": meteor / 4, "f": meteor / 4}
    )
    more = {"v": [*CANDIDATES["v"], Event(0, 10, "a dog runs"), Event(40, 41, "x")]}
    found = score_dense_video(more, {"v": REFERENCES["v"]}, ["bleu-1"]).soda
    assert found == pytest.approx(
        {"precision": meteor / 4, "recall": meteor / 2, "f": meteor / 3}
    )  # saying it twice earns nothing


def test_soda_as_the_authors_code(meteor_data: Path) -> None:
    def soda(candidates: Any, references: Any, **settings: Any) -> Any:
        return score_dense_video(candidates, references, ["bleu-1"], soda=True, **settings).soda

    def meteor(candidate: str, reference: str) -> float:
        return cidery.score([candidate], [[reference]], "meteor").corpus["meteor"]

    short, long = "a dog runs", "a dog runs over the grass"
    assert meteor(short, long) != meteor(long, short)
    candidates, references = {"v": [Event(0, 10, short)]}, {"v": [Event(0, 10, long)]}
    paper = soda(candidates, references)
    code = soda(candidates, references, faithful="code")
    assert paper["f"] == pytest.approx(meteor(short, long))
    assert code["f"] == pytest.approx(meteor(long, short))

    # Videos that candidates do not have are left out; those with an empty list score 0.
    more = references | {"w": [Event(0, 5, "it rains")]}
    assert soda(candidates, more)["f"] == pytest.approx(paper["f"] / 2)
    assert soda(candidates, more, faithful="code") == code
    empty = soda(candidates | {"w": []}, more, faithful="code")
    assert empty["f"] == pytest.approx(code["f"] / 2)

    # Characters beyond ASCII are spaces.
    accents = {"v": [Event(0, 10, "a caf\u00e9")]}, {"v": [Event(0, 10, "a caf")]}
    assert soda(*accents, faithful="code")["f"] == pytest.approx(meteor("a caf", "a caf"))
    assert soda(*accents)["f"] == pytest.approx(meteor("a caf\u00e9", "a caf"))


def test_order_of_events_in_soda(meteor_data: Path) -> None:
    first, second = Event(0, 10, "a dog runs"), Event(0, 20, "two birds fly")
    later = Event(12, 20, "two birds fly")

    def soda(one: Any, other: Any, **settings: Any) -> float:
        table = score_dense_video({"v": one}, {"v": other}, ["bleu-1"], soda=True, **settings)
        return table.soda["f"]

    # Events with the same start: the paper's order is by start and end, the code's that of files.
    right = soda([first, second], [first, second], faithful="code")
    assert soda([second, first], [first, second]) == pytest.approx(right)
    assert soda([second, first], [first, second], faithful="code") < right
    # The code does not sort references that are not merged.
    best = soda([first, later], [later, first], faithful="code", soda_references="best")
    assert best < soda([first, later], [later, first], faithful="code")
    assert soda([first, later], [later, first], soda_references="best") > best


def test_sets_of_references_in_soda(meteor_data: Path) -> None:
    one = {"v": [Event(0, 10, "a dog runs")], "w": [Event(0, 10, "two birds fly")]}
    other = {"v": [Event(0, 10, "it rains")], "w": [Event(0, 10, "a cat sits")]}
    candidates = {"v": one["v"], "w": other["w"]}
    table = score_dense_video(candidates, [one, other], ["bleu-1"], soda=True)
    exact = cidery.score(["a dog runs"], [["a dog runs"]], "meteor").corpus["meteor"]
    # Merged, each video has two events, of which one is matched.
    assert table.soda == pytest.approx(
        {"precision": exact, "recall": exact / 2, "f": exact * 2 / 3}
    )
    best = score_dense_video(
        candidates, [one, other], ["bleu-1"], soda=True, soda_references="best"
    )
    assert best.soda == pytest.approx({"precision": exact, "recall": exact, "f": exact})
    assert table.soda_signature is not None and best.soda_signature is not None
    assert table.soda_signature.startswith("soda-c|faithful:paper|references:merged|metric:meteor|")
    assert best.soda_signature.startswith("soda-c|faithful:paper|references:best|metric:meteor|")
    assert best.soda_signature.endswith(f"|refs:2|tokenizer:ptb|version:{cidery.__version__}")
    assert best.soda_signature in str(best)
    assert best.to_dict()["soda-c signature"] == best.soda_signature


@pytest.mark.parametrize(
    ("key", "sets", "settings"),
    [
        ("one", 1, {"faithful": "code"}),
        ("merged", 2, {"faithful": "code"}),
        ("multi", 2, {"faithful": "code", "soda_references": "best"}),
        ("one_unswapped", 1, {}),
    ],
)
def test_soda_of_the_authors_code(
    key: str, sets: int, settings: Any, shared: Path, meteor_data: Path
) -> None:
    """The scores are those that the authors' code printed.

    It was run on a file in which the times of one caption were swapped, from 11.53 to 0, so that it
    overlapped nothing; here they are in order, and an empty event takes its place.
    `multi_unswapped` has no counterpart: references are not sorted, as in `code`, and METEOR is not
    swapped, as in `paper`.
    """
    folder = shared / "golden" / "soda"
    if not folder.is_dir():
        pytest.skip("the scores of the authors' code are not here")
    expected = json.loads((folder / "expected.json").read_text())[key]
    candidates = dict(read_events(folder / "res.json"))
    candidates["v_042"] = [
        replace(event, start=event.end) if (event.start, event.end) == (0, 11.53) else event
        for event in candidates["v_042"]
    ]
    assert [event.start == event.end for event in candidates["v_042"]].count(True) == 1
    files = [read_events(folder / f"gt{number}.json") for number in range(1, sets + 1)]
    # Videos without captions, which the code leaves out, score 0 by the paper.
    known = [{v: events for v, events in file.items() if v in candidates} for file in files]
    found = score_dense_video(
        candidates, files if "faithful" in settings else known, ["bleu-1"], soda=True, **settings
    )
    assert list(found.soda.values()) == pytest.approx(expected, rel=0, abs=1e-15)


def test_detection() -> None:
    table = score_dense_video(CANDIDATES, REFERENCES, ["bleu-1"], soda=False, tious=[0.3, 0.9])
    # Overlaps in v are 1 and 10/18; w has no captions.
    assert table.detection == {"precision": (0.5, 0.25), "recall": (0.5, 0.25)}
    other = {"v": [Event(0, 10, "a"), Event(20, 30, "b"), Event(40, 50, "c")]}
    both = score_dense_video(
        CANDIDATES, [REFERENCES, other], ["bleu-1"], soda=False, tious=[0.3, 0.9]
    )
    # The best of the sets, separately: at 0.9, precision 1 and recall 2/3 in the second.
    assert both.detection["precision"] == (0.5, 0.5)
    assert both.detection["recall"] == pytest.approx((0.5, 1 / 3))
    assert both.to_dict()["detection"]["precision"] == [0.5, 0.5]
    assert "detection recall" in str(both)
    assert both.soda_signature is None and both.to_dict()["soda-c signature"] is None


def match_by_trying(values: Any) -> float:
    rows, columns = values.shape
    return max(
        (
            sum(values[i, j] for i, j in zip(one, other, strict=True))
            for count in range(min(rows, columns) + 1)
            for one in combinations(range(rows), count)
            for other in combinations(range(columns), count)
        ),
        default=0.0,
    )


def test_best_match_in_order() -> None:
    rng = np.random.default_rng(0)
    for _ in range(60):
        values = rng.random((rng.integers(1, 5), rng.integers(1, 5)))
        assert match_in_order(values) == pytest.approx(match_by_trying(values))


def test_paragraphs_are_in_the_order_of_time() -> None:
    candidates = {"v": [Event(20, 30, "a cat sits ."), Event(0, 10, "a dog runs .")]}
    references = {"v": [Event(0, 9, "a dog runs ."), Event(20, 30, "a cat sits .")]}
    table = score_dense_video(candidates, references, ["bleu-4"], soda=False)
    assert table.paragraphs["bleu-4"] == pytest.approx(1.0)


@pytest.mark.parametrize(
    "content",
    [
        {"v": {"duration": 40, "timestamps": [[0, 10], [20, 38]], "sentences": ["a", "b"]}},
        {"version": "1", "results": {"v": [{"timestamp": [0, 10], "sentence": "a"},
                                           {"timestamp": [20, 38], "sentence": "b"}]}},
        {"database": {"v": {"annotations": [{"segment": [0, 10], "sentence": "a"},
                                            {"segment": [20, 38], "sentence": "b"}]}}},
    ],
)  # fmt: skip
def test_files(content: Any, tmp_path: Path) -> None:
    path = tmp_path / "events.json"
    path.write_text(json.dumps(content))
    assert read_events(path) == {"v": [Event(0, 10, "a"), Event(20, 38, "b")]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON"),
        ("[]", "expected an object of videos"),
        ('{"v": {"timestamps": [[0, 1]], "sentences": []}}', "1 timestamps for 0 sentences"),
        ('{"v": [{"timestamp": [0], "sentence": "a"}]}', "video 'v', event 1: a timestamp is two"),
        ('{"v": [{"timestamp": [9, 1], "sentence": "a"}]}', "event 1: start 9 is after end 1"),
        ('{"v": [{"timestamp": [0, 1]}]}', "expected text as sentence, found None"),
        ('{"v": 3}', "expected a list of events"),
    ],
)
def test_bad_files(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_text(content)
    with pytest.raises(FormatError, match=message):
        read_events(path)


def test_bad_input() -> None:
    with pytest.raises(InputError, match="no video in common"):
        score_dense_video({"x": CANDIDATES["v"]}, REFERENCES, ["bleu-1"], soda=False)
    with pytest.raises(InputError, match="no video in common"):
        score_dense_video({}, REFERENCES, ["bleu-1"], faithful="code")
    wrong: Any = "coco"
    with pytest.raises(SettingError, match="faithful must be one of paper, code, not 'coco'"):
        score_dense_video(CANDIDATES, REFERENCES, ["bleu-1"], faithful=wrong)
    with pytest.raises(SettingError, match="soda_references must be one of merged, best"):
        score_dense_video(CANDIDATES, REFERENCES, ["bleu-1"], soda_references=wrong)
    swapped = {"v": [Event(0, 1, "a"), Event(9, 1, "a")]}
    for pair in ((swapped, REFERENCES), (CANDIDATES, swapped)):
        with pytest.raises(InputError, match="video 'v', event 2: start 9 is after end 1"):
            score_dense_video(*pair, ["bleu-1"], soda=False)
    with pytest.raises(SettingError, match="tious must be in"):
        score_dense_video(CANDIDATES, REFERENCES, ["bleu-1"], tious=[0.0])
    with pytest.warns(UnreliableWarning, match="ignored 1 videos"):
        score_dense_video(CANDIDATES | {"x": CANDIDATES["v"]}, REFERENCES, ["bleu-1"], soda=False)


def test_soda_without_meteor_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation without pycocoevalcap: other scores are computed all the same."""
    monkeypatch.setenv("CIDERY_CACHE", str(tmp_path))
    monkeypatch.setattr(sys, "path", [p for p in sys.path if "site-packages" not in p])
    with pytest.warns(DataWarning, match=r"SODA-c is not computed: pycocoevalcap is needed"):
        table = score_dense_video(CANDIDATES, REFERENCES, ["bleu-1"])
    assert table.soda == {} and table.scores["bleu-1"] == pytest.approx((0.25,) * 4)
    assert "soda" not in str(table)
    with pytest.raises(MissingExtraError, match="pycocoevalcap is needed"):
        score_dense_video(CANDIDATES, REFERENCES, ["bleu-1"], soda=True)


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], meteor_data: Path) -> None:
    def write(name: str, events: Any) -> str:
        path = tmp_path / name
        content = {
            video: [{"timestamp": [e.start, e.end], "sentence": e.sentence} for e in listed]
            for video, listed in events.items()
        }
        path.write_text(json.dumps({"results": content}))
        return str(path)

    other = {"v": [Event(0, 10, "it rains")]}
    paths = write("results.json", CANDIDATES), write("1.json", REFERENCES), write("2.json", other)
    command = ("dense-video", *paths, "-m", "bleu-1", "--format", "json")
    chosen = ("--faithful", "code", "--soda-references", "best")
    for options, settings in (((), {}), (chosen, {"faithful": "code", "soda_references": "best"})):
        assert main([*command, *options]) == 0
        kept: Any = settings
        table = score_dense_video(CANDIDATES, [REFERENCES, other], ["bleu-1"], **kept)
        assert json.loads(capsys.readouterr().out) == table.to_dict()
    assert main([*command, "--faithful", "coco"]) == 2
    assert "'coco' is not one of" in capsys.readouterr().err
