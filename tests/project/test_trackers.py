"""Recipes for experiment trackers in docs/start/paper.md, with the real packages, offline."""

from __future__ import annotations

import json
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import cidery
from support.example import Example

PAGE = Path(__file__).parents[2] / "docs" / "start" / "paper.md"


def read_recipe(heading: str) -> str:
    """Return the code below a heading of the page."""
    found = re.search(
        rf"^### {re.escape(heading)}\n\n```py\n(.*?)^```$",
        PAGE.read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    )
    assert found
    assert len(re.findall(r"\S.*\n", found[1])) <= 5
    return found[1]


def run_recipe(heading: str, table: cidery.ScoreTable) -> dict[str, Any]:
    names: dict[str, Any] = {"table": table, "step": 100}
    exec(read_recipe(heading), names)
    return names


@pytest.fixture(scope="module")
def table(example: Example) -> cidery.ScoreTable:
    return cidery.score(
        example.system_a, example.references, ["cider-d", "bleu-4"], frequencies="coco-val2014"
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_weights_and_biases(
    table: cidery.ScoreTable, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("wandb", reason="wandb is not installed")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(folder))
    monkeypatch.setenv("WANDB_SILENT", "true")
    recipe = read_recipe("Weights & Biases")
    (folder / "table.pickle").write_bytes(pickle.dumps(table))
    code = f"import pickle\nstep = 100\ntable = pickle.load(open('table.pickle', 'rb'))\n{recipe}"
    # In a process of its own, since the service of wandb ends with that.
    subprocess.run([sys.executable, "-c", code], check=True)
    (file,) = folder.rglob("*.wandb")
    content = file.read_bytes()
    for name, value in table.to_dict(flat=True).items():
        assert name.encode() in content and json.dumps(value).encode() in content
    assert all(text.encode() in content for text in table.signatures.values())


def test_mlflow(table: cidery.ScoreTable, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (folder / "mlruns").as_uri())
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed")
    run_recipe("MLflow", table)
    data = mlflow.last_active_run().data
    assert data.metrics == pytest.approx(table.to_dict(flat=True))
    assert data.params == {f"signature {name}": text for name, text in table.signatures.items()}


def test_tensorboard(table: cidery.ScoreTable, folder: Path) -> None:
    pytest.importorskip("tensorboardX", reason="tensorboardX is not installed")
    events = pytest.importorskip("tensorboardX.proto.event_pb2")
    run_recipe("TensorBoard", table)
    (file,) = (folder / "runs").iterdir()
    content, values = file.read_bytes(), {}
    while content:  # TFRecord: length, its checksum, an event, its checksum
        size = int.from_bytes(content[:8], "little")
        event = events.Event.FromString(content[12 : 12 + size])
        content = content[12 + size + 4 :]
        values |= {value.tag: (event.step, value.simple_value) for value in event.summary.value}
    assert {step for step, _ in values.values()} == {100}
    logged = {tag: value for tag, (_, value) in values.items()}
    assert logged == pytest.approx(table.to_dict(flat=True), rel=1e-6)


def test_flat_scores(example: Example, table: cidery.ScoreTable) -> None:
    flat = table.to_dict(flat=True)
    interval = table.interval("cider-d")
    assert list(flat)[:4] == ["images", "cider-d", "cider-d_low", "cider-d_high"]
    assert (flat["cider-d"], flat["cider-d_low"]) == (table.corpus["cider-d"], interval.low)
    assert table.to_dict({}, flat=True) == {"images": 72, **table.corpus}
    assert json.loads(json.dumps(flat)) == flat
    sliced = cidery.score(
        *(example.system_a, example.references, ["cider-d", "vocab"]),
        frequencies="coco-val2014",
        by={image: "near" if place % 2 else "far" for place, image in enumerate(example.system_a)},
    )
    flat = sliced.to_dict(flat=True)
    assert sliced.slices is not None
    assert flat["slices/near/cider-d"] == sliced.slices["near"].corpus["cider-d"]
    assert flat["slices/near/images"] == 36 and "slices/far/cider-d_low" in flat


def test_flat_comparisons(example: Example) -> None:
    runs = [dict(example.system_a), dict(example.system_b)]
    systems = {"ours": example.system_a, "theirs": runs}
    comparison = cidery.compare(
        systems, example.references, ["cider-d"], frequencies="coco-val2014", resamples=100
    )
    flat = comparison.to_dict(flat=True)
    test = comparison.tests["cider-d"]["ours", "theirs"]
    interval = comparison.intervals["(all)"]["ours"]["cider-d"]
    assert flat["ours/cider-d_low"] == interval.low
    assert flat["theirs/cider-d_sd"] > 0 and "ours/cider-d_sd" not in flat
    assert flat["ours - theirs/cider-d"] == test.difference
    assert flat["ours - theirs/cider-d_p"] == test.adjusted_p
    assert flat["images"] == 72
