"""Releases and the files for GitHub: one version, valid files, workflows that run."""

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
from cidery.storage import parse_toml

ROOT = Path(__file__).parents[2]
GITHUB = ROOT / ".github"
FORMS = sorted(
    set((GITHUB / "ISSUE_TEMPLATE").glob("*.yml")) - {GITHUB / "ISSUE_TEMPLATE/config.yml"}
)
VERSIONED = [
    *("CHANGELOG.md", "CITATION.cff", "docs/command-line.md", "src/cidery/_version.py"),
    *("server/pyproject.toml", "lab/pyproject.toml"),
]


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
        "server/pyproject.toml names another version: write `9.1.0`",
        "lab/pyproject.toml names another version: write `9.1.0`",
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


WORKFLOWS = {
    path.stem: yaml.safe_load(path.read_text(encoding="utf-8"))
    for path in sorted((GITHUB / "workflows").glob("*.yml"))
}
JOBS = {
    f"{workflow}-{name}": (workflow, job)
    for workflow, content in WORKFLOWS.items()
    for name, job in content["jobs"].items()
}


@pytest.mark.parametrize("name", JOBS)
def test_expressions_of_a_job_are_defined(name: str) -> None:
    workflow, job = JOBS[name]
    assert WORKFLOWS[workflow]["permissions"] == {"contents": "read"}
    assert isinstance(job.get("needs", []), list)
    assert set(job.get("needs", [])) <= set(WORKFLOWS[workflow]["jobs"])
    matrix = job.get("strategy", {}).get("matrix", {})
    rows = matrix.get("include", [])
    keys = set(matrix).union(*rows) - {"include"}
    assert set(re.findall(r"matrix\.(\w+)", str(job))) == keys
    for row in rows:  # an expression without a value is an empty text
        assert keys <= row.keys() | matrix.keys()


@pytest.mark.parametrize("name", JOBS)
def test_commands_of_a_job_run(name: str) -> None:
    """As dry runs: targets of make and options of CMake exist."""
    options = re.findall(r"^option\((\w+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)
    _, job = JOBS[name]
    for step in job["steps"]:
        command = step.get("run", "")
        for target in re.findall(r"\bmake ([\w-]+)", command):
            done = subprocess.run(
                ["make", "--dry-run", target], cwd=ROOT, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stderr
        assert set(re.findall(r"cmake\.define\.(\w+)", command)) <= set(options)


def test_a_tag_uploads_every_distribution() -> None:
    jobs = WORKFLOWS["wheels"]["jobs"]
    uploads: dict[str, list[str]] = {}
    for name, job in jobs.items():
        for step in job["steps"]:
            if "upload-artifact" in step.get("uses", ""):
                is_single = "matrix" not in job.get("strategy", {})
                assert is_single or "${{ matrix." in step["with"]["name"], "names must differ"
                uploads.setdefault(name, []).append(step["with"]["name"])
    names = [artifact for artifacts in uploads.values() for artifact in artifacts]
    assert len(names) == len(set(names))
    assert set(jobs["publish"]["needs"]) == set(uploads)
    assert jobs["publish"]["if"] == "startsWith(github.ref, 'refs/tags/v')"
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert WORKFLOWS["wheels"][True]["push"] == {"tags": ["v*"]}  # `on` is true in YAML 1.1
    commands = str([step.get("run", "") for job in jobs.values() for step in job["steps"]])
    for folder in ("server", "lab"):
        assert f"pipx run build --outdir dist {folder}" in commands
        assert (ROOT / folder / "pyproject.toml").is_file()
    uses = [step.get("uses", "") for job in jobs.values() for step in job["steps"]]
    assert any(name.startswith("pypa/cibuildwheel@v") for name in uses)


def test_pythons_of_the_tests_and_wheels() -> None:
    with (ROOT / "pyproject.toml").open(encoding="utf-8") as file:
        project = parse_toml(file.read())
    oldest = project["project"]["requires-python"].removeprefix(">=")
    tested = WORKFLOWS["ci"]["jobs"]["check"]["strategy"]["matrix"]["python"]
    assert tested[0] == oldest
    built = project["tool"]["cibuildwheel"]["build"]
    assert built[0] == f"cp{oldest.replace('.', '')}-*"
    assert built[-1] == f"{project['tool']['scikit-build']['wheel']['py-api']}-*"


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
