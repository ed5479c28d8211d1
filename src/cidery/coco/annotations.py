"""A light `COCO`: captions by image, as pycocotools has them, without pycocotools."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from cidery.errors import FormatError, InputError, MismatchError
from cidery.files import read_bytes, shorten

Annotation: TypeAlias = dict[str, Any]

_EXAMPLES = 3


class _Lists(dict[Any, list[Annotation]]):
    """Annotations by image; a missing image has an empty list, and lookups add nothing."""

    def __missing__(self, image: Any) -> list[Annotation]:
        return []


class COCO:
    """Captions by image: the part of pycocotools' `COCO` that caption evaluation uses.

    ```python
    coco = COCO([{"image_id": 1, "caption": "a dog runs"}])   # or a file, or a dataset dict
    results = coco.loadRes([{"image_id": 1, "caption": "a dog"}])
    ```
    """

    def __init__(
        self,
        annotation_file: str | os.PathLike[str] | dict[str, Any] | list[Annotation] | None = None,
    ) -> None:
        """Read captions.

        Args:
            annotation_file: A file (plain or gzipped), a dataset `{"annotations": […], …}`, or a
                list of `{"image_id": id, "caption": text}`. None makes an empty one: set
                `dataset`, then call `createIndex()`.
        """
        self.dataset: dict[str, Any] = {}
        self.anns: dict[Any, Annotation] = {}
        self.imgs: dict[Any, dict[str, Any]] = {}
        self.imgToAnns: dict[Any, list[Annotation]] = _Lists()
        if annotation_file is not None:
            self.dataset = _read_dataset(annotation_file)
            self.createIndex()

    def createIndex(self) -> None:  # noqa: N802 - pycocotools' name, as all below
        """Index `dataset` by annotation and by image."""
        annotations = [
            annotation if "id" in annotation else {**annotation, "id": number}
            for number, annotation in enumerate(
                _check_annotations(self.dataset.get("annotations", []), "annotations"), start=1
            )
        ]
        images = _Lists()
        for annotation in annotations:
            images.setdefault(annotation["image_id"], []).append(annotation)
        self.anns = {annotation["id"]: annotation for annotation in annotations}
        self.imgToAnns = images
        # Where a dataset has no list of images, they are those that have captions.
        listed = self.dataset.get("images", [{"id": image} for image in images])
        self.imgs = {image["id"]: image for image in listed}

    def info(self) -> None:
        """Print the dataset's `info`, if it has one."""
        for key, value in self.dataset.get("info", {}).items():
            print(f"{key}: {value}")

    def getImgIds(self, imgIds: Any = ()) -> list[Any]:  # noqa: N802, N803
        """Return the ids of all images, or those given."""
        chosen = _as_list(imgIds)
        return list(dict.fromkeys(chosen)) if chosen else list(self.imgs)

    def getAnnIds(self, imgIds: Any = ()) -> list[Any]:  # noqa: N802, N803
        """Return the ids of all annotations, or of those of the given images."""
        chosen = _as_list(imgIds)
        if not chosen:
            return list(self.anns)
        return [annotation["id"] for image in chosen for annotation in self.imgToAnns[image]]

    def loadAnns(self, ids: Any = ()) -> list[Annotation]:  # noqa: N802
        """Return the annotations with these ids."""
        return [self.anns[number] for number in _as_list(ids)]

    def loadImgs(self, ids: Any = ()) -> list[dict[str, Any]]:  # noqa: N802
        """Return the entries of the images with these ids."""
        return [self.imgs[image] for image in _as_list(ids)]

    def showAnns(self, anns: Iterable[Annotation]) -> None:  # noqa: N802
        """Print the captions of annotations."""
        for annotation in anns:
            print(annotation["caption"])

    def loadRes(  # noqa: N802
        self,
        resFile: str | os.PathLike[str] | list[Annotation],  # noqa: N803
    ) -> COCO:
        """Return results, from a file or a list, as a `COCO` of their images."""
        name = "results"
        if isinstance(resFile, str | os.PathLike):
            name, results = os.fspath(resFile), _read_json(resFile)
        else:
            results = resFile
        # pycocotools numbers the caller's own dicts; these are copies.
        annotations = [
            {**annotation, "id": number}
            for number, annotation in enumerate(_check_annotations(results, name), start=1)
        ]
        described = dict.fromkeys(annotation["image_id"] for annotation in annotations)
        unknown = [image for image in described if image not in self.imgs]
        if unknown:
            raise MismatchError(
                f"{name}: {len(unknown)} of {len(described)} images are not in the annotations: "
                f"{_examples(unknown)}; the annotations have {_examples(list(self.imgs))}"
            )
        loaded = COCO()
        loaded.dataset = {
            "info": dict(self.dataset.get("info", {})),
            "images": [image for key, image in self.imgs.items() if key in described],
            "annotations": annotations,
        }
        loaded.createIndex()
        return loaded


def _read_dataset(given: Any) -> dict[str, Any]:
    name = "annotations"
    if isinstance(given, str | os.PathLike):
        name, given = os.fspath(given), _read_json(given)
    if isinstance(given, list):
        return {"annotations": _check_annotations(given, name)}
    if isinstance(given, dict):
        if "annotations" not in given:
            raise FormatError(
                f"{name}: expected a dataset with 'annotations', found only "
                f"{', '.join(map(repr, given)) or 'nothing'}"
            )
        return given
    raise InputError(
        f"{name}: expected a file, a dataset dict or a list of annotations, not "
        f"{type(given).__name__}"
    )


def _read_json(path: str | os.PathLike[str]) -> Any:
    name, content = read_bytes(path)
    try:
        return json.loads(content)
    except ValueError as error:
        raise FormatError(f"{name}: not JSON: {error}") from None


def _check_annotations(annotations: Any, name: str) -> list[Annotation]:
    if not isinstance(annotations, list):
        raise FormatError(
            f"{name}: expected a list of {{'image_id': id, 'caption': text}}, found "
            f"{shorten(annotations)}"
        )
    try:
        for annotation in annotations:
            annotation["image_id"], annotation["caption"]
    except (KeyError, TypeError, IndexError):
        number = next(n for n, a in enumerate(annotations, start=1) if not _is_annotation(a))
        raise FormatError(
            f"{name}, entry {number}: expected {{'image_id': id, 'caption': text}}, found "
            f"{shorten(annotations[number - 1])}"
        ) from None
    return annotations


def _is_annotation(given: Any) -> bool:
    return isinstance(given, Mapping) and {"image_id", "caption"} <= given.keys()


def _as_list(ids: Any) -> list[Any]:
    several = hasattr(ids, "__iter__") and hasattr(ids, "__len__") and not isinstance(ids, str)
    return list(ids) if several else [ids]


def _examples(images: list[Any]) -> str:
    shown = ", ".join(map(repr, images[:_EXAMPLES]))
    return f"{shown}, …" if len(images) > _EXAMPLES else shown
