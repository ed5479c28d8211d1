"""Image ids: checks, and matching of two sides."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from itertools import repeat
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from cidery.errors import InputError

if TYPE_CHECKING:  # it takes as long to import as the rest of this package
    from numpy.typing import NDArray

ImageId: TypeAlias = str | int
"""Id of an image."""

_INTEGER = re.compile(r"-?[0-9]+")


def check_ids(ids: list[Any], name: str) -> list[ImageId]:
    """Return ids as `str` and `int`; raise an InputError for other types."""
    if set(map(type, ids)) <= {str, int}:
        return ids
    for image in ids:
        if isinstance(image, bool) or not isinstance(image, str | int | np.integer):
            raise InputError(f"{name}: an image id is a string or an integer, not {image!r:.60}")
    return [str(image) if isinstance(image, str) else int(image) for image in ids]


def match_ids(ids: Sequence[ImageId], images: Sequence[ImageId]) -> NDArray[np.int64]:
    """Return int64[ids]: the index into `images` of every id, -1 where there is none.

    Ids match exactly; where one side has only integers and the other only strings that spell
    integers, 391895 matches "391895" (but not "0391895").
    """
    if ids == images:
        return np.arange(len(images), dtype=np.int64)
    kinds = set(map(type, ids)), set(map(type, images))
    by_spelling = kinds == ({int}, {str}) or (kinds == ({str}, {int}) and spell_integers(ids))
    places = index_ids(images) if by_spelling else _index_exactly(images)
    return np.fromiter(map(places.get, ids, repeat(-1)), np.int64, len(ids))


def index_ids(images: Sequence[ImageId]) -> dict[ImageId, int]:
    """Return the index of every image, for both spellings where all ids are integers.

    ```python
    index_ids([391895, 522418])["391895"]   # 0
    ```
    """
    places = _index_exactly(images)
    if set(map(type, images)) == {int}:
        return places | {str(image): place for image, place in places.items()}
    if spell_integers(images):
        for image, place in list(places.items()):
            with suppress(ValueError):  # of more digits than Python reads
                number = int(image)
                if str(number) == image:
                    places[number] = place
    return places


def _index_exactly(images: Sequence[ImageId]) -> dict[ImageId, int]:
    return dict(zip(images, range(len(images)), strict=True))


def spell_integers(ids: Sequence[ImageId]) -> bool:
    """Return True if all ids are strings that spell integers."""
    if set(map(type, ids)) != {str}:
        return False
    spelled = "".join(map(str, ids))
    return (spelled.isascii() and spelled.isdecimal()) or all(
        map(_INTEGER.fullmatch, map(str, ids))
    )
