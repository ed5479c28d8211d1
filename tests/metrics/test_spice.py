"""SPICE and SPIDEr: scores, categories, the door, the command, and how close they are to Java."""

from __future__ import annotations

import csv
import hashlib
import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cidery
from cidery import coco
from cidery.cli import main
from cidery.errors import MissingExtraError, SettingError
from cidery.metrics.spice.parser import RULES_VERSION, Parser

pytestmark = [
    pytest.mark.usefixtures("parser"),
    pytest.mark.filterwarnings("ignore::cidery.errors.InputWarning"),
]
REFERENCES = {
    1: ["a brown dog chases two cats on the grass", "a large dog runs after cats"],
    2: ["a red bus on a street"],
}
CANDIDATES = {1: "a brown dog chases two cats", 2: "a blue bus"}


def score(*metrics: Any, **settings: Any) -> cidery.ScoreTable:
    return cidery.score(CANDIDATES, REFERENCES, metrics=list(metrics), **settings)


def test_categories_share_rows() -> None:
    table = score("spice", "spice:of=color", "spice:of=count", "spice:of=object,measure=recall")
    assert table.each["spice:of=color"].tolist() == [1.0, 0.0]
    assert table.corpus["spice:of=color"] == 0.5
    count = table.each["spice:of=count"]
    assert count[0] == 1.0 and math.isnan(count[1])
    assert table.corpus["spice:of=count"] == 1.0  # only captions that have a score
    assert table.each["spice:of=object,measure=recall"].tolist() == [2 / 3, 0.5]
    interval = table.interval("spice:of=color")
    assert interval.low <= 0.5 <= interval.high


def test_corpus_score_is_the_mean() -> None:
    table = score("spice")
    assert table.corpus["spice"] == pytest.approx(np.mean(table.each["spice"]))


def test_spider_is_the_mean_of_both() -> None:
    table = score("spice", "cider-d", "spider", frequencies="coco-val2014")
    np.testing.assert_allclose(
        table.each["spider"], (table.each["spice"] + table.each["cider-d"]) / 2, rtol=1e-15
    )
    assert table.corpus["spider"] == pytest.approx(
        (table.corpus["spice"] + table.corpus["cider-d"]) / 2
    )


@pytest.mark.parametrize("faithful", ["coco", "paper"])
def test_spider_follows_what_its_signature_says(faithful: Any) -> None:
    """To the bit: both parts are computed as the setting says."""
    parts = cidery.Spice(faithful=faithful), cidery.CiderD(faithful=faithful)
    table = score(*parts, cidery.Spider(faithful=faithful), frequencies="coco-val2014")
    spice, cider, spider = table.each.values()
    assert spider.tobytes() == ((spice + cider) / 2).tobytes()
    assert f"|faithful:{faithful}|" in table.signatures["spider"]


def test_both_ways_of_reading_give_spider_other_scores() -> None:
    candidates, references = {1: "a man with a racquet"}, {1: ["a man holding a racquet"]}
    scores = {
        cidery.score(
            candidates,
            references,
            metrics=[cidery.Spider(faithful=faithful)],
            frequencies="coco-val2014",
        ).corpus["spider"]
        for faithful in ("coco", "paper")
    }
    assert len(scores) == 2


def test_spice_and_spider_parse_captions_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[int] = []
    parse = Parser.find_graphs

    def watch(parser: Parser, pieces: Any) -> Any:
        parsed.append(len(pieces))
        return parse(parser, pieces)

    monkeypatch.setattr(Parser, "find_graphs", watch)
    monkeypatch.setattr("cidery.metrics.spice.parser.load_graphs", lambda *_: {})
    score("spice", "spider", "spice:of=color", frequencies="coco-val2014")
    assert parsed == [3, 2]  # the references, then the candidates


def test_signature_names_the_parser(parser: Parser) -> None:
    signature = score("spice").signatures["spice"]
    assert signature.startswith(f"spice|parser:{parser.id}|of:all|measure:f|faithful:coco|table:")
    assert parser.id.startswith("spacy-en_core_web_")
    assert f"|rules:{RULES_VERSION}|" in signature
    assert f"|parser:{parser.id}|" in score("spider", frequencies="coco-val2014").signatures[
        "spider"
    ].replace("spider|", "|", 1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"of": "verbs"}, "of must be one of all, object"),
        ({"measure": "f2"}, "measure must be one of f, precision, recall"),
        ({"parser": ""}, "parser must be the name"),
        ({"faithful": "java"}, "faithful must be one of coco, paper"),
    ],
)
def test_settings_are_checked(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        cidery.Spice(**settings)


def test_parser_errors_change_matches() -> None:
    caption, references = "a man holding a racquet", ["a man holding a racquet"]
    assert cidery.Spice().parse(caption).relations == (("man", "hold", "racquet"),)
    assert ("man", "hold", "racquet") in cidery.Spice(faithful="paper").compare(
        caption, references
    ).matched
    misread = cidery.Spice().compare(caption, references).matched
    assert set(misread) == {("holding",), ("racquet",), ("holding", "man")}
    tables = [
        cidery.score({1: "a man with a racquet"}, {1: references}, metrics="spice", faithful=which)
        for which in ("coco", "paper")
    ]
    assert tables[0].corpus["spice"] < tables[1].corpus["spice"]


def test_odd_captions_do_no_harm() -> None:
    candidates = {"long": "a dog on a mat " * 2000, "emoji": "😀 😀", "empty": "", "many": "a cat"}
    references = {
        "long": ["a dog"],
        "emoji": ["a smile 😀"],
        "empty": ["", "a cat"],
        "many": [f"a {word} cat" for word in ("big", "small") for _ in range(100)],
    }
    values = cidery.score(candidates, references, metrics=["spice"]).each["spice"]
    assert np.isfinite(values).all()
    assert values[0] > 0 and values[3] == 0.5
    assert values[1] == values[2] == 0


def test_missing_synonyms_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for package in ("filelock", "loky"):  # before they can no longer be found, and the parser
        pytest.importorskip(package)
    cidery.Spice().parse("a dog")
    monkeypatch.setenv("CIDERY_CACHE", str(tmp_path))
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    with pytest.raises(MissingExtraError, match=r"pycocoevalcap is needed.*cidery\[spice\]"):
        cidery.Spice().compare("a dog", ["a cat"])


# --- the door ----------------------------------------------------------------------------------


def test_the_door_has_the_original_shape() -> None:
    gts = {2: REFERENCES[2], 1: REFERENCES[1]}
    res = {image: [caption] for image, caption in CANDIDATES.items()}
    mean, scores = coco.Spice().compute_score(gts, res)
    assert isinstance(mean, np.float64)
    assert mean == pytest.approx(np.mean([found["All"]["f"] for found in scores]))
    assert len(scores) == 2  # by sorted ids
    first = scores[0]
    assert list(first) == [
        "Relation",
        "Cardinality",
        "Attribute",
        "Size",
        "Color",
        "Object",
        "All",
    ]
    assert all(
        list(found) == ["pr", "re", "f", "fn", "numImages", "fp", "tp"] for found in first.values()
    )
    assert first["Color"] == {
        "pr": 1.0,
        "re": 1.0,
        "f": 1.0,
        "fn": 0.0,
        "numImages": 1.0,
        "fp": 0.0,
        "tp": 1.0,
    }
    assert math.isnan(scores[1]["Cardinality"]["f"])
    assert scores[1]["Color"]["tp"] == 0.0


# --- the command -------------------------------------------------------------------------------


def test_graph_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    caption = "a brown dog chases two cats"
    assert main(["graph", caption, "--picture", str(tmp_path / "dog.png")]) == 0
    out = capsys.readouterr().out
    assert out.startswith("dog\n├─ brown\n└─ chase → cat\ncat\n└─ two\n")
    assert (tmp_path / "dog.png").stat().st_size > 1000
    assert main(["graph", caption, "-r", "a dog", "-r", "two kittens", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["objects"] == ["dog", "cat"]
    assert found["matched"] == [{"caption": ["dog"], "references": ["dog"]}]
    assert ["kitten", "two"] in found["missing"]
    assert found["scores"]["size"] == {"precision": None, "recall": None, "f": None}
    assert main(["graph", ""]) == 0
    assert capsys.readouterr().out.strip() == "the caption names no object"
    assert main(["graph", "a dog", "-r", "a brown dog"]) == 0
    assert "missing           (dog, brown)" in capsys.readouterr().out
    assert main(["graph", "a dog\udcff"]) == 2
    assert "half of a surrogate pair" in capsys.readouterr().err
    assert main(["graph", "a dog", "--parser", "en_none"]) == 2
    assert "'en_none' is not installed" in capsys.readouterr().err


def test_graph_command_says_how_it_reads(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    command = ["graph", "a man holding a racquet", "-r", "a man"]
    picture = str(tmp_path / "man.svg")
    assert main([*command, "--picture", picture]) == 0
    out = capsys.readouterr().out
    assert "missing                  (man)" in out
    assert "with its errors; --faithful paper: without them" in out
    assert f"drawn in {picture}" in out
    assert main([*command, "--faithful", "paper"]) == 0
    out = capsys.readouterr().out
    assert "matched  (man)                 (man)" in out
    assert "errors included" not in out


# --- how close it is to the original -----------------------------------------------------------

TABLE_1 = {
    "a couple of boys are playing soccer on a grass covered field": 0.333,
    "some guys are playing football on a grassy ground": 0.133,
    "on a grass covered field a group of people are playing football": 0.941,
    "a group of people in red soccer suits are playing football on a grass covered field": 0.818,
    "a group of people are playing football": 0.714,
    "a group of people are watching TV": 0.429,
}
"""SPICE in Table 1 of Wang and Chan 2019."""


def test_table_1_of_the_diversity_paper() -> None:
    reference = ["a group of people are playing football on a grass covered field"]
    ours = {c: cidery.Spice().compare(c, reference).count().f for c in TABLE_1}
    assert sorted(ours, key=ours.__getitem__) == sorted(TABLE_1, key=TABLE_1.__getitem__)
    assert sum(round(ours[c], 3) == TABLE_1[c] for c in TABLE_1) == 5


def read_original(
    shared: Path, name: str
) -> tuple[dict[int, str], dict[int, list[str]], dict[int, float]]:
    """Return candidates, the 5 to 7 references that the original had, and its scores."""
    lines = (shared / f"data/spice/{name}.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    return (
        {row["image_id"]: row["candidate"] for row in rows},
        {row["image_id"]: row["references"] for row in rows},
        {row["image_id"]: row["spice"] for row in rows},
    )


def is_held_out(image: int) -> bool:
    """Tell whether an image's captions were not looked at while rules were made."""
    return int(hashlib.sha256(str(image).encode()).hexdigest(), 16) % 2 == 1


@pytest.mark.parametrize(
    ("name", "least", "held_out_least"),
    [("updown500", 0.93, 0.915), ("vinvlbase500", 0.895, 0.87)],
)
def test_original_scores_caption_by_caption(
    name: str, least: float, held_out_least: float, shared: Path
) -> None:
    candidates, references, original = read_original(shared, name)
    table = cidery.score(candidates, references, metrics=["spice"])
    ours, theirs = table.each["spice"], np.array([original[image] for image in table.ids])
    assert np.corrcoef(ours, theirs)[0, 1] > least
    assert np.abs(ours - theirs).mean() < 0.033
    assert ours.mean() == pytest.approx(theirs.mean(), rel=0.032)
    held_out = np.array([is_held_out(image) for image in table.ids])
    assert np.corrcoef(ours[held_out], theirs[held_out])[0, 1] > held_out_least


def test_candidates_of_the_cider_r_paper(shared: Path) -> None:
    folder = shared / "data/cider_r"

    def read(name: str) -> dict[int, str]:
        entries = json.loads((folder / f"toy_{name}.json").read_text())
        return {entry["image_id"]: entry["caption"] for entry in entries}

    references: dict[int, list[str]] = {}
    for entry in json.loads((folder / "toy_references.json").read_text())["annotations"]:
        references.setdefault(entry["image_id"], []).append(entry["caption"])
    with (folder / "toy_candidate_classification_results.csv").open() as file:
        rows = list(csv.DictReader(file))
    ours, theirs = [], []
    for name, column in (("correct_candidates", "SPICE CC"), ("incorrect_candidates", "SPICE IC")):
        table = cidery.score(read(name), references, metrics=["spice"])
        found = dict(zip(table.ids, table.each["spice"].tolist(), strict=True))
        ours += [found[int(row["key"])] for row in rows]
        theirs += [float(row[column]) / 100 for row in rows]
    assert sum(abs(one - other) < 1e-9 for one, other in zip(ours, theirs, strict=True)) >= 29
    assert np.corrcoef(ours, theirs)[0, 1] > 0.999
    orders = [
        np.sign(np.subtract(*np.split(np.round(scores, 9), 2)))  # right against wrong
        for scores in (ours, theirs)
    ]
    assert orders[0].tolist() == orders[1].tolist()
