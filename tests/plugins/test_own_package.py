"""The package of docs/write-your-own-metric.md is built, installed and used, as the page says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import cidery
from cidery.corpus import bundled

PAGE = Path(__file__).parents[2] / "docs" / "write-your-own-metric.md"
CIDERY = Path(sys.executable).parent / "cidery"


@dataclass(frozen=True)
class Installed:
    """A folder with the example files, in which the page's package is installed."""

    folder: Path
    environment: dict[str, str]

    def run(self, *command: str) -> str:
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        assert not done.stderr
        return done.stdout


def read_page() -> str:
    return PAGE.read_text(encoding="utf-8")


def read_files() -> dict[str, str]:
    """Return the files of the package: blocks with a name above them."""
    named = re.findall(r"^`([\w.]+)`:\n\n```\w+\n(.*?)^```$", read_page(), re.MULTILINE | re.DOTALL)
    return dict(named)


def read_commands() -> list[str]:
    blocks = re.findall(r"^```sh\n(.*?)^```$", read_page(), re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    pytest.importorskip("setuptools", reason="setuptools, which builds the package, is not here")
    source, site, folder = (tmp_path_factory.mktemp(name) for name in ("source", "site", "work"))
    for name, text in read_files().items():
        (source / name).write_text(text, encoding="utf-8")
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"),
            *("--no-deps", "--no-build-isolation", "--no-index", "--target", str(site)),
            str(source),
        ],
        check=True,
        capture_output=True,
    )
    for name in bundled.NAMES:
        (folder / name).write_bytes(bundled.path(name).read_bytes())
    function = re.search(r"^def shared_words.*?(?=\n\n\n)", read_page(), re.MULTILINE | re.DOTALL)
    assert function is not None
    (folder / "my_metrics.py").write_text(function[0] + "\n", encoding="utf-8")
    return Installed(folder, os.environ | {"PYTHONPATH": str(site)})


def test_the_package_is_small() -> None:
    files = read_files()
    assert set(files) == {"pyproject.toml", "caption_lengths.py"}
    lines = [line for line in files["caption_lengths.py"].splitlines() if line.strip()]
    assert len(lines) <= 35


def test_every_command_of_the_page(installed: Installed) -> None:
    commands = read_commands()
    assert len(commands) == 5
    for command in commands:
        program, *arguments = command.split()
        assert program == "cidery"
        assert installed.run(str(CIDERY), *arguments)


def test_listing_and_signatures(installed: Installed) -> None:
    listed = installed.run(str(CIDERY), "metrics")
    assert re.search(r"^length-ratio +0 to 1 .*caption-lengths-1\.0$", listed, re.MULTILINE)
    assert re.search(r"^same-length +any .*caption-lengths-1\.0$", listed, re.MULTILINE)
    score = ("score", "system_a.json", "references.json", "-m", "length-ratio", "-f", "json")
    content = json.loads(installed.run(str(CIDERY), *score))
    (shown,) = re.findall(r"^`(length-ratio\|.*)`\.$", read_page(), re.MULTILINE)
    version = f"version:{cidery.__version__}"
    assert content["signatures"] == {"length-ratio": re.sub(r"version:\S+", version, shown)}


def test_every_function_takes_it(installed: Installed) -> None:
    code = """
import json
import cidery
from cidery import meta
from cidery.files import read_candidates, read_references
a, b = read_candidates("system_a.json"), read_candidates("system_b.json")
references = read_references("references.json")
names = ["length-ratio", "same-length"]
table = cidery.score(a, references, names)
compared = cidery.compare({"a": a, "b": b}, references, names)
assert compared.tables["a"].corpus == table.corpus
images, captions = zip(*a)
rewards = cidery.Reward(references, {"length-ratio": 1.0, "same-length": 1.0})(images, captions)
assert (rewards == table.each["length-ratio"] + table.each["same-length"]).all()
lines = [{"image": 1, "references": ["a dog runs", "one dog"]},
         {"image": 1, "pair": ["a dog", "a dog that runs and runs and runs"], "votes": [1]}]
with open("mine.jsonl", "w") as file:
    file.writelines(json.dumps(line) + "\\n" for line in lines)
agreement = meta.evaluate(meta.read_dataset("judgments", "mine.jsonl"), names, resamples=0)
assert [agreement.results[name]["accuracy"] for name in names] == [1.0, 1.0], agreement
assert "package:caption-lengths-1.0" in agreement.signatures["same-length"]
"""
    installed.run(sys.executable, "-W", "error", "-c", code)
