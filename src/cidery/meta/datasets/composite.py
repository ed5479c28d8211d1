"""COMPOSITE (Aditya et al. 2015): captions of Flickr8k, Flickr30k and COCO rated from 1 to 5."""

from __future__ import annotations

import os
import re

import numpy as np

from cidery.meta.datasets.files import Record, locate, read_records
from cidery.meta.judgments import JudgedCaptions, Ratings

FILES = ("composite_8k.jsonl", "composite_30k.jsonl", "composite_coco.jsonl")


def read_composite(path: str | os.PathLike[str]) -> Ratings:
    """Read the three files: 11,985 captions with a rating of correctness each.

    One of an image's candidates was written by a person and is among its references. It is removed
    from the references of all candidates of the image. Only letters and digits are compared, since
    candidates are lower-cased and tokenized.
    """
    records = [
        record for file in locate(path, *FILES, folder="composite") for record in read_records(file)
    ]
    by_image: dict[str, list[Record]] = {}
    for record in records:
        by_image.setdefault(record.text("image"), []).append(record)
    references = {}
    for image, group in by_image.items():
        judged = {_bare(record.text("caption")) for record in group}
        known = group[0].texts("refs")
        references[image] = [text for text in known if _bare(text) not in judged]
        if not references[image]:
            group[0].refuse("every reference is among the judged captions, so that none is left")
    images = np.unique([record.text("image") for record in records], return_inverse=True)[1]
    return Ratings(
        "composite",
        JudgedCaptions(
            [record.text("caption") for record in records],
            np.arange(len(records)),
            [references[record.text("image")] for record in records],
            images.astype(np.int64),
        ),
        np.arange(len(records)),
        np.asarray([record.numbers("human_score")[0] for record in records]),
    )


def _bare(caption: str) -> str:
    return re.sub(r"[^a-z0-9]", "", caption.lower())
