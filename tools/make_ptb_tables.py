"""Write native/ptb_tables.cpp: the scanner compiled from ptb_rules.py and ptb_classes.txt.

Run from anywhere: ``python tools/make_ptb_tables.py``; add ``--check`` to fail if the file is
not up to date.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from pathlib import Path

import numpy as np
import ptb_rules
from scanner_generator import Automaton, Node, PatternParser, bits_of_ranges, compile_rules

TOOLS = Path(__file__).resolve().parent
TARGET = TOOLS.parent / "native" / "ptb_tables.cpp"
HIGH_SURROGATE = 0xD800


def read_classes(path: Path) -> dict[str, Node]:
    """Named sets of characters."""
    classes: dict[str, list[str]] = {}
    current: list[str] = []
    for line in path.read_text(encoding="ascii").splitlines():
        if line.startswith("["):
            current = classes.setdefault(line.strip("[]"), [])
        elif not line.startswith("#"):
            current.extend(line.split())
    return {name: ("set", bits_of_ranges(ranges)) for name, ranges in classes.items()}


def build() -> Automaton:
    """Parse all names and rules, in order, into one automaton."""
    names = read_classes(TOOLS / "ptb_classes.txt")
    for name, pattern in ptb_rules.NAMES.items():
        names[name] = PatternParser(pattern, names).parse()
    nodes = [PatternParser(rule.pattern, names).parse() for rule in ptb_rules.RULES]
    return compile_rules(nodes)


def wrap_numbers(values: list[int] | list[str]) -> str:
    return textwrap.fill(",".join(str(value) for value in values).replace(",", ", "), 100)


def pages_of(class_of: np.ndarray) -> tuple[list[int], list[int]]:
    """Two-stage table of the basic plane's classes: page numbers, then pages of 128 entries."""
    pages: dict[bytes, int] = {}
    index = []
    entries: list[int] = []
    for first in range(0, 0x10000, 128):
        page = class_of[first : first + 128].astype(np.uint8)
        key = page.tobytes()
        if key not in pages:
            pages[key] = len(pages)
            entries.extend(page.tolist())
        index.append(pages[key])
    return index, entries


def pack_rows(table: np.ndarray) -> list[int]:
    """Each row as the earlier row most like it, a count of differences, (class, target) pairs."""
    packed: list[int] = []
    for state, row in enumerate(table):
        if state == 0:
            base, changed = 0, np.flatnonzero(row)
        else:
            differences = (table[:state] != row).sum(axis=1)
            base = int(differences.argmin())
            changed = np.flatnonzero(table[base] != row)
        packed += [base, len(changed)]
        for symbol in changed.tolist():
            packed += [symbol, int(row[symbol])]
    return packed


def abbreviation_filter() -> list[int]:
    """Bits at ((first * 26 + last) * 8 + length) for the abbreviations, in 64-bit words."""
    bits = 0
    for word in ptb_rules.ABBREVIATIONS:
        if word.isalpha():
            bits |= 1 << (((ord(word[0]) - 97) * 26 + ord(word[-1]) - 97) * 8 + len(word))
    return [(bits >> (64 * i)) & (2**64 - 1) for i in range(26 * 26 * 8 // 64 + 1)]


def pascal(name: str) -> str:
    return "k" + "".join(part.capitalize() for part in name.split("_"))


def render(automaton: Automaton) -> str:
    """The whole C++ file."""
    index, entries = pages_of(automaton.class_of)
    states, classes = automaton.next_state.shape
    if states > 0xFFFF or classes > 0xFF or automaton.start != 1:
        raise ValueError(f"{states} states and {classes} classes do not fit")
    texts = sorted({rule.text for rule in ptb_rules.RULES})
    rules = [
        f"    {{Action::{pascal(rule.action)}, Shown::{pascal(rule.shown)}, "
        f"{texts.index(rule.text)}}},"
        for rule in ptb_rules.RULES
    ]
    packed = pack_rows(automaton.next_state)
    accepts = (automaton.accepts + 1).tolist()
    parts = [
        "// Made by tools/make_ptb_tables.py; do not edit.",
        '#include "ptb_tables.hpp"',
        "",
        "namespace cidery::ptb {",
        "",
        "// clang-format off",
        f"const std::uint8_t kClassPage[512] = {{\n{wrap_numbers(index)}}};",
        f"const std::uint8_t kClassOf[{len(entries)}] = {{\n{wrap_numbers(entries)}}};",
        f"const std::uint8_t kSurrogateClass = {int(automaton.class_of[HIGH_SURROGATE])};",
        f"const std::uint8_t kLineEndClass = {int(automaton.class_of[10])};",
        f"const RuleInfo kRules[{len(rules) + 1}] = {{\n"
        "    {Action::kSkip, Shown::kAll, 0},\n" + "\n".join(rules) + "};",
        "const std::string_view kTexts[] = {" + ", ".join(f'"{text}"' for text in texts) + "};",
        f"const std::uint8_t kAccepts[{states}] = {{\n{wrap_numbers(accepts)}}};",
        "const std::uint64_t kAbbreviationFilter[] = {\n"
        + wrap_numbers([f"{word:#x}" for word in abbreviation_filter()])
        + "};",
        f"const std::uint16_t kStateCount = {states};",
        f"const std::uint16_t kClassCount = {classes};",
        f"const std::uint16_t kPackedRows[{len(packed)}] = {{\n{wrap_numbers(packed)}}};",
        "// clang-format on",
        "",
        "}  // namespace cidery::ptb",
        "",
    ]
    return "\n".join(parts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="compare with the file instead of writing it"
    )
    arguments = parser.parse_args()
    automaton = build()
    text = render(automaton)
    if arguments.check:
        return 0 if TARGET.read_text(encoding="ascii") == text else 1
    TARGET.write_text(text, encoding="ascii")
    states, classes = automaton.next_state.shape
    print(f"{states} states, {classes} classes, {len(text)} characters", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
