"""Write native/unicode_tables.cpp: simple lower-case mappings and the cased code points."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from pathlib import Path

TARGET = Path(__file__).resolve().parent.parent / "native" / "unicode_tables.cpp"
# Code points beyond the basic plane stand only in web addresses and tags.
LAST = 0x1FFFF
# Letters younger than Unicode 13, the version that the original's Java 17 knows.
YOUNGER = {0x2C2F, 0xA7C0, 0xA7D0, 0xA7D6, 0xA7D8, *range(0x10570, 0x10596)}


def lower_runs() -> list[tuple[int, int, int, int]]:
    """Runs (first, last, step, delta) of code points with the same distance to their lower case."""
    runs: list[tuple[int, int, int, int]] = []
    for code in range(0x80, LAST + 1):
        if 0xD800 <= code < 0xE000 or code in YOUNGER:
            continue
        lower = chr(code).lower()
        if len(lower) != 1 or ord(lower) == code:
            continue
        delta = ord(lower) - code
        if runs and runs[-1][3] == delta:
            first, last, step, _ = runs[-1]
            gap = code - last
            if gap in (1, 2) and (first == last or step == gap):
                runs[-1] = (first, code, gap, delta)
                continue
        runs.append((code, code, 1, delta))
    return runs


def is_cased(character: str) -> bool:
    """Cased as Java sees it: the ordinal indicators are not."""
    if unicodedata.category(character) == "Lo":
        return False
    return character.lower() != character or character.upper() != character or character.islower()


def ranges_where(test: Callable[[str], bool]) -> list[tuple[int, int]]:
    """Ranges of code points that pass the test."""
    found: list[tuple[int, int]] = []
    for code in range(LAST + 1):
        if 0xD800 <= code < 0xE000 or not test(chr(code)):
            continue
        if found and found[-1][1] == code - 1:
            found[-1] = (found[-1][0], code)
        else:
            found.append((code, code))
    return found


def lines_of(items: list[str]) -> str:
    lines, line = [], "   "
    for item in items:
        if len(line) + len(item) + 2 > 100:
            lines.append(line)
            line = "   "
        line += f" {item},"
    return "\n".join([*lines, line])


def main() -> None:
    runs = lower_runs()
    cased = ranges_where(is_cased)
    parts = [
        "// Made by tools/make_unicode_tables.py; do not edit.",
        '#include "unicode_tables.hpp"',
        "",
        "namespace cidery {",
        "namespace {",
        "",
        "// clang-format off",
        f"const LowerRun kRuns[{len(runs)}] = {{",
        lines_of([f"{{0x{a:X}, 0x{b:X}, {step}, {delta}}}" for a, b, step, delta in runs]),
        "};",
        f"const CodeRange kCased[{len(cased)}] = {{",
        lines_of([f"{{0x{a:X}, 0x{b:X}}}" for a, b in cased]),
        "};",
        "// clang-format on",
        "",
        "}  // namespace",
        "",
        "const std::span<const LowerRun> kLowerRuns{kRuns};",
        "const std::span<const CodeRange> kCasedRanges{kCased};",
        "",
        "}  // namespace cidery",
        "",
    ]
    TARGET.write_text("\n".join(parts), encoding="ascii")


if __name__ == "__main__":
    main()
