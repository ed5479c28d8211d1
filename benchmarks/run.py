"""Run a benchmark and record its result, or list all of them with the age of their results.

    python benchmarks/run.py                     # list
    python benchmarks/run.py scoring [OPTION …]  # run, and write benchmarks/results/scoring.json

After a run, `python tools/fill_results.py` writes its tables into the documentation.
"""

from __future__ import annotations

import ast
import os
import runpy
import sys
from pathlib import Path

from results import KINDS, list_scripts, read_result, record

ROOT = Path(__file__).parents[1]


def show_list() -> None:
    for name, script in list_scripts().items():
        result = read_result(name)
        found = f"{result['measured']} ({result['commit']})" if result else "no result"
        summary = (ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or "").split(
            "\n"
        )[0]
        print(f"{script.parent.name:9} {name:17} {found:46} {summary}")


def main() -> None:
    if len(sys.argv) < 2:
        show_list()
        return
    name, *arguments = sys.argv[1:]
    scripts = list_scripts()
    if name not in scripts:
        raise SystemExit(f"unknown benchmark {name!r}; known: {', '.join(scripts)}")
    script = scripts[name]
    # Scripts share modules of this folder and of the tests, and start themselves as processes.
    folders = [script.parent, Path(__file__).parent, *(Path(__file__).parent / k for k in KINDS)]
    paths = [str(folder) for folder in (*folders, ROOT, ROOT / "tests", ROOT / "tools")]
    sys.path[1:1] = paths
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [*paths, os.getenv("PYTHONPATH")]))
    sys.argv = [str(script), *arguments]
    record(name, arguments, lambda: runpy.run_path(str(script), run_name="__main__"))


if __name__ == "__main__":
    main()
