"""Image ids: checks, and matching of two sides."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
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


def translate_ids(
    ids: Sequence[ImageId], images: Sequence[ImageId], *, complete: bool = True
) -> list[ImageId] | None:
    """Return the image of each id where ids are written in different ways; None without a match.

    Ids are compared without folders and suffixes, then by the number at their end, without zeros
    before it, if one side has only numbers. The match must be one to one and complete: every image
    has an id, unless `complete` is False.

    ```python
    translate_ids(["COCO_val2014_000000391895.jpg"], [391895])   # [391895]
    ```
    """
    distinct = set(ids)
    if len(distinct) != len(images) and (complete or len(distinct) > len(images)):
        return None
    for write in (_write_stem, _write_number):
        found = {write(image): image for image in images}
        written = {image: write(image) for image in distinct}
        one_to_one = len(found) == len(images) and len(set(written.values())) == len(distinct)
        if None in found or not one_to_one or not set(written.values()) <= set(found):
            continue
        if write is _write_stem or _are_numbers(images) or _are_numbers(distinct):
            return [found[written[image]] for image in ids]
    return None


def count_translatable(ids: Sequence[ImageId], images: Sequence[ImageId]) -> int:
    """Return the number of ids that end with the number of an image."""
    numbers = {_write_number(image) for image in images} - {None}
    return sum(_write_number(image) in numbers for image in set(ids))


_SUFFIX = re.compile(r"\.[A-Za-z][A-Za-z0-9]{1,4}\Z")
_LAST_NUMBER = re.compile(r"[^0-9.]([0-9]{1,18})\Z")


def _write_stem(image: ImageId) -> str:
    """Return an id without folders and suffix."""
    return _SUFFIX.sub("", re.split(r"[/\\]", str(image))[-1])


def _write_number(image: ImageId) -> str | None:
    """Return the number at the end of an id; None without one."""
    stem = _write_stem(image).strip()
    if _INTEGER.fullmatch(stem):
        return str(int(stem)) if len(stem) < 20 else None
    found = _LAST_NUMBER.search(stem)
    return str(int(found[1])) if found else None


def _are_numbers(ids: Iterable[ImageId]) -> bool:
    """Return True for ids that are numbers, without folders and suffixes."""
    return all(_INTEGER.fullmatch(_write_stem(image).strip()) for image in ids)


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
