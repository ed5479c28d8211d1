"""find_objects() and `cidery objects`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import cidery
from cidery.cli import main

REFERENCES = {"a": ["a dog on a couch"], "b": ["two cats"]}


def run(folder: Path, candidates: dict[str, str], *options: str) -> int:
    (folder / "references.json").write_text(json.dumps(REFERENCES))
    (folder / "results.json").write_text(json.dumps(candidates))
    files = [str(folder / "results.json"), str(folder / "references.json")]
    return main(["objects", *files, *options])


def test_objects() -> None:
    found = cidery.find_objects({"a": "a cat on a sofa", "b": "a cat"}, REFERENCES)
    assert [one.hallucinated for one in found.captions] == [("cat",), ()]
    assert [one.present for one in found.captions] == [("couch",), ("cat",)]
    assert [one.missing for one in found.captions] == [("dog",), ()]
    assert (found.chair_i, found.chair_s) == pytest.approx((1 / 3, 1 / 2))


def test_wrong_objects_as_csv(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, {"a": "a cat", "b": "a cat"}, "--wrong", "-f", "csv") == 0
    assert capsys.readouterr().out.splitlines() == [
        "image,hallucinated,present,missing,caption",
        'a,cat,,"couch, dog",a cat',
    ]


@pytest.mark.parametrize("format", ["csv", "markdown", "latex", "json", "table"])
def test_no_wrong_objects(format: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A table without rows has its header in every format."""
    assert run(tmp_path, {"a": "a dog", "b": "a cat"}, "--wrong", "-f", format) == 0
    output = capsys.readouterr().out
    if format == "csv":
        assert output == "image,hallucinated,present,missing,caption\n"
    elif format == "json":
        assert json.loads(output)["captions"] == []
    else:
        assert "hallucinated" in output


def test_lemmatizer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    candidates = {"a": "two men", "b": "a cat"}
    assert run(tmp_path, candidates, "--lemmatizer", "pattern", "-f", "json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["captions"][0]["hallucinated"] == ["person"]
    assert "lemmatizer:pattern" in found["signature"]
    table = cidery.score(candidates, REFERENCES, metrics=[cidery.Chair(lemmatizer="pattern")])
    assert found["chair-i"] == table.corpus["chair-i"]
    assert found["signature"] == table.signatures["chair-i"]
