"""AudioCaps-Eval and Clotho-Eval (Zhou et al., ICASSP 2022): pairs of captions of sounds.

A sound is what other data sets call an image.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from cidery.errors import FormatError
from cidery.meta.datasets.files import MissingFilesError, Record, read_json, read_records
from cidery.meta.datasets.judgment_files import build_judgments
from cidery.meta.judgments import Pairs

KINDS = ("HC", "HI", "HM", "MM_1", "MM_2", "MM_3", "MM_4", "MM_5")


def read_audiocaps_eval(path: str | os.PathLike[str]) -> Pairs:
    """Read `audiocaps_eval.json`: pairs of captions, each with the votes of four people."""
    return _read("audiocaps-eval", Path(path), "audiocaps_eval")


def read_clotho_eval(path: str | os.PathLike[str]) -> Pairs:
    """Read `clotho_eval.json`: pairs of captions, each with the votes of four people."""
    return _read("clotho-eval", Path(path), "clotho_eval")


def _read(name: str, path: Path, stem: str) -> Pairs:
    """Read pairs with the references that the paper gives to each caption.

    A human caption is removed from the references: in HC each from its own, in HI and HM the
    first one from those of both. Machine captions (MM) have all references.
    """
    file = _find(path, stem)
    lines = [line for sound in _read_sounds(file) for line in _list_pairs(sound)]
    pairs = build_judgments(lines, str(file))
    assert isinstance(pairs, Pairs)
    return replace(pairs, name=name)


def _find(path: Path, stem: str) -> Path:
    if path.is_file():
        return path
    if not path.exists():
        raise FileNotFoundError(2, "there is no such folder or file", str(path))
    for folder in (path, path / "audio", path / "dataset"):
        for name in (f"{stem}.json", f"{stem}.jsonl", f"{stem}_dev.jsonl"):
            if (folder / name).is_file():
                return folder / name
    raise MissingFilesError(f"{path}: there is no {stem}.json in this folder")


def _read_sounds(file: Path) -> Iterator[Record]:
    """Yield sounds with `references` and `pairs`, from the authors' layout or one pair a dict."""
    if file.suffix == ".jsonl":
        yield from read_records(file)
        return
    content = read_json(file)
    if not isinstance(content, list) or not all(isinstance(sound, dict) for sound in content):
        raise FormatError(f"{file}: expected a list of sounds")
    for number, sound in enumerate(content, start=1):
        place = f"{file}, entry {number}"
        pairs = []
        for kind in KINDS:
            found = sound.get(kind)
            if not found:  # some sounds have fewer pairs
                continue
            if not isinstance(found, list) or len(found) < 3:
                raise FormatError(f"{place}: expected two captions and votes in {kind!r}")
            pairs.append({"kind": kind[:2], "a": found[0], "b": found[1], "votes": found[-1]})
        yield Record({"references": sound.get("references"), "pairs": pairs}, place)


def _list_pairs(sound: Record) -> Iterator[Record]:
    references = sound.texts("references")
    name = "\n".join(references)  # sounds have no names
    for number, pair in enumerate(sound.content.get("pairs") or (), start=1):
        place = f"{sound.place}, pair {number}"
        record = Record(pair if isinstance(pair, dict) else {}, place)
        captions = [record.text("a"), record.text("b")]
        kind = record.text("kind")
        removed = {"HC": captions, "HI": captions[:1] * 2, "HM": captions[:1] * 2}
        own = [
            [text for text in references if text != human]
            for human in removed.get(kind, [None, None])
        ]
        if not all(own):
            record.refuse("no reference is left without the human caption")
        votes = [int(np.sign(vote)) for vote in record.numbers("votes")]
        line = {"image": name, "pair": captions, "votes": votes, "kind": kind, "references": own}
        yield Record(line, place)
