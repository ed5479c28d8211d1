"""What a release and the pages on GitHub rest on: one version, valid files, wheels."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import yaml

import cidery

ROOT = Path(__file__).parents[2]
GITHUB = ROOT / ".github"
FORMS = sorted(
    set((GITHUB / "ISSUE_TEMPLATE").glob("*.yml")) - {GITHUB / "ISSUE_TEMPLATE/config.yml"}
)
VERSIONED = ["CHANGELOG.md", "CITATION.cff", "docs/command-line.md", "src/cidery/_version.py"]


def load_tool(name: str) -> ModuleType:
    """Import a script of tools/."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_version_is_the_same_everywhere() -> None:
    release = load_tool("release")
    assert release.read_version() == cidery.__version__
    assert list(release.find_disagreements(cidery.__version__)) == []


def test_a_release_says_what_is_missing(tmp_path: Path) -> None:
    release = load_tool("release")
    for name in VERSIONED:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "src/cidery/_version.py").write_text('__version__ = "9.1.0"\n')
    version = release.read_version(tmp_path)
    assert version == "9.1.0"
    assert list(release.find_disagreements(version, tmp_path)) == [
        "CHANGELOG.md has no section: add `## [9.1.0] - YYYY-MM-DD`",
        "CHANGELOG.md has no link for [9.1.0]: add it at the end",
        "CITATION.cff names another version: write `version: 9.1.0`",
        f"docs/command-line.md shows signatures of version {cidery.__version__}",
    ]


@pytest.mark.parametrize(
    ("schema", "files"),
    [
        ("github-workflows", sorted((GITHUB / "workflows").glob("*.yml"))),
        ("github-issue-forms", FORMS),
        ("github-issue-config", [GITHUB / "ISSUE_TEMPLATE" / "config.yml"]),
        ("citation-file-format", [ROOT / "CITATION.cff"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_files_for_github_are_valid(schema: str, files: list[Path]) -> None:
    pytest.importorskip("check_jsonschema", reason="the linter is in the extra `check`")
    done = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", *files],
        capture_output=True,
        text=True,
        check=False,
    )
    assert files and done.returncode == 0, done.stdout + done.stderr


def test_workflows_have_what_they_need() -> None:
    """What a schema does not see: what a job waits for, and expressions of the matrix, exist."""
    for path in (GITHUB / "workflows").glob("*.yml"):
        workflow = yaml.safe_load(path.read_text())
        assert workflow["permissions"] == {"contents": "read"}
        for job in workflow["jobs"].values():
            assert set(job.get("needs", [])) <= set(workflow["jobs"])
            matrix = job.get("strategy", {}).get("matrix", {})
            keys = set(matrix).union(*matrix.get("include", [])) - {"include"}
            assert set(re.findall(r"matrix\.(\w+)", str(job))) == keys
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    called = re.findall(r"run: make (\S+)", (GITHUB / "workflows" / "ci.yml").read_text())
    assert called and set(called) <= set(targets)


def test_forms_ask_for_what_helps() -> None:
    asked = {
        form.stem: {field["id"] for field in yaml.safe_load(form.read_text())["body"]}
        for form in FORMS
    }
    assert asked.keys() == {"bug", "new-metric", "wrong-number"}
    assert {"what", "doctor"} <= asked["bug"]
    assert {"signature", "found", "expected", "captions", "doctor"} <= asked["wrong-number"]
    assert {"paper", "code", "why"} <= asked["new-metric"]


def test_hooks_run_the_tools_of_make_check() -> None:
    (local,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert local["repo"] == "local"
    hooks = {hook["id"]: hook["entry"] for hook in local["hooks"]}
    assert hooks.keys() == {"ruff-format", "ruff-check", "clang-format", "mypy"}
    for entry in hooks.values():
        program = Path(sys.executable).with_name(Path(entry.split()[0]).name)
        assert program.is_file(), f"{program.name} is not in the extra `check`"
