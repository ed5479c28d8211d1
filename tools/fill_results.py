"""Write the results of benchmarks into the documentation: `python tools/fill_results.py [--check]`.

A page shows a table of `benchmarks/results/NAME.json` between the lines `<!-- result: NAME -->` and
`<!-- end of result -->`; `NAME/1` is the second table. Figures in sentences are listed under
`figures` in the JSON file, and must occur in their page. With `--check`, nothing is written.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "benchmarks"))
from results import list_scripts, read_result, render_block  # noqa: E402

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(
    r"(?P<begin><!-- result: (?P<name>\w+)(?:/(?P<number>\d+))? -->\n\n)"
    r"(?P<shown>.*?)(?P<end>\n\n<!-- end of result -->)",
    re.DOTALL,
)
NAMED = re.compile(r"benchmarks/run\.py\s+(\w+)")


def render(name: str, number: int = 0) -> str:
    """Return a table of a result as Markdown."""
    result = read_result(name)
    tables = [block for block in result["blocks"] if "columns" in block] if result else []
    if number >= len(tables):
        raise LookupError(f"benchmarks/results/{name}.json has no table {number}")
    return render_block(tables[number])


def fill(text: str) -> str:
    """Return a page with its results up to date."""
    return BLOCK.sub(
        lambda found: (
            found["begin"] + render(found["name"], int(found["number"] or 0)) + found["end"]
        ),
        text,
    )


def find_problems(text: str, page: str) -> Iterator[str]:
    """Yield what a page shows without a result behind it."""
    try:
        if fill(text) != text:
            yield f"{page} differs from the results; run tools/fill_results.py"
    except LookupError as error:
        yield f"{page}: {error}"
    flat = " ".join(text.split())
    shown = {found["name"] for found in BLOCK.finditer(text)}
    for name in sorted({*NAMED.findall(text)}):
        if name not in list_scripts():
            yield f"{page} names benchmark {name}, which does not exist"
            continue
        result = read_result(name) or {}
        figures = [one["text"] for one in result.get("figures", ()) if one["page"] == page]
        if name not in shown and not figures:
            yield f"{page} names benchmark {name}, but no result of it has a table or figure there"
        for figure in figures:
            if figure not in flat:
                yield f"{page} does not have the figure {figure!r} of {name}"


def main() -> int:
    problems = []
    for page in PAGES:
        text, name = page.read_text(encoding="utf-8"), page.relative_to(ROOT).as_posix()
        if "--check" not in sys.argv:
            page.write_text(fill(text), encoding="utf-8")
            text = page.read_text(encoding="utf-8")
        problems += find_problems(text, name)
    print(*problems, sep="\n", end="\n" if problems else "", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
