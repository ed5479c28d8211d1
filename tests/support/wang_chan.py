"""The caption sets printed in figures 12-18 of Wang and Chan 2019, with their values."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class PrintedSet:
    name: str
    captions: list[str]
    values: dict[str, float] = field(default_factory=dict)
    """`self-cider`, `lsa`, `mbleu-1` …, as printed."""


NAMES = {"Self-CIDEr": "self-cider", "LSA-based": "lsa", "acc": "accuracy"}
TWO_COLUMNS = re.compile(r"(?:- )?\| \d+\. (.*?) \| \d+\. (.*?) \|")
NUMBERED = re.compile(r"(?:- )?(?:10|[1-9])\. ?(.*)")
VALUE = re.compile(r"(LSA-based|Self-CIDEr|acc|mBLEU-\d): ?([0-9.]+)")


def read_sets(paper: Path) -> list[PrintedSet]:
    """Return the sets in the order in which the paper prints them."""
    lines = paper.read_text(encoding="utf-8").splitlines()
    columns: list[list[str]] = [[], []]
    listed: list[str] = []
    sets: list[PrintedSet] = []
    for line in lines[_first_figure(lines) :]:
        if found := TWO_COLUMNS.match(line):
            columns[0].append(found[1])
            columns[1].append(found[2])
        elif found := NUMBERED.match(line):
            listed.append(found[1].strip().rstrip('"'))
        elif VALUE.search(line) or line.startswith("Human"):
            if not line.startswith(("mBLEU", "Self-CIDEr")):
                if columns[0]:
                    captions, columns = columns[0], [columns[1], []]
                else:
                    captions, listed = listed, []
                sets.append(PrintedSet(line.split(" ")[0], captions))
            for name, value in VALUE.findall(line):
                sets[-1].values[NAMES.get(name, name.lower())] = float(value)
    return sets


def _first_figure(lines: list[str]) -> int:
    return next(i for i, line in enumerate(lines) if line.startswith("- | | |"))
