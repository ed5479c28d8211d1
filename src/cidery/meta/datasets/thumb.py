"""THumB 1.0 (Kasai et al., NAACL 2022): captions of COCO rated for precision, recall and more."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from cidery.errors import FormatError
from cidery.meta.datasets.files import MissingFilesError, Record, read_records
from cidery.meta.judgments import JudgedCaptions, Ratings

FILE = "mscoco_THumB-1.0.jsonl"
QUESTIONS = {
    "total": ("human_score", "total"),
    "precision": ("P", "precision"),
    "recall": ("R", "recall"),
    "fluency": ("Flu", "Fl", "fluency_penalty"),
    "conciseness": ("Con", "conciseness_penalty"),
    "inclusive": ("Inc", "inclusive_penalty"),
}
"""question -> its fields in copies of the authors' file, and spelled out; total = (P + R) / 2 +
penalties."""


def read_thumb(path: str | os.PathLike[str]) -> Ratings:
    """Read `mscoco_THumB-1.0.jsonl`: 500 captions each of four systems and of people.

    The default question is `total`. References are in the lines (`references`) or in a file whose
    name ends in `references.json` or `references.jsonl`, without the judged human caption.
    """
    file = _find(Path(path))
    records = list(read_records(file))
    if not records:
        raise FormatError(f"{file}: the file is empty")
    known = _read_references(file.parent) if "references" not in records[0] else {}
    references: dict[str, list[str]] = {}
    for record in records:
        image = record.text("image")
        found = record.texts("references") if "references" in record else _look_up(record, known)
        if not found:
            record.refuse(
                f"image {image!r} has no references: put the authors' mscoco_references.json "
                "beside this file, or references into the line as 'references'"
            )
        if references.setdefault(image, found) != found:
            record.refuse(f"image {image!r} has other references than in an earlier line")
    place = {image: number for number, image in enumerate(references)}
    rows = np.arange(len(records))
    questions = {
        question: (rows, np.asarray([record.numbers(*keys)[0] for record in records]))
        for question, keys in QUESTIONS.items()
        if any(key in records[0] for key in keys)
    }
    if "total" not in questions:
        records[0].refuse("there is no 'human_score' and no 'total'")
    return Ratings(
        "thumb",
        JudgedCaptions(
            [record.text("hyp" if "hyp" in record else "caption") for record in records],
            np.asarray([place[record.text("image")] for record in records]),
            list(references.values()),
            np.arange(len(references)),
            list(references),
        ),
        *questions["total"],
        systems=[record.text("SYS" if "SYS" in record else "system") for record in records],
        questions=questions,
    )


def _find(path: Path) -> Path:
    if path.is_file():
        return path
    if not path.exists():
        raise FileNotFoundError(2, "there is no such folder or file", str(path))
    for folder in (path, path / "thumb", path / "mscoco"):
        for name in (FILE, "dev.jsonl"):
            if (folder / name).is_file():
                return folder / name
    raise MissingFilesError(f"{path}: there is no {FILE} in this folder")


def _read_references(folder: Path) -> dict[tuple[str, str], list[str]]:
    """Return references by image, or by segment as the authors name it: `{"seg_id", "refs"}`."""
    known: dict[tuple[str, str], list[str]] = {}
    for file in sorted((*folder.glob("*references.json"), *folder.glob("*references.jsonl"))):
        for record in read_records(file):
            key = "references" if "references" in record else "refs"
            by = "seg_id" if "seg_id" in record and "image" not in record else "image"
            known[by, _name(record, by)] = record.texts(key)
    return known


def _look_up(record: Record, known: dict[tuple[str, str], list[str]]) -> list[str] | None:
    found = known.get(("image", record.text("image")))
    if found is None and "seg_id" in record:
        return known.get(("seg_id", _name(record, "seg_id")))
    return found


def _name(record: Record, key: str) -> str:
    """Return an image's name, or a segment's number, which files write as `7` or `"007"`."""
    name = record.text(key)
    return name.lstrip("0") if key == "seg_id" else name
