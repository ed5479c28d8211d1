"""Captions of the benchmarks: real ones where available, else as many generated ones."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

SHARED = Path(__file__).parents[2] / "shared" / "data" / "coco_karpathy"

References = dict[int, list[str]]
Candidates = dict[int, str]


def coco(part: str) -> References:
    """Return the captions of COCO `train2014` or `val2014`, which lie inside pycocoevalcap."""
    import pycocoevalcap

    jar = Path(next(iter(pycocoevalcap.__path__))) / "spice" / "spice-1.0.jar"
    with zipfile.ZipFile(jar) as archive:
        content = json.loads(archive.read(f"coco/annotations/captions_{part}.json"))
    return _group(content["annotations"])


def _group(annotations: list[Mapping[str, object]]) -> References:
    captions: References = {}
    for annotation in annotations:
        captions.setdefault(int(str(annotation["image_id"])), []).append(str(annotation["caption"]))
    return captions


def small() -> tuple[Candidates, References]:
    """Return 5,000 images x 5 references + 1 candidate."""
    if SHARED.is_dir():
        annotations = json.loads((SHARED / "captions_test5k.json").read_text())["annotations"]
        references = _group(annotations)
        rows = json.loads((SHARED / "tden_karpathy_test_result.json").read_text())
        captions = {row["image_id"]: row["caption"] for row in rows}
        return {image: captions[image] for image in references}, references
    return _take(coco("val2014"), 5000)


def large() -> tuple[Candidates, References]:
    """Return all 40,504 images of COCO val2014 x 5 references + 1 candidate."""
    return _take(coco("val2014"), 40_504)


def write(workload: tuple[Candidates, References], path: Path) -> None:
    """Write a workload one caption a line, so that reading it back needs no memory to speak of."""
    candidates, references = workload
    with path.open("w", encoding="utf-8") as file:
        for image, caption in candidates.items():
            for text in (caption, *references[image]):
                file.write(f"{image}\t{' '.join(text.split())}\n")


def read(path: Path) -> tuple[Candidates, References]:
    """Read what `write` wrote: an image's first caption is the candidate."""
    candidates: Candidates = {}
    references: References = {}
    with path.open(encoding="utf-8") as file:
        for line in file:
            key, text = line.rstrip("\n").split("\t")
            image = int(key)
            if image in candidates:
                references[image].append(text)
            else:
                candidates[image] = text
                references[image] = []
    return candidates, references


def _take(captions: References, count: int) -> tuple[Candidates, References]:
    """Give each image one of the next image's captions: a candidate with some words in common."""
    rng = np.random.default_rng(0)
    images = list(captions)[:count]
    references = {image: captions[image][:5] for image in images}
    shifted = rng.permutation(len(images))
    candidates = {
        image: captions[images[shifted[i]]][0] if i % 4 == 0 else captions[image][-1].lower()
        for i, image in enumerate(images)
    }
    return candidates, references
