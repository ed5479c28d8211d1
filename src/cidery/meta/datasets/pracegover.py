"""The triplets of #PraCegoVer, as the CIDEr-R paper's authors write them.

Santos, Colombini, Avila 2021; their repository gabrielsantosrv/coco-caption has the program that
makes the file. The captions are restricted.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cidery.errors import FormatError
from cidery.meta.datasets.files import locate, read_json
from cidery.meta.judgments import JudgedCaptions, Pairs

FILES = ("pracegover_triplets.json", "pracegover_triplets_complete.json")
LAYOUT = '{"HCI": {"0": [reference, caption, other caption, 1], …}, "HII": {…}}'
"""Kinds, triplets by number; 1: the caption is right, -1: the other one."""


@dataclass(frozen=True)
class _Triplet:
    kind: str
    reference: str
    first: str
    second: str
    vote: int


def read_pracegover_triplets(path: str | os.PathLike[str]) -> Pairs:
    """Read a reference, a right and a wrong caption for each triplet.

    In HCI both captions are complete, in HII the correct one is truncated.
    Triplets with the same reference share a document; images are groups of captions that HCI
    connects.
    """
    file = _find(path)
    triplets = list(_read(file))
    places = {
        text: place for place, text in enumerate(dict.fromkeys(t.reference for t in triplets))
    }
    documents = np.asarray([places[triplet.reference] for triplet in triplets])
    count = len(triplets)
    judged = JudgedCaptions(
        [*(triplet.first for triplet in triplets), *(triplet.second for triplet in triplets)],
        np.tile(documents, 2),
        [[reference] for reference in places],
        _find_images(triplets, list(places)),
    )
    return Pairs(
        "pracegover-triplets",
        judged,
        np.arange(count),
        np.arange(count, 2 * count),
        {"triplets": np.asarray([triplet.vote for triplet in triplets], np.int64)},
        kinds=[triplet.kind for triplet in triplets],
    )


def _find(path: str | os.PathLike[str]) -> Path:
    """Return the file: the path, or the file in a folder."""
    given = Path(path)
    if given.is_file():
        return given
    for name in FILES[1:]:
        if (given / name).is_file():
            return given / name
    return locate(path, FILES[0], folder="pracegover")[0]


def _read(file: Path) -> Iterator[_Triplet]:
    content = read_json(file)
    if not isinstance(content, dict) or not content:
        raise FormatError(f"{file}: expected {LAYOUT}, found {_show(content)}")
    found = False
    for kind, given in content.items():
        listed = dict(enumerate(given)) if isinstance(given, list) else given
        if not isinstance(listed, dict):
            raise FormatError(
                f"{file}: expected triplets under {kind!r}, as in {LAYOUT}, found {_show(listed)}"
            )
        for number, row in listed.items():
            found = True
            yield _read_triplet(row, str(kind), f"{file}, {kind}, triplet {number}")
    if not found:
        raise FormatError(f"{file}: there are no triplets")


def _read_triplet(row: Any, kind: str, place: str) -> _Triplet:
    if not isinstance(row, list) or len(row) != 4:
        raise FormatError(
            f"{place}: expected [reference, caption, other caption, winner], found {_show(row)}"
        )
    *texts, winner = row
    if not all(isinstance(text, str) for text in texts):
        raise FormatError(f"{place}: expected three texts, found {_show(row)}")
    if not texts[0].strip():
        raise FormatError(f"{place}: the reference has no words")
    if isinstance(winner, bool) or winner not in (-1, 0, 1):
        raise FormatError(
            f"{place}: the winner is 1 (the first caption), -1 (the second) or 0, not {winner!r}"
        )
    reference, first, second = texts
    return _Triplet(kind, reference, first, second, int(winner))


def _find_images(triplets: list[_Triplet], references: list[str]) -> np.ndarray[Any, Any]:
    """Return the image of each reference, from 0.

    The file has no image ids. Reference and correct caption of a triplet describe the same image,
    and so do references that such triplets connect.
    """
    leader = {reference: reference for reference in references}

    def find(text: str) -> str:
        while leader[text] != text:
            leader[text] = text = leader[leader[text]]
        return text

    for triplet in triplets:
        right = triplet.first if triplet.vote > 0 else triplet.second
        if triplet.kind == "HCI" and triplet.vote:
            leader.setdefault(right, right)
            leader[find(right)] = find(triplet.reference)
    numbers: dict[str, int] = {}
    return np.asarray(
        [numbers.setdefault(find(reference), len(numbers)) for reference in references]
    )


def _show(content: Any) -> str:
    text = repr(content)
    return text if len(text) <= 60 else f"{text[:59]}…"
