"""The fifteen triplets of the CIDEr-R paper (Santos, Colombini, Avila 2021, Table 3)."""

from __future__ import annotations

import os

import numpy as np

from cidery.errors import FormatError
from cidery.files import read_candidates, read_references
from cidery.meta.datasets.files import locate
from cidery.meta.judgments import JudgedCaptions, Pairs

FILES = (
    "toy_correct_candidates.json",
    "toy_incorrect_candidates.json",
    "toy_references.json",
)


def read_cider_r_triplets(path: str | os.PathLike[str]) -> Pairs:
    """Read a reference, a correct and an incorrect candidate for each of 15 items.

    The first of each pair is the correct one. The items are their own set of documents.
    """
    files = locate(path, *FILES, folder="cider_r")
    correct, incorrect = (dict(read_candidates(str(file))) for file in files[:2])
    references = read_references(str(files[2]))
    items = list(correct)
    if {*items} != {*incorrect} or {*items} != {*references}:
        raise FormatError(f"{path}: the three files do not hold the same items")
    count = len(items)
    judged = JudgedCaptions(
        [side[item] for side in (correct, incorrect) for item in items],
        np.tile(np.arange(count), 2),
        [references[item] for item in items],
        np.arange(count),
    )
    return Pairs(
        "cider-r-triplets",
        judged,
        np.arange(count),
        np.arange(count, 2 * count),
        {"triplets": np.ones(count, np.int64)},
    )
