"""Every documented figure of a benchmark has a recorded result behind it."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from support.example import ROOT

RESULTS = sorted((ROOT / "benchmarks" / "results").glob("*.json"))
KEYS = {"script", "command", "measured", "commit", "machine", "load", "blocks"}


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    """`tools/fill_results.py` as a module."""
    spec = importlib.util.spec_from_file_location(
        "fill_results", ROOT / "tools" / "fill_results.py"
    )
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_pages_show_the_recorded_results(tool: ModuleType) -> None:
    problems = [
        problem
        for page in tool.PAGES
        for problem in tool.find_problems(
            page.read_text(encoding="utf-8"), page.relative_to(ROOT).as_posix()
        )
    ]
    assert problems == []


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_results_name_their_script_and_origin(path: Path, tool: ModuleType) -> None:
    result = json.loads(path.read_text(encoding="utf-8"))
    assert result.keys() - {"figures"} == KEYS
    assert ROOT / result["script"] == tool.list_scripts()[path.stem]
    assert result["command"].split()[:3] == ["python", "benchmarks/run.py", path.stem]
    assert result["measured"] and result["commit"] and result["machine"]
    pages = [page.read_text(encoding="utf-8") for page in tool.PAGES]
    tables = sum("columns" in block for block in result["blocks"])
    shown = {
        int(found["number"] or 0)
        for text in pages
        for found in tool.BLOCK.finditer(text)
        if found["name"] == path.stem
    }
    assert shown <= set(range(tables))
    assert shown or result.get("figures"), "no page shows this result"


def test_problems_are_found(tool: ModuleType) -> None:
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    ratio = tool.render("scoring").split("|")[-2].strip()
    changed = page.replace(ratio, "999 x")
    assert changed != page
    assert list(tool.find_problems(changed, "README.md")) == [
        "README.md differs from the results; run tools/fill_results.py"
    ]
    assert tool.fill(changed) == page
    unmarked = tool.BLOCK.sub(lambda found: found["shown"], page)
    assert list(tool.find_problems(unmarked, "README.md")) == [
        "README.md names benchmark scoring, but no result of it has a table or figure there"
    ]
    unknown = "`python benchmarks/run.py nothing`\n\n<!-- result: nothing -->\n\nx\n\n"
    assert list(tool.find_problems(f"{unknown}<!-- end of result -->", "a.md")) == [
        "a.md: benchmarks/results/nothing.json has no table 0",
        "a.md names benchmark nothing, which does not exist",
    ]
    (figure,) = [
        problem
        for problem in tool.find_problems(page.replace("6.808 s", "9 s"), "README.md")
        if "figure" in problem
    ]
    assert figure == "README.md does not have the figure '6.808 s' of meteor"


def test_a_run_is_recorded(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; sys.path.insert(0, 'benchmarks'); import results\n"
        f"results.RESULTS = Path({str(tmp_path)!r})\n"
        "text = 'Some words.\\n\\n| a | b |\\n|---|---:|\\n| x | |\\n'\n"
        "results.record('mistakes', ['--quick'], lambda: print(text))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("Some words.\n\n| a | b |")
    result = json.loads((tmp_path / "mistakes.json").read_text(encoding="utf-8"))
    assert result.keys() == KEYS
    assert result["command"] == "python benchmarks/run.py mistakes --quick"
    assert result["blocks"] == [
        {"text": ["Some words."]},
        {"columns": ["a", "b"], "align": ["---", "---:"], "rows": [["x", ""]]},
    ]


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_figures_in_sentences_are_those_of_the_run(path: Path) -> None:
    """A figure that was measured occurs in the output of the benchmark, not only in the page."""
    result = json.loads(path.read_text(encoding="utf-8"))
    if result["measured"].startswith("documented earlier"):
        return
    output = json.dumps(result["blocks"], ensure_ascii=False)
    numbers = re.findall(r"\d+(?:[.,]\d+)*", " ".join(f["text"] for f in result.get("figures", ())))
    assert [number for number in numbers if number not in output] == []


def test_a_failed_benchmark_leaves_its_result(tmp_path: Path) -> None:
    path = ROOT / "benchmarks" / "results" / "rewards.json"
    before = path.read_bytes()
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "run.py"), "rewards", "--no-such-option"],
        capture_output=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 2
    assert path.read_bytes() == before
