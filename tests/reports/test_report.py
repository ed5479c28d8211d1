"""What a report holds: the numbers of score and compare, in one JSON that stays data."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import cidery
from cidery.cli import main
from cidery.errors import DataWarning, InputError, SettingError, SliceWarning
from cidery.files import match_files
from cidery.reports import citation
from cidery.reports import report as report_module
from cidery.reports.page import escape_json
from cidery.reports.thumbnails import find_thumbnails
from cidery.reports.word_contrasts import contrast_words, gather_references
from cidery.reports.word_values import encode_values
from support.example import BUNDLED, ROOT, Example
from support.reading_reports import ReportReader, read_report

FREQUENCIES = "coco-val2014"
NASTY = '</script><script>alert(1)</script><!-- <b>"quoted"</b> & \u2028 שלום'


@pytest.fixture(scope="module")
def written(example: Example, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    cidery.write_report(
        path,
        {"a": example.system_a, "b": example.system_b},
        example.references,
        frequencies=FREQUENCIES,
        by="length",
    )
    return path


@pytest.fixture(scope="module")
def page(written: Path) -> ReportReader:
    return read_report(written)


def test_numbers_are_those_of_score_to_the_last_digit(page: ReportReader, example: Example) -> None:
    content = page.content
    for name, captions in (("a", example.system_a), ("b", example.system_b)):
        table = cidery.score(captions, example.references, frequencies=FREQUENCIES, by="length")
        assert content["comparison"]["scores"][name] == dict(table.corpus)
        assert content["comparison"]["signatures"] == dict(table.signatures)
        intervals = table.to_dict(table.intervals())["intervals"]
        assert content["intervals"][name] == intervals
        order = [table.ids.index(image) for image in content["images"]]
        for metric, values in table.each.items():
            assert content["systems"][name]["scores"][metric] == values[order].tolist()
        slices = content["comparison"]["slices"]["slices"]
        assert {key: part["scores"][name] for key, part in slices.items()} == {
            key: dict(part.corpus) for key, part in table.slices.items()
        }


def test_tests_are_those_of_compare(page: ReportReader, example: Example) -> None:
    compared = cidery.compare(
        {"a": example.system_a, "b": example.system_b},
        example.references,
        frequencies=FREQUENCIES,
        by="length",
    )
    assert page.content["comparison"] == compared.to_dict()


def test_words_add_up_to_the_score(page: ReportReader) -> None:
    content = page.content
    assert content["explained"]["metric"] == "cider-d"
    step = content["explained"]["step"]
    for system in content["systems"].values():
        scores = system["scores"]["cider-d"]
        for words, score in zip(system["words"], scores, strict=True):
            values = words if isinstance(words, list) else [v for _, _, v in words["spans"]]
            assert math.fsum(values) * step == pytest.approx(score, abs=step * len(values))


def test_members_of_slices_are_places(page: ReportReader, example: Example) -> None:
    content = page.content
    places = sorted(place for found in content["slices"]["members"].values() for place in found)
    assert places == list(range(len(content["images"])))
    assert content["images"] == list(example.references)


def test_only_scripts_of_the_page_may_run_and_nothing_is_loaded(
    page: ReportReader, written: Path
) -> None:
    inline = [text for attributes, text in page.scripts if not attributes.get("type")]
    assert len(inline) == 4
    for script in inline:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in page.policy
    assert "default-src 'none'" in page.policy and "unsafe-eval" not in page.policy
    assert "img-src data:;" in page.policy
    assert not [a for _, a in page.tags if a.get("src") or a.get("srcset")]
    linked = {a["href"] for _, a in page.tags if a.get("href")}
    assert all(link.startswith("#") for link in linked if link)
    # No event handlers and no style attributes: the web app's policy forbids them, too.
    assert not [
        name for _, a in page.tags for name in a if name.startswith("on") or name == "style"
    ]


@pytest.fixture
def nasty() -> dict[str, Any]:
    return {
        "systems": {
            NASTY: {"<1>": NASTY, "2": "a dog 犬が走る 🐕 runs"},
            "plain": {"<1>": "a dog", "2": ""},
        },
        "references": {"<1>": [NASTY, "a dog"], "2": ["the dog runs"]},
        "by": {"<1>": NASTY, "2": "</script>"},
        "title": NASTY,
        "by_name": NASTY,
        "references_name": NASTY,
        "frequencies": FREQUENCIES,
    }


@pytest.mark.filterwarnings("ignore::cidery.errors.InputWarning")
@pytest.mark.filterwarnings("ignore::cidery.errors.SliceWarning")
def test_captions_stay_data(nasty: dict[str, Any], tmp_path: Path) -> None:
    report = cidery.write_report(tmp_path / "r.html", **nasty)
    page = read_report(report.path)
    assert len(page.scripts) == 6
    content = page.content
    assert content == json.loads(json.dumps(dict(report.content)))
    assert content["systems"][NASTY]["captions"] == [NASTY, "a dog 犬が走る 🐕 runs"]
    assert content["references"][0] == [NASTY, "a dog"]
    assert content["title"] == NASTY
    text = report.path.read_text(encoding="utf-8")
    assert text.count("alert(1)</script>") == 0 and text.count("<!--") == 0


def test_json_keeps_its_value_when_it_is_escaped() -> None:
    escaped = escape_json([NASTY, "<!--", "</SCRIPT>"])
    assert "<" not in escaped and "\u2028" not in escaped
    assert json.loads(escaped) == [NASTY, "<!--", "</SCRIPT>"]


def test_several_captions_per_image_bring_diversity(example: Example, tmp_path: Path) -> None:
    images = list(example.references)[:12]
    sets = {image: [example.system_a[image], example.system_b[image]] for image in images}
    references = {image: example.references[image] for image in images}
    given = dict(reversed(sets.items()))  # rows follow the images, whatever the file's order
    report = cidery.write_report(
        tmp_path / "r.html", {"sampled": given}, references, "cider-d", frequencies=FREQUENCIES
    )
    content = report.content
    system = content["systems"]["sampled"]
    assert system["images"] == [place for place in range(12) for _ in range(2)]
    assert system["captions"] == [caption for image in images for caption in sets[image]]
    assert set(content["diversity"]["scores"]) == {"sampled", "humans"}
    measured = cidery.measure_diversity(sets, references=references)
    assert content["diversity"]["scores"]["sampled"] == pytest.approx(dict(measured.corpus))
    assert len(report.summary) == 2 and "second system" in report.summary[1]


@pytest.mark.filterwarnings("ignore::cidery.errors.UnreliableWarning")
@pytest.mark.filterwarnings("ignore::cidery.errors.SliceWarning")
def test_odd_input(tmp_path: Path) -> None:
    """Other words than English ones, ids that browsers would round, empty captions, ties."""
    images = (10**18 + 1, 7)
    report = cidery.write_report(
        tmp_path / "r.html",
        {
            "__proto__": {images[0]: ["犬が走る", ""], images[1]: ["猫", "猫"]},
            "humans": {images[0]: ["犬", "犬"], images[1]: ["", ""]},
        },
        {images[0]: ["犬が 走る"], images[1]: ["", "猫"]},
        ["cider-d:sigma=4", "rouge-l"],
        tokenizer="words",
        by={7: "seven"},
        resamples=10,
    )
    content = read_report(report.path).content
    assert content["images"] == [str(images[0]), 7]
    assert content["lead"] == content["explained"]["metric"] == "cider-d:sigma=4"
    assert content["systems"]["__proto__"]["words"][0]["spans"][0][:2] == [0, 1]
    assert set(content["diversity"]["scores"]) == {"__proto__", "humans"}
    assert content["slices"]["members"] == {"seven": [1], "(none)": [0]}


def test_images_that_only_some_describe_are_left_out(example: Example, tmp_path: Path) -> None:
    fewer = dict(list(example.system_b.items())[5:])
    systems = {"a": example.system_a, "b": fewer}
    with pytest.warns(SliceWarning, match="5 of 72 ids are not among the scored images"):
        report = cidery.write_report(
            tmp_path / "r.html",
            systems,
            example.references,
            {"equal": lambda candidate, references: candidate in references},
            missing="skip",
            resamples=100,
            by={image: str(image % 2) for image in example.references},
        )
    content = report.content
    assert len(content["images"]) == len(content["references"]) == len(fewer)
    for name, captions in systems.items():
        found = dict(zip(content["images"], content["systems"][name]["captions"], strict=True))
        assert found == {image: captions[image] for image in fewer}
    for key, places in content["slices"]["members"].items():
        assert {content["images"][place] % 2 for place in places} == {int(key)}
    assert content["warnings"] == [
        "slices: 5 of 72 ids are not among the scored images: 1, 2, 3, …"
    ]
    # A metric that cannot explain colors nothing.
    assert content["explained"] is None and "words" not in content["systems"]["a"]


def test_what_cannot_be_is_refused_before_scoring(example: Example, tmp_path: Path) -> None:
    def write(**changes: Any) -> None:
        given: dict[str, Any] = {"systems": {"a": example.system_a}, **changes}
        cidery.write_report(tmp_path / "r.html", references=example.references, **given)

    with pytest.raises(SettingError, match="at least one system"):
        write(systems={})
    with pytest.raises(SettingError, match="neither a folder of images nor a URL"):
        write(images=tmp_path / "none")
    with pytest.raises(SettingError, match=r"lacks a placeholder for the image id: \{image\}"):
        write(images="https://example.org/images")
    with pytest.raises(SettingError, match="must start with https"):
        write(images="javascript://{image}")
    with pytest.raises(SettingError, match="pass the folder of the images"):
        write(embed_images=True)
    with pytest.raises(SettingError, match="'meteor' is not among the metrics"):
        write(explain="meteor")
    with pytest.raises(SettingError, match="'mine' does not explain words"):
        write(metrics={"mine": lambda candidate, _references: len(candidate)}, explain="mine")
    with pytest.raises(OSError, match="no folder"):
        cidery.write_report(
            tmp_path / "no" / "r.html",
            {"a": example.system_a},
            example.references,
            "rouge-l",
            resamples=2,
        )
    assert not list(tmp_path.iterdir())


@pytest.mark.filterwarnings("ignore::cidery.errors.InputWarning")
def test_findings_are_shown(example: Example, tmp_path: Path) -> None:
    ended = {image: f"{caption} <eos>" for image, caption in example.system_a.items()}
    report = cidery.write_report(
        tmp_path / "r.html", {"a": ended}, example.references, "rouge-l", resamples=2
    )
    expected = cidery.audit_files(ended, example.references, candidates_name="a").findings
    assert [f.id for f in expected] == ["special-tokens"]
    found = report.content["findings"]["a"]
    assert [f["cost"] for f in found] == [f.cost for f in expected]
    assert "special-tokens" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_without_plotly_pictures_are_tables(
    example: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_module, "find_plotly", lambda: None)
    report = cidery.write_report(
        tmp_path / "r.html", {"a": example.system_a}, example.references, "rouge-l", resamples=2
    )
    assert not report.has_charts and report.size < 300_000


def make_pictures(folder: Path, names: list[str]) -> None:
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    folder.mkdir()
    for name in names:
        image.new("RGB", (640, 480), "tomato").save(folder / name)


def test_pictures_are_found_by_id(tmp_path: Path) -> None:
    folder = tmp_path / "some images"
    make_pictures(folder, ["COCO_val2014_000000000042.jpg", "cellar door.png", "7.jpg"])
    page = tmp_path / "r.html"
    ids = [42, "cellar door", "7.jpg", "none"]
    with pytest.warns(DataWarning, match="1 of 4 images have no file"):
        found = find_thumbnails(folder, ids, page)
    assert found["files"] == [
        "some%20images/COCO_val2014_000000000042.jpg",
        "some%20images/cellar%20door.png",
        "some%20images/7.jpg",
        None,
    ]
    with pytest.raises(InputError, match="no file is named after an image"):
        find_thumbnails(folder, [1000], page)
    embedded = find_thumbnails(folder, ids[:2], page, embed=True)["files"]
    assert all(file.startswith("data:image/webp;base64,") for file in embedded)
    (folder / "9.jpg").write_text("no picture")
    with pytest.raises(InputError, match="cannot read the image"):
        find_thumbnails(folder, [9], page, embed=True)
    assert match_files([Path("007.jpg")], ["7", "007", 7, "8"]) == [Path("007.jpg")] * 3 + [None]


def test_addresses_are_let_through_by_the_policy(example: Example, tmp_path: Path) -> None:
    report = cidery.write_report(
        tmp_path / "r.html",
        {"a": example.system_a},
        example.references,
        "rouge-l",
        images="https://example.org/val/{image:012}.jpg",
        resamples=2,
    )
    assert report.content["thumbnails"] == {"template": "https://example.org/val/{image:012}.jpg"}
    assert "img-src data: https://example.org;" in read_report(report.path).policy


def test_words_where_captions_are_cut_otherwise() -> None:
    assert encode_values("a dog.", [(0, 1, 0.02), (2, 5, 0.51)], 0.01) == [2, 51]
    assert encode_values("a dog's", [(0, 1, 0.0), (2, 5, 0.5), (5, 7, -0.1)], 0.1) == {
        "spans": [[0, 1, 0], [2, 5, 5], [5, 7, -1]]
    }


def test_words_that_people_do_not_say() -> None:
    references = [["dog", "park"], ["dog", "grass"], ["cat"], ["cat", "sofa"]]
    every, common = gather_references(references, [0, 2, 4])
    assert every == [{"dog", "park", "grass"}, {"cat", "sofa"}]
    assert common == [{"dog", "park", "grass"}, {"cat", "sofa"}]
    found = contrast_words([["horse", "the"], ["horse", "the"]], np.array([0, 1]), every, common)
    assert found == {"added": [["horse", 2]], "left_out": []}


def test_the_citation_is_that_of_the_project() -> None:
    known = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert (known["title"], known["authors"][0]["name"]) == (citation.TITLE, citation.AUTHOR)
    assert (known["repository-code"], int(known["date-released"][:4])) == (
        citation.ADDRESS,
        citation.YEAR,
    )
    assert known["version"] == re.search(r"version = \{(.*)\}", citation.cite())[1]
    page = (ROOT / "docs" / "which-number.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^@software.*?^\}$", page, re.MULTILINE | re.DOTALL)
    version = re.compile(r"(?<=version = )\{.*\}")  # that of the last release
    assert version.sub("", shown) == version.sub("", citation.cite())


def test_command_writes_and_tells(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = ("references.json", "system_a.json", "system_b.json")
    for name in names:
        Path(name).write_text((BUNDLED / name).read_text())
    files = ["references.json", "ours=system_a.json", "system_b.json"]
    common = ["-m", "rouge-l", "-m", "cider-d", "--frequencies", FREQUENCIES]
    assert main(["report", *files, *common, "-o", "r.html", "--by", "references"]) == 0
    told = capsys.readouterr().out
    assert "By cider-d, ours scores highest" in told and "written: r.html (" in told
    content = read_report("r.html").content
    assert list(content["systems"]) == ["ours", "system_b"]
    assert content["references_name"] == "references.json"
    assert content["slices"]["by"] == "references"

    # Browsers order the keys of an object that are whole numbers.
    numbers = ["references.json", "10=system_a.json", "9=system_b.json"]
    assert main(["report", *numbers, *common, "-o", "r.html"]) == 0
    assert read_report("r.html").content["names"] == ["10", "9"]
    capsys.readouterr()
    Path("r.html").unlink()
    assert main(["report", "system_a.json", "references.json", *common, "-o", "r.html"]) == 2
    told = capsys.readouterr().err
    assert "system_a.json has one caption per image and references.json several" in told
    assert not Path("r.html").exists()
    Path("r.html").touch()

    for arguments, problem in (
        (["-o", "system_a.json"], "system_a.json is also an input"),
        (["-o", "no/r.html"], "there is no folder no"),
        (["--images", "nothing"], "neither a folder of images nor a URL"),
        (["--by", "mood"], "no slices named 'mood'"),
        (["--explain", "meteor"], "'meteor' is not among the metrics: rouge-l, cider-d"),
    ):
        assert main(["report", *files, *common, *arguments]) == 2
        assert problem in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*names, "r.html"])
