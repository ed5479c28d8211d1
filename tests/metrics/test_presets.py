"""Presets: those of cidery, and files."""

from __future__ import annotations

from pathlib import Path

import pytest

import cidery
from cidery.errors import DataError, SettingError
from cidery.metrics import get_metrics
from cidery.metrics.presets import PRESETS, get_preset

CAPTIONS = ({"a": "a dog runs"}, {"a": ["the dog runs", "a dog"]})


@pytest.mark.parametrize("name", PRESETS)
def test_presets_name_metrics(name: str) -> None:
    assert len(get_metrics(preset=name)) >= 3


def test_metrics_are_added(tmp_path: Path) -> None:
    path = tmp_path / "presets.toml"
    path.write_text('[ours]\nmetrics = ["rouge-l:beta=1", "bleu-4"]\nnote = "ours"\n')
    table = cidery.score(*CAPTIONS, metrics="rouge-1", preset=str(path))
    assert list(table.corpus) == ["rouge-l:beta=1", "bleu-4", "rouge-1"]
    assert list(cidery.score(*CAPTIONS, metrics=["bleu-4"], preset=str(path)).corpus) == [
        "rouge-l:beta=1",
        "bleu-4",
    ]
    systems = {"one": CAPTIONS[0], "two": CAPTIONS[0]}
    compared = cidery.compare(systems, CAPTIONS[1], preset=f"{path}:ours", resamples=10)
    assert list(compared.tables["one"].corpus) == ["rouge-l:beta=1", "bleu-4"]
    with pytest.raises(SettingError, match="not both"):
        cidery.score(*CAPTIONS, metrics={"x": "bleu-4"}, preset=str(path))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[ours", "is not TOML"),
        ("", "expected a table for each preset"),
        ("[ours]\nmetrics = 3", r"\[ours\] needs a list"),
        ("[ours]\nmetrics = []", r"\[ours\] needs a list"),
        ('[ours]\nmetrics = ["bleu"]\ntokenizer = "ptb"', "has 'tokenizer'"),
    ],
)
def test_bad_files(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text(content)
    with pytest.raises(DataError, match=message):
        get_preset(str(tmp_path / "bad.toml"))


def test_unknown_presets(tmp_path: Path) -> None:
    path = tmp_path / "two.toml"
    path.write_text('[a]\nmetrics = ["bleu"]\n[b]\nmetrics = ["meteor"]\n')
    assert get_preset(f"{path}:b").metrics == ("meteor",)
    for name, message in {
        "imagenet": "unknown preset 'imagenet'; known: coco",
        "absent.toml": "preset file not found",
        str(path): "has several presets; name one",
        f"{path}:c": "has no preset 'c'; it has: a, b",
    }.items():
        with pytest.raises(SettingError, match=message):
            get_preset(name)
