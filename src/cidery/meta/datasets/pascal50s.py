"""PASCAL-50S and ABSTRACT-50S (Vedantam, Zitnick, Parikh 2015): pairs judged by triplets."""

from __future__ import annotations

import os

import numpy as np

from cidery.errors import FormatError
from cidery.meta.datasets.files import Record, find_all, locate, read_json, read_records
from cidery.meta.datasets.matlab import read_matlab_abstract, read_matlab_pascal
from cidery.meta.judgments import JudgedCaptions, Pairs, count_votes


def read_pascal_50s(path: str | os.PathLike[str]) -> Pairs:
    """Read `pairs.jsonl` and `refs50.json`: 4,000 pairs of 1,000 images with 50 references each.

    `triplets` is the winner among 48 references as later papers use it; `preference` the 11 votes
    on preference, which the CIDEr paper's Appendix I reports. The authors'
    `pair_pascal.mat` and `consensus_pascal.mat` are read too: they have the triplets, reference by
    reference.
    """
    if files := find_all(path, "pair_pascal.mat", "consensus_pascal.mat", folder="pascal50s"):
        return read_matlab_pascal(*files)
    pairs_file, references_file = locate(path, "pairs.jsonl", "refs50.json", folder="pascal50s")
    references = read_json(references_file)
    image_of = {image: place for place, image in enumerate(references)}
    records = list(read_records(pairs_file))
    images = [_known(record, image_of) for record in records]
    winners = [_winner(record) for record in records]
    vote_counts = count_votes(record.numbers("pairwise_votes_11") for record in records)
    count = len(records)
    judged = JudgedCaptions(
        [record.text(side) for side in ("B", "C") for record in records],
        np.asarray(images * 2, np.int64),
        list(references.values()),
        np.arange(len(references)),
    )
    return Pairs(
        "pascal-50s",
        judged,
        np.arange(count),
        np.arange(count, 2 * count),
        {"triplets": np.asarray(winners), "preference": vote_counts[:, 0] - vote_counts[:, 1]},
        kinds=[record.text("category") for record in records],
        systems=[_systems(record) for record in records],
        own_references=[record.texts("refs5_EXPERT") for record in records],
        vote_counts={"preference": vote_counts},
    )


def _known(record: Record, image_of: dict[str, int]) -> int:
    image = record.text("image")
    if image not in image_of:
        record.refuse(f"image {image!r} has no references in refs50.json")
    return image_of[image]


def _winner(record: Record) -> int:
    winner = record.text("consensus_winner")
    if winner not in ("B", "C"):
        record.refuse(f"the consensus_winner is B or C, not {winner!r}")
    return 1 if winner == "B" else -1


def _systems(record: Record) -> tuple[str, str]:
    first, second = record.numbers("systems")
    return f"{first:g}", f"{second:g}"


def read_abstract_50s(path: str | os.PathLike[str]) -> Pairs:
    """Read `triplets.jsonl`: 400 pairs, each with 48 references and the votes for each.

    A rating is the majority of three votes: +1 if B is more similar to the reference, -1 if C is.
    The authors' `consensus_abstract.mat` is read too.
    """
    if files := find_all(path, "consensus_abstract.mat", folder="abstract50s"):
        return read_matlab_abstract(*files)
    (file,) = locate(path, "triplets.jsonl", folder="abstract50s")
    grouped: dict[str, list[Record]] = {}
    for record in read_records(file):
        grouped.setdefault(record.text("pair"), []).append(record)
    groups = list(grouped.values())
    if len({len(group) for group in groups}) != 1:
        raise FormatError(f"{file}: the pairs have different numbers of triplets")
    ratings = [[int(record.numbers("rating")[0]) for record in group] for group in groups]
    triplets = np.sign(np.asarray(ratings)).astype(np.int8)
    references = [[record.text("A") for record in group] for group in groups]
    # Images have no names here: pairs with the same references belong to the same one.
    names = ["\n".join(sorted(group)) for group in references]
    images = np.unique(names, return_inverse=True)[1].astype(np.int64)
    count = len(groups)
    judged = JudgedCaptions(
        [group[0].text(side) for side in ("B", "C") for group in groups],
        np.tile(np.arange(count), 2),
        references,
        images,
    )
    return Pairs(
        "abstract-50s",
        judged,
        np.arange(count),
        np.arange(count, 2 * count),
        {"triplets": triplets.sum(axis=1, dtype=np.int64)},
        triplets=triplets,
    )
