"""All sets of judgments in a folder, in one table."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from cidery import meta
from cidery.cli import main
from cidery.errors import FormatError, InputError, SettingError
from support import judged as made
from support.example import Example

pytest.importorskip("scipy", reason="correlations need SciPy")

METRICS = ["rouge-l", "bleu-1", "bleu-4"]


@pytest.fixture
def folder(tmp_path: Path, example: Example) -> Path:
    """A folder with THumB and Clotho-Eval, made of the example's captions."""
    (tmp_path / "thumb").mkdir()
    (tmp_path / "audio").mkdir()
    made.write_questions(tmp_path / "q.jsonl", example.references)
    lines = [json.loads(line) for line in (tmp_path / "q.jsonl").read_text().splitlines()]
    flat = [line | {"total": line["ratings"]["total"]} for line in lines]
    made.write_lines(tmp_path / "thumb" / "mscoco_THumB-1.0.jsonl", flat)
    sounds = [
        {
            "references": example.references[line["image"]][1:],
            "MM_1": [*line["pair"], line["votes"]],
        }
        for line in made.pair_lines(example.references)
    ]
    (tmp_path / "audio" / "clotho_eval.json").write_text(json.dumps(sounds))
    return tmp_path


def test_the_table(folder: Path) -> None:
    found = meta.evaluate_all(folder, METRICS, resamples=60)
    assert found.statistics == {"thumb": "pearson", "clotho-eval": "accuracy"}
    for name, results in found.results.items():
        agreement = meta.evaluate(meta.read_dataset(name, folder), METRICS, resamples=60)
        for label in METRICS:
            statistic = found.statistics[name]
            assert results[label].value == agreement.results[label][statistic]
            assert results[label].low == agreement.results[label][f"{statistic}_low"]
        assert min(results[label].place or 0 for label in METRICS) == 1
    assert found.table().header == ["metric", "thumb pearson", "clotho-eval accuracy"]
    people, *metrics = found.table().cells
    assert people[0] == "human"
    assert any("(1)" in line[1] for line in metrics)
    assert found.absent["polaris"].endswith("no test-*.parquet in this folder")
    assert found.signatures["thumb"]["rouge-l"].startswith("rouge-l|")


def test_refusals(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="unknown data set 'coco'; known: flickr8k"):
        meta.evaluate_all(folder, METRICS, sets=["coco"])
    with pytest.raises(FormatError, match=r"there is no polaris_test\.csv"):
        meta.evaluate_all(folder, METRICS, sets=["polaris"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no data set in this folder; known: flickr8k-expert"):
        meta.evaluate_all(tmp_path / "empty", METRICS)
    with pytest.raises(FileNotFoundError):
        meta.evaluate_all(tmp_path / "nowhere", METRICS)
    (tmp_path / "mine.jsonl").write_text("{}")
    with pytest.raises(InputError, match=r"mine\.jsonl is a file; pass the parent folder"):
        meta.evaluate_all(tmp_path / "mine.jsonl", METRICS)
    # What is there and broken is not passed over.
    (folder / "audio" / "clotho_eval.json").write_text("{}")
    with pytest.raises(FormatError, match="expected a list of sounds"):
        meta.evaluate_all(folder, METRICS)


def test_on_the_command_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def run(*options: str) -> str:
        given = ["meta", "all", str(folder), "-m", "rouge-l", "-m", "bleu-1", "--resamples", "20"]
        assert main([*given, *options]) == 0
        return capsys.readouterr().out

    assert json.loads(run("-f", "json"))["results"]["thumb"]["rouge-l"]["place"] == 1
    assert "| rouge-l | " in run("-f", "markdown")
    assert r"\toprule" in run("-f", "latex")
    rows = list(csv.DictReader(io.StringIO(run("-f", "csv", "--set", "thumb"))))
    assert [(row["set"], row["metric"]) for row in rows] == [
        ("thumb", "rouge-l"),
        ("thumb", "bleu-1"),
    ]
    assert "not here: foil" in run()


def test_the_picture(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    picture = tmp_path / "all.svg"
    given = ["meta", "all", str(folder), "-m", "rouge-l", "--resamples", "20"]
    assert main([*given, "--plot", str(picture)]) == 0
    assert "clotho-eval" in picture.read_text()
    assert main([*given, "--plot", str(tmp_path / "nowhere" / "x.svg")]) == 2
