"""Notices about captions on the command line: shown once, in the same words by all commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cidery.cli import main
from cidery.corpus import bundled
from cidery.files import read_candidates, read_references

CLEAN = ("--metric", "rouge-l")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a folder with `dirty.csv`, `clean.json` and `refs.csv`, references as pandas writes."""
    monkeypatch.chdir(tmp_path)
    references = read_references(bundled.path("references.json"))
    lines = [
        f'{image},"{str(group).replace(chr(34), chr(34) * 2)}"'
        for image, group in references.items()
    ]
    (tmp_path / "refs.csv").write_text("\n".join(["image_id,refs", *lines]))
    rows = read_candidates(bundled.path("system_a.json"))
    dirty = [f"{image:012},{caption}<|im_end|>" for image, caption in rows]
    (tmp_path / "dirty.csv").write_text("\n".join(["image_id,caption", *dirty]))
    clean = [{"image_id": image, "caption": caption} for image, caption in rows]
    (tmp_path / "clean.json").write_text(json.dumps(clean))
    return tmp_path


NOTES = [
    "note: refs.csv: the column 'refs' has lists in text: 5 references per row",
    "note: {name}: all 72 ids match those of {references} one to one, written differently: "
    "'000000000001' is '1'",
    "warning: {name}: 72 of 72 captions have special tokens of a model (<|im_end|>, </s>, [PAD]), "
    "such as 'a wet brown dog shaking off water on a dirt path<|im_end|>' of image '1'; pass "
    'clean="special-tokens" (--clean special-tokens) to remove them',
]


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (("score", "dirty.csv", "refs.csv"), "dirty.csv"),
        (("compare", "refs.csv", "dirty.csv", "clean.json", "--resamples", "10"), "dirty"),
        (("report", "refs.csv", "dirty.csv", "-o", "page.html"), "dirty"),
        (
            (
                "explain",
                "--results",
                "dirty.csv",
                "--references",
                "refs.csv",
                "--image",
                "000000000001",
            ),
            "dirty.csv",
        ),
    ],
)
@pytest.mark.usefixtures("files")
def test_every_command_shows_notices_once(
    command: tuple[str, ...], name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    frequencies = ("--frequencies", "coco-val2014")
    assert main([*command, *CLEAN, *frequencies]) == 0
    shown = capsys.readouterr().err.splitlines()
    for note in NOTES:
        assert shown.count(note.format(name=name, references="refs.csv")) == 1, shown
    assert len([line for line in shown if line.startswith(("note", "warning"))]) == 3


@pytest.mark.usefixtures("files")
def test_other_commands_show_how_a_file_was_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stats", "refs.csv"]) == 0
    assert NOTES[0] in capsys.readouterr().err.splitlines()


@pytest.mark.usefixtures("files")
def test_strict_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "dirty.csv", "refs.csv", "--strict", *CLEAN]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("error: dirty.csv: 72 of 72 captions have special tokens")
    assert error.endswith("(an error because of strict=True, --strict)")
    assert main(["score", "clean.json", "refs.csv", "--strict", *CLEAN]) == 0


@pytest.mark.usefixtures("files")
def test_clean_restores_the_score(capsys: pytest.CaptureFixture[str]) -> None:
    found = {}
    for name, more in (("dirty.csv", ("--clean", "special-tokens")), ("clean.json", ())):
        assert main(["score", name, "refs.csv", *CLEAN, *more, "--strict", "-f", "json"]) == 0
        found[name] = json.loads(capsys.readouterr().out)
    assert found["dirty.csv"]["scores"] == found["clean.json"]["scores"]
    assert "|clean:special-tokens|" in found["dirty.csv"]["signatures"]["rouge-l"]
    assert [n["kind"] for n in found["dirty.csv"]["notices"]] == ["list-text", "ids", "clean"]
    assert main(["score", "dirty.csv", "refs.csv", "--clean", "tokens"]) == 2
    assert "unknown kind of debris 'tokens'; known: reasoning," in capsys.readouterr().err


@pytest.mark.usefixtures("files")
def test_captions_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    rows = json.loads(Path("clean.json").read_text())
    Path("twice.json").write_text(json.dumps(rows + rows[:5]))
    assert main(["score", "twice.json", "refs.csv", *CLEAN, "--no-intervals"]) == 0
    shown = capsys.readouterr()
    assert "twice.json: 72 images, 77 captions scored against refs.csv" in shown.out
    assert main(["score", "twice.json", "refs.csv", *CLEAN, "-f", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["images"], found["captions"]) == (72, 77)
    assert "warning: twice.json: 77 captions of 72 images: 5 have more than one" in shown.err


@pytest.mark.parametrize("option", [("--strict",), ("--clean", "prefix")])
def test_streams_refuse_them(option: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "a.jsonl", "b.jsonl", "--stream", *option]) == 2
    assert f"{option[0]}: not supported with --stream" in capsys.readouterr().err
