"""Annotated objects of images, in COCO's 80 categories."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from cidery.corpus import ImageId
from cidery.errors import DataError, SettingError
from cidery.metrics.chair.objects import list_categories
from cidery.storage import identify_file


@dataclass(frozen=True, eq=False)
class Instances:
    """Object categories of each image, from a file."""

    path: str
    kinds: Mapping[str, frozenset[str]]
    """Categories by image id, as text."""
    fingerprint: str
    """First 12 digits of the file's SHA-256."""

    def find(self, image: ImageId) -> frozenset[str]:
        """Return the object categories of an image."""
        found = self.kinds.get(str(image))
        if found is None:
            raise DataError(f"{self.path} has no annotations of image {image!r}")
        return found


def read_instances(path: str) -> Instances:
    """Read COCO's `instances_*.json`, or `{image id: [categories]}`."""
    file = Path(path)
    if not file.is_file():
        raise SettingError(f"no such file: instances={path!r}")
    return _read(path, *identify_file(file))


@lru_cache(maxsize=4)
def _read(path: str, *key: int | str) -> Instances:  # noqa: ARG001
    content = Path(path).read_bytes()
    try:
        data = json.loads(content)
    except ValueError as error:
        raise DataError(f"{path} is not JSON: {error}") from None
    if not isinstance(data, dict):
        raise DataError(f"{path}: expected COCO's instances, or {{image id: [categories]}}")
    try:
        kinds = _read_coco(data) if "annotations" in data else _read_lists(data)
    except (KeyError, TypeError) as error:
        raise DataError(
            f"{path}: expected annotations with image_id and category_id, and categories with id "
            f"and name: {error!r}"
        ) from None
    unknown = sorted(frozenset().union(*kinds.values()) - set(list_categories()))
    if unknown:
        raise DataError(f"{path}: {unknown[0]!r} is not one of COCO's 80 categories")
    return Instances(path, kinds, sha256(content).hexdigest()[:12])


def _read_coco(data: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    names = {category["id"]: category["name"] for category in data["categories"]}
    found: dict[str, set[str]] = {str(image["id"]): set() for image in data.get("images", ())}
    for annotation in data["annotations"]:
        kind = names[annotation["category_id"]]
        found.setdefault(str(annotation["image_id"]), set()).add(kind)
    return {image: frozenset(kinds) for image, kinds in found.items()}


def _read_lists(data: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    for image, kinds in data.items():
        if not isinstance(kinds, list) or not all(isinstance(kind, str) for kind in kinds):
            raise TypeError(f"image {image!r} has no list of categories")
    return {image: frozenset(kinds) for image, kinds in data.items()}
