"""`cidery explain` and `cidery compare --why`."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cidery
from cidery.cli import main
from cidery.corpus import bundled

pytestmark = pytest.mark.filterwarnings("ignore::cidery.errors.UnreliableWarning")

DOG = ("a dog runs", "the dog is running", "a dog in the park")
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(bundled.path("references.json").parent)

    def call(*arguments: str) -> tuple[int, str, str]:
        status = main(arguments)
        return status, *capsys.readouterr()

    return call


def test_a_caption_in_a_pipe(run: Run) -> None:
    status, out, err = run("explain", *DOG, "-m", "cider-d", "-m", "rouge-l")
    assert (status, err) == (0, "")
    found = cidery.explain(DOG[0], DOG[1:], ["cider-d", "rouge-l"])
    for explanation in found.values():
        assert f"{explanation.metric} {explanation.score:.4f}\n" in out
        for _, value, note in explanation.table().cells:
            assert f"{value}  {note}" in out
    assert "only in reference 1: the (" in out
    assert out.endswith("\n".join(found.signatures.values()) + "\n")


def test_json_and_html(run: Run) -> None:
    content = json.loads(run("explain", *DOG, "-m", "bleu", "-f", "json")[1])
    assert content == cidery.explain(DOG[0], DOG[1:], "bleu").to_dict()
    _, page, _ = run("explain", "<b>dog</b>", *DOG[1:], "-m", "cider-d", "-f", "html")
    assert page.startswith("<!doctype html>") and "<b>dog" not in page
    assert "&lt;" in page and "http" not in page


def test_captions_of_files(run: Run) -> None:
    files = ("--results", "system_a.json", "--references", "references.json")
    status, out, _ = run("explain", *files, "--image", "3", "-m", "cider-d", "-f", "json")
    assert status == 0
    content = json.loads(out)
    said = cidery.read_candidates("system_a.json")
    told = cidery.read_references("references.json")
    table = cidery.score(said, told, ["cider-d"])
    assert content["image_id"] == 3
    assert content["metrics"]["cider-d"]["score"] == table.each["cider-d"][2]
    assert "references-72" in content["signatures"]["cider-d"]
    _, out, _ = run("explain", *files, "--image", "3", "--image", "4", "-m", "rouge-l")
    assert "image 3, rouge-l " in out and "image 4, rouge-l " in out
    _, out, _ = run("explain", *files, "--image", "3", "--image", "4", "-m", "bleu-1", "-f", "json")
    assert [one["image_id"] for one in json.loads(out)] == [3, 4]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "give a caption and its references, or files: --results FILE"),
        (("a dog",), "give a caption and its references"),
        (("system_a.json", "a dog"), "system_a.json looks like a file"),
        (("a dog", "references.json"), "references.json looks like a file"),
        ((*DOG, "--image", "3"), "only valid with --results and --references"),
        ((*DOG, "--results", "x.json"), "pass a caption or files, not both"),
        (("--results", "x.json"), "both files are needed"),
        (("--references", "x.json"), "both files are needed"),
        (("--results", "x.json", "--references", "y.json"), "name the image to explain"),
        (
            ("--results", "system_a.json", "--references", "references.json", "--image", "x"),
            "system_a.json has no caption of image 'x'; there are 72 images",
        ),
        ((*DOG, "-m", "builtins:max"), "max cannot explain its scores"),
    ],
)
def test_what_is_refused(run: Run, arguments: tuple[str, ...], message: str) -> None:
    status, out, err = run("explain", *arguments)
    assert status == 2 and out == ""
    assert message in " ".join(err.split())


class TestWhy:
    ARGUMENTS = ("compare", "references.json", "system_a.json", "system_b.json", "--why")

    def test_table(self, run: Run) -> None:
        status, out, _ = run(*self.ARGUMENTS, "-m", "cider-d", "-m", "bleu-1")
        assert status == 0
        assert "cider-d: largest differences between system_a and system_b\n" in out
        assert "bleu-1: largest" not in out
        lines = out.splitlines()
        header = next(line for line in lines if line.startswith("n-gram "))
        assert header.split() == ["n-gram", "diff", "95", "%", "interval", "system_a", "system_b"]
        assert any(line.startswith("image ") for line in lines)

    @pytest.mark.parametrize("format", ["json", "csv", "markdown"])
    def test_other_formats(self, run: Run, format: str) -> None:
        status, out, _ = run(*self.ARGUMENTS, "-m", "cider-d", "-f", format)
        assert status == 0
        read: dict[str, Callable[[str], Any]] = {
            "json": lambda text: json.loads(text)["why"]["cider-d"][0]["pieces"],
            "csv": lambda text: list(csv.DictReader(text.splitlines())),
            "markdown": lambda text: text.split("| n-gram |")[1].split("\n\n")[0].splitlines()[2:],
        }
        found = read[format](out)
        assert len(found) == (15 if format == "csv" else 10)
        if format == "csv":
            assert {row["kind"] for row in found} == {"n-gram", "image"}
            assert all(row["system"] == "system_a" for row in found)

    def test_words_of_other_metrics(self, run: Run, tmp_path: Path) -> None:
        for name in ("one", "other"):
            (tmp_path / name).write_text(json.dumps({"1": f"a {name} dog"}), encoding="utf-8")
        (tmp_path / "told").write_text(json.dumps({"1": ["one dog"]}), encoding="utf-8")
        files = [str(tmp_path / name) for name in ("told", "one", "other")]
        status, out, _ = run("compare", *files, "--why", "-m", "rouge-l")
        assert status == 0 and "\nword " in out
