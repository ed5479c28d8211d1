"""Image files, matched with image ids."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from cidery.corpus import ImageId

SUFFIXES = frozenset({".avif", ".bmp", ".gif", ".jpeg", ".jpg", ".png", ".webp"})
_NUMBER = re.compile(r"(?:^|[^0-9A-Za-z])([0-9]+)$")
"""Number at the end of a name, but not of a word: `…_693b08cb07` has none."""


def list_images(folder: Path) -> list[Path]:
    """Return the image files in a folder and its subfolders, sorted."""
    return sorted(
        Path(root, name)
        for root, _, names in os.walk(folder)
        for name in names
        if Path(name).suffix.lower() in SUFFIXES
    )


def match_files(files: Sequence[Path], ids: Sequence[ImageId]) -> list[Path | None]:
    """Return the file of each image, by its name or by the number at the end of its name.

    ```python
    match_files([Path("COCO_val2014_000000000042.jpg")], [42])
    ```
    """
    places = match_names([file.name for file in files], ids)
    return [None if place is None else files[place] for place in places]


def match_names(names: Sequence[str], ids: Sequence[ImageId]) -> list[int | None]:
    """Return the index of each image among names; None if it has none.

    ```python
    match_names(["a.jpg", "COCO_val2014_000000000042.jpg"], [42, "a"])   # [1, 0]
    ```
    """
    by_name: dict[str, int] = {}
    by_number: dict[int, int] = {}
    for place, text in enumerate(names):
        by_name.setdefault(text, place)
    for place, text in enumerate(names):
        stem = _remove_suffix(text)
        by_name.setdefault(stem, place)
        if (match := _NUMBER.search(stem)) and len(match[1]) < 20:
            by_number.setdefault(int(match[1]), place)
    return [_find(image, by_name, by_number) for image in ids]


def _remove_suffix(text: str) -> str:
    name = PurePosixPath(text).name
    ending = PurePosixPath(name).suffix
    return name.removesuffix(ending) if ending.lower() in {*SUFFIXES, ".npy"} else name


def _find(image: ImageId, by_name: Mapping[str, int], by_number: Mapping[int, int]) -> int | None:
    text = str(image)
    for name in (text, text.rpartition("/")[2]):
        if name in by_name:
            return by_name[name]
    number = text.lstrip("0") or "0"
    if number.isascii() and number.isdigit() and len(number) < 20:
        return by_number.get(int(number))
    return None
