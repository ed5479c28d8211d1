"""The COCO captioning challenge of 2015: human scores of systems and their leaderboards."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from cidery.errors import FormatError
from cidery.meta.datasets.files import locate, read_json
from cidery.meta.judgments import Systems

QUESTIONS = {"q1": "M1", "q2": "M2", "q3": "M3", "q4": "M4", "q5": "M5"}
"""M1: at least as good as a human caption; M2: mistaken for a human caption; M3: correctness, 1 to
5; M4: detail, 1 to 5; M5: similarity to a human caption."""
METRICS = {
    "cider-d": "CIDEr",
    "bleu-1": "Bleu_1",
    "bleu-2": "Bleu_2",
    "bleu-3": "Bleu_3",
    "bleu-4": "Bleu_4",
    "rouge-l": "ROUGE_L",
    "meteor": "METEOR",
    "spice": "SPICE",
}
FILES = ("cap_challenge2015.json", "cap_c5.json", "cap_c40.json")
JUDGED_BEFORE = "2015-06"
"""Date of the judgments; some leaderboard rows are of later entries."""


def read_coco_2015(path: str | os.PathLike[str]) -> Systems:
    """Read human scores and the leaderboards with 5 and with 40 references.

    Only the 12 systems, including human captions, whose leaderboard row is the judged entry.
    """
    judged_file, c5_file, c40_file = locate(path, *FILES, folder="coco_challenge2015")
    judged, c5, c40 = (_read(file) for file in (judged_file, c5_file, c40_file))
    systems = [
        name
        for name in judged
        if all(name in board and board[name][0] < JUDGED_BEFORE for board in (c5, c40))
    ]
    if not systems:
        raise FormatError(f"{judged_file}: no judged system is on both leaderboards")
    return Systems(
        "coco-2015",
        systems,
        {ours: _column(judged, systems, theirs) for theirs, ours in QUESTIONS.items()},
        {
            count: {ours: _column(board, systems, theirs) for ours, theirs in METRICS.items()}
            for count, board in ((5, c5), (40, c40))
        },
        {ours: f"{theirs} of the evaluation server" for ours, theirs in METRICS.items()},
    )


def _read(path: Path) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return team -> (date, results)."""
    found = {}
    for number, entry in enumerate(read_json(path), start=1):
        try:
            found[entry["team"]["name"]] = (entry["date"], json.loads(entry["results"]))
        except (KeyError, TypeError, ValueError):
            raise FormatError(
                f"{path}, entry {number}: expected a team with a name, a date and results"
            ) from None
    return found


def _column(board: dict[str, tuple[str, dict[str, Any]]], systems: list[str], key: str) -> Any:
    try:
        return np.asarray([float(board[name][1][key]) for name in systems])
    except KeyError:
        raise FormatError(f"a judged system has no {key} among its results") from None
