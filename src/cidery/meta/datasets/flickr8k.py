"""Flickr8k (Hodosh, Young, Hockenmaier 2013): expert and crowd ratings of image-caption pairs.

Both files name a caption by the image it was written for and its number, `IMAGE#2`; most judged
captions were written for another image.
"""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np

from cidery.errors import FormatError
from cidery.meta.datasets.files import locate, read_lines
from cidery.meta.judgments import JudgedCaptions, Ratings


def read_flickr8k_expert(path: str | os.PathLike[str]) -> Ratings:
    """Read `ExpertAnnotations.txt`: three ratings from 1 to 4 for each of 5,822 rows.

    The 158 rows of an image's own caption are dropped, as in Anderson et al. 2016. Each rating
    counts by itself, and each row is a document.
    """
    judgments, token = locate(
        path, "ExpertAnnotations.txt", "Flickr8k.token.txt", folder="flickr8k"
    )
    captions = _read_captions(token)
    rows = [row for row in _read_rows(judgments, captions, 3) if row.image != row.caption_image]
    references = _group(captions)
    ratings = np.asarray([row.answers for row in rows], np.float64)
    return Ratings(
        "flickr8k-expert",
        _judge(rows, captions, [references[row.image] for row in rows]),
        np.repeat(np.arange(len(rows)), 3),
        ratings.reshape(-1),
    )


def read_flickr8k_crowd(path: str | os.PathLike[str]) -> Ratings:
    """Read `CrowdFlowerAnnotations.txt`: the share of yes among three or more, for 47,830 rows.

    A caption that is judged with its own image is removed from the references of that image, in all
    rows.
    """
    judgments, token = locate(
        path, "CrowdFlowerAnnotations.txt", "Flickr8k.token.txt", folder="flickr8k"
    )
    captions = _read_captions(token)
    rows = _read_rows(judgments, captions, 1)
    own = {(row.image, row.caption_number) for row in rows if row.image == row.caption_image}
    references = _group({key: text for key, text in captions.items() if key not in own})
    return Ratings(
        "flickr8k-cf",
        _judge(rows, captions, [references[row.image] for row in rows]),
        np.arange(len(rows)),
        np.asarray([row.answers[0] for row in rows], np.float64),
    )


class _Row:
    """An image, a caption and its ratings."""

    __slots__ = ("answers", "caption_image", "caption_number", "image")

    def __init__(self, image: str, caption: tuple[str, str], answers: list[float]) -> None:
        self.image = image
        self.caption_image, self.caption_number = caption
        self.answers = answers


def _read_captions(path: Path) -> dict[tuple[str, str], str]:
    """Return (image, number) -> caption."""
    captions = {}
    for place, line in read_lines(path):
        key, tab, caption = line.partition("\t")
        if not tab or "#" not in key:
            raise FormatError(f"{place}: expected IMAGE#NUMBER, a tab and a caption")
        captions[_split_key(key)] = caption
    return captions


def _split_key(key: str) -> tuple[str, str]:
    image, _, number = key.rpartition("#")
    # The original file calls one caption 2258277193_586949ec62.jpg.1#0.
    return image.removesuffix(".1"), number


def _read_rows(path: Path, captions: dict[tuple[str, str], str], answer_count: int) -> list[_Row]:
    images = {image for image, _ in captions}
    rows = []
    for place, line in read_lines(path):
        fields = line.split("\t")
        try:
            answers = [float(answer) for answer in fields[2 : 2 + answer_count]]
        except ValueError:
            raise FormatError(f"{place}: expected numbers after the caption") from None
        if not all(map(math.isfinite, answers)):
            raise FormatError(f"{place}: expected finite numbers after the caption")
        if len(answers) < answer_count:
            raise FormatError(f"{place}: expected an image, a caption and {answer_count} ratings")
        key = _split_key(fields[1])
        if key not in captions or fields[0] not in images:
            raise FormatError(f"{place}: {fields[0]} or {fields[1]} is not in Flickr8k.token.txt")
        rows.append(_Row(fields[0], key, answers))
    return rows


def _group(captions: dict[tuple[str, str], str]) -> dict[str, list[str]]:
    grouped: dict[str, list[str]] = {}
    for image, number in sorted(captions):
        grouped.setdefault(image, []).append(captions[image, number])
    return grouped


def _judge(
    rows: list[_Row], captions: dict[tuple[str, str], str], references: list[list[str]]
) -> JudgedCaptions:
    names, images = np.unique([row.image for row in rows], return_inverse=True)
    return JudgedCaptions(
        [captions[row.caption_image, row.caption_number] for row in rows],
        np.arange(len(rows)),
        references,
        images.astype(np.int64),
        names.tolist(),
    )
