"""Results of benchmarks: one JSON file each, with the commit and the machine they were measured on.

A file has these keys: `script`, `command`, `measured` (a date, or "documented earlier, not
repeated"), `commit`, `machine`, `load` (average number of running processes, before and after) and
`blocks`: Markdown tables as columns and rows, and paragraphs of text, in the order of the output.
`figures` lists the places in sentences of the documentation that state a figure of this benchmark.
"""

from __future__ import annotations

import io
import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from datetime import date
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "results"
KINDS = ("speed", "validity", "load")
EARLIER = "documented earlier, not repeated"
TABLE = re.compile(r"(?:^\|.*\|[ ]*$\n?)+", re.MULTILINE)
RULE = re.compile(r"^\|(\s*:?-+:?\s*\|)+$")


def list_scripts() -> dict[str, Path]:
    """Return the scripts by name, in the order of their kinds."""
    return {path.stem: path for kind in KINDS for path in sorted((FOLDER / kind).glob("*.py"))}


def read_result(name: str) -> dict[str, Any] | None:
    """Return the result of a script, or None where there is none."""
    file = RESULTS / f"{name}.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else None


def write_result(name: str, result: dict[str, Any]) -> None:
    """Write the result of a script."""
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps(result, ensure_ascii=False, indent=1)
    (RESULTS / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def record(name: str, arguments: Sequence[str], run: Callable[[], object]) -> None:
    """Run a benchmark, show its output, and write its result unless it fails."""
    output, earlier = _Tee(), read_result(name) or {}
    before = os.getloadavg()[0]
    with redirect_stdout(output):
        try:
            run()
        except SystemExit as end:
            if end.code:
                raise
    write_result(
        name,
        {
            "script": str(list_scripts()[name].relative_to(FOLDER.parent)),
            "command": " ".join(["python benchmarks/run.py", name, *arguments]),
            "measured": date.today().isoformat(),
            "commit": read_commit(),
            "machine": describe_machine(),
            "load": [round(before, 1), round(os.getloadavg()[0], 1)],
            "blocks": [*parse_blocks(output.getvalue())],
            **({"figures": earlier["figures"]} if "figures" in earlier else {}),
        },
    )
    for figure in earlier.get("figures", ()):
        print(f"check {figure['page']}: {figure['text']}", file=sys.stderr)


class _Tee(io.StringIO):
    def write(self, text: str) -> int:
        sys.__stdout__.write(text)  # type: ignore[union-attr]
        sys.__stdout__.flush()  # type: ignore[union-attr]
        return super().write(text)


def parse_blocks(text: str) -> Iterator[dict[str, Any]]:
    """Yield the Markdown tables of a text, and the text between them."""
    start = 0
    for table in [*TABLE.finditer(text), None]:
        between = text[start : table.start() if table else None].strip("\n")
        if between.strip():
            yield {"text": between.split("\n")}
        if table:
            start = table.end()
            yield parse_table(table[0])


def parse_table(table: str) -> dict[str, Any]:
    """Return a Markdown table as `{"columns": …, "align": …, "rows": …}`."""
    lines = table.strip().split("\n")
    has_header = len(lines) > 1 and RULE.match(lines[1].strip())
    cells = [
        [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip()[1:-1])] for line in lines
    ]
    if not has_header:
        raise ValueError(f"a table needs a header and a rule: {lines[0]}")
    return {"columns": cells[0], "align": cells[1], "rows": cells[2:]}


def render_block(block: dict[str, Any]) -> str:
    """Return a block as Markdown."""
    if "text" in block:
        return "\n".join(block["text"])
    rows = [block["columns"], *block["rows"]]
    lines = ["|" + "|".join(f" {cell} " if cell else " " for cell in row) + "|" for row in rows]
    lines.insert(1, "|" + "|".join(block["align"]) + "|")
    return "\n".join(lines)


def read_commit() -> str:
    """Return the commit of this checkout, with a plus where files were changed."""
    commit = _run_git("rev-parse", "--short", "HEAD") or "unknown"
    is_changed = _run_git("status", "--porcelain", "--untracked-files=no", "--", "src", "native")
    return commit + ("+" if is_changed else "")


def _run_git(*arguments: str) -> str:
    command = ["git", "-C", str(FOLDER), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def describe_machine() -> str:
    """Return the processor, cores, memory and version of Python."""
    processor, memory = platform.machine(), ""
    if sys.platform == "linux":
        found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
        processor = found[1] if found else processor
        memory = f", {os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GB"
    return f"{processor}, {os.cpu_count()} cores{memory}, Python {platform.python_version()}"
