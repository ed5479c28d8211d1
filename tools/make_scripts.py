"""Write src/cidery/text/scripts.txt: which script a character belongs to.

The source is Unicode's Scripts.txt, in the form in which fontTools carries it. Ranges of one script
are joined over what belongs to none; `Common` and `Inherited` are left out.
"""

from __future__ import annotations

import sys
from pathlib import Path

from fontTools.unicodedata import Scripts

TARGET = Path(__file__).resolve().parents[1] / "src" / "cidery" / "text" / "scripts.txt"
NO_SCRIPT = ("Zyyy", "Zinh", "Zzzz")


def list_ranges() -> list[tuple[int, int, str]]:
    ends = [*Scripts.RANGES[1:], sys.maxunicode + 1]
    ranges: list[tuple[int, int, str]] = []
    for start, end, code in zip(Scripts.RANGES, ends, Scripts.VALUES, strict=True):
        name = Scripts.NAMES[code].replace("_", " ")
        joined = "" if not ranges else ranges[-1][2]
        if code == "Zzzz" or (code in NO_SCRIPT and not ranges):
            continue
        if name == joined:
            ranges[-1] = (ranges[-1][0], end - 1, name)
        else:
            ranges.append((start, end - 1, name))
    return [item for item in ranges if item[2] not in ("Common", "Inherited")]


def main() -> None:
    version = next(
        line.split("-")[1].removesuffix(".txt")
        for line in Path(Scripts.__file__).read_text(encoding="utf-8").splitlines()
        if line.startswith("# Scripts-")
    )
    lines = [
        f"# Scripts of Unicode {version}, from https://www.unicode.org/Public/UNIDATA/Scripts.txt,",
        "# © Unicode, Inc., https://www.unicode.org/license.txt; made by tools/make_scripts.py",
        *(f"{first:x} {last:x} {name}" for first, last, name in list_ranges()),
    ]
    TARGET.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
