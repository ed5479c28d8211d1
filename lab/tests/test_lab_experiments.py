"""Experiments, their pages and the command, on very little data."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cidery.cli import main
from cidery.errors import SettingError
from cidery.markup import escape
from cidery_lab import EXPERIMENTS, Lab, LabData, Scale, run_experiment, synthetic_scenes
from cidery_lab.experiments import get_experiment
from cidery_lab.running import find_commit

SCALE = Scale(
    hidden=6,
    epochs=1,
    reward_epochs=1,
    batch_size=20,
    samples=2,
    max_words=8,
    set_size=2,
    learning_rate=4e-3,
)
OPTIONS: dict[str, dict[str, Any]] = {
    "balance": {"families": ("lambda",), "weights": (0.0, 1.0, 5.0)},
    "kr": {"weights": (0.0, 0.8)},
    "rewards": {"rewards": ("cider-d", "bleu-4")},
    "redteam": {"redteam": {"images": 3, "rounds": 2, "steps": 2}},
}


@pytest.fixture(scope="module")
def data() -> LabData:
    return synthetic_scenes(10, 4, 4)


def test_list_without_torch(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "list"]) == 0
    output = capsys.readouterr().out
    assert all(name in output for name in (*EXPERIMENTS, "att2in", "transformer"))
    with pytest.raises(SettingError, match="no experiment named 'x'; known: repetition"):
        get_experiment("x")


@pytest.mark.model
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_experiments(name: str, data: LabData, tmp_path: Path) -> None:
    seeds = (0, 1) if name == "repetition" else (0,)
    lab = Lab(data, seeds=seeds, scale=SCALE, options=OPTIONS.get(name, {}))
    done = run_experiment(name, lab, tmp_path)
    results = json.loads((tmp_path / "results.json").read_text())
    assert {row["seed"] for row in results["rows"]} == set(seeds)
    figures = [v for row in results["rows"] for v in row.values() if isinstance(v, float)]
    assert np.isfinite(figures).all()
    assert results["verdicts"]
    assert {v["outcome"] for v in results["verdicts"]} <= {
        "supported",
        "not supported",
        "contradicted",
    }
    page = (tmp_path / "index.html").read_text()
    assert all(escape(verdict.evidence) in page for verdict in done.findings.verdicts)
    assert page.count("data:image/svg") == len(done.findings.plots) > 0


@pytest.mark.model
def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [f"{n}.jpg" for n in range(12)]
    splits = ["train"] * 8 + ["val"] * 2 + ["test"] * 2
    values = np.random.default_rng(0).normal(size=(12, 4))
    np.savez(tmp_path / "f.npz", ids=names, split=splits, features=values)
    lines = [f"{name}#{k}\ta dog {k} runs\n" for name in names for k in range(2)]
    (tmp_path / "c.txt").write_text("".join(lines))
    files = ["--data", str(tmp_path / "f.npz"), "--captions", str(tmp_path / "c.txt")]
    twice = ["--data", f"{tmp_path / 'f.npz'}#features"]
    small = ["--min-count", "1", "--hidden", "4", "--epochs", "1", "--reward-epochs", "1"]
    folder = ["-o", str(tmp_path / "out")]
    assert main(["lab", "train", *files, *twice, *small, *folder, "--reward", "cider-d"]) == 0
    output = capsys.readouterr()
    assert "cider-d: test scores" in output.out
    assert "cross-entropy, epoch 1: cross-entropy" in output.err
    assert (tmp_path / "out" / "cider-d" / "log.svg").exists()
    results = json.loads((tmp_path / "out" / "cider-d" / "results.json").read_text())
    assert results["data"]["features"] == [8]
    assert f"3 beams {results['test']['3 beams']['cider-d']:.4f}" in " ".join(output.out.split())
    assert results["log"][0]["reward"] >= 0
    chosen = ["--generators", "rs,beam", "--seeds", "1", "--test-images", "2"]
    assert main(["lab", "run", "generators", *files, *small, *folder, *chosen]) == 0
    output = capsys.readouterr()
    assert "no interval for one seed" in output.out
    assert (tmp_path / "out" / "generators" / "index.html").exists()
    assert main(["lab", "run", "generators", *files[:2]]) == 2
    assert "--data and --captions must be given together" in capsys.readouterr().err
    assert main(["lab", "train", *files, *folder, "--model", "x"]) == 2
    assert "no model named 'x'" in capsys.readouterr().err


def make_repository(folder: Path) -> str:
    """Commit everything in a folder, and return the commit."""
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "first"]):
        subprocess.run([*git, *command], check=True)
    found = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    return found.stdout.strip()


def test_commit_of_cidery_only(tmp_path: Path) -> None:
    """A package in the `.venv` of a user's repository has no commit."""
    user, checkout = tmp_path / "user", tmp_path / "cidery"
    installed = user / ".venv" / "lib" / "python3.11" / "site-packages" / "cidery_lab"
    vendored = user / "third_party" / "lab" / "src" / "cidery_lab"
    source = checkout / "lab" / "src" / "cidery_lab"
    for package in (installed, vendored, source):
        package.mkdir(parents=True)
        (package / "running.py").touch()
    for root in (user / "third_party", checkout):
        (root / "src" / "cidery").mkdir(parents=True)
    make_repository(user)
    commit = make_repository(checkout)
    assert find_commit(source) == commit
    assert find_commit(installed) is None
    assert find_commit(vendored) is None
