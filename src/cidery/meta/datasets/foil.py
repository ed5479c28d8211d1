"""FOIL (Shekhar et al., ACL 2017): a caption of COCO, and the same with one wrong word."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from cidery.errors import FormatError
from cidery.files import shorten
from cidery.meta.datasets.files import locate, read_json
from cidery.meta.judgments import JudgedCaptions, Pairs

FILES = ("foilv1.0_test_2017.json", "captions_val2014.json")


def read_foil(path: str | os.PathLike[str]) -> Pairs:
    """Read the test split and COCO's captions of val2014: pairs of a right and a wrong caption.

    The first of each pair is correct. References are the other captions of the image; published
    results use one of them, or all four.
    """
    foil_file, coco_file = locate(path, *FILES, folder="foil")
    references: dict[Any, list[str]] = {}
    for annotation in _get_annotations(coco_file, "image_id", "caption"):
        references.setdefault(annotation["image_id"], []).append(annotation["caption"])
    right: dict[Any, dict[str, Any]] = {}
    wrong: list[dict[str, Any]] = []
    for annotation in _get_annotations(foil_file, "id", "image_id", "caption", "foil"):
        if annotation["foil"]:
            wrong.append(annotation)
        else:
            right[annotation["id"]] = annotation
    documents: list[list[str]] = []
    for annotation in wrong:
        original = right.get(annotation["id"])
        if original is None:
            raise FormatError(f"{foil_file}: annotation {annotation['id']} has no right caption")
        known = references.get(annotation["image_id"], [])
        kept = [text for text in known if text != original["caption"]]
        if not kept:
            raise FormatError(
                f"{coco_file}: image {annotation['image_id']} has no other captions than the "
                "one that is judged"
            )
        documents.append(kept)
    count = len(wrong)
    if not count:
        raise FormatError(f"{foil_file}: there is no annotation with a wrong word")
    images = np.unique([str(annotation["image_id"]) for annotation in wrong], return_inverse=True)
    judged = JudgedCaptions(
        [right[annotation["id"]]["caption"] for annotation in wrong]
        + [annotation["caption"] for annotation in wrong],
        np.tile(np.arange(count), 2),
        documents,
        images[1].astype(np.int64),
    )
    votes = np.ones(count, np.int64)
    return Pairs(
        "foil", judged, np.arange(count), np.arange(count, 2 * count), {"preference": votes}
    )


def _get_annotations(file: Path, *fields: str) -> list[dict[str, Any]]:
    content = read_json(file)
    found = content.get("annotations") if isinstance(content, dict) else None
    if not isinstance(found, list) or not found:
        raise FormatError(f"{file}: expected a list in 'annotations'")
    for number, annotation in enumerate(found, start=1):
        for name in fields:
            _check(annotation, name, f"{file}, annotation {number}")
    return found


def _check(annotation: Any, name: str, place: str) -> None:
    if not isinstance(annotation, dict) or name not in annotation:
        raise FormatError(f"{place}: there is no {name!r}")
    value = annotation[name]
    if name == "caption" and not isinstance(value, str):
        raise FormatError(f"{place}: expected text in 'caption', found {shorten(value)}")
    if name in ("id", "image_id") and not isinstance(value, int | str):
        raise FormatError(f"{place}: expected a number or text in {name!r}, found {shorten(value)}")
