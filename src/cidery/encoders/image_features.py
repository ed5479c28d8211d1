"""Precomputed features of images by id and of captions by text, such as CLIP's."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cidery.corpus import ImageId
from cidery.errors import DataError, FormatError, SettingError
from cidery.files import match_names
from cidery.statistics import Floats
from cidery.storage import identify_file, read_arrays

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

IDS = ("names", "ids", "image_ids", "images")
VECTORS = ("features", "image_features", "vectors")
CAPTIONS = ("captions", "texts")
CAPTION_VECTORS = ("text_features", "caption_features")
LAYOUT = (
    "expected a .npz with the arrays `names` and `features`, or with an array for each image; a "
    ".npy with a row for each image; or a folder with a .npy for each image"
)


@dataclass(frozen=True, eq=False)
class ImageFeatures:
    """Vectors of images by id and, optionally, of captions by text; compared by content.

    ```python
    ImageFeatures.build(["a.jpg", "b.jpg"], [[1.0, 0.0], [0.6, 0.8]]).find_images(["b"])
    ```
    """

    images: tuple[str, ...]
    image_vectors: Floats
    """float64[images, width], of length 1"""
    captions: tuple[str, ...] = ()
    caption_vectors: Floats | None = None
    """float64[captions, width], of length 1"""
    name: str = "features"
    """Name in messages and signatures."""

    @classmethod
    def build(
        cls,
        images: Sequence[ImageId],
        image_vectors: ArrayLike,
        captions: Sequence[str] = (),
        caption_vectors: ArrayLike | None = None,
        *,
        name: str = "features",
    ) -> ImageFeatures:
        """Check arrays and scale vectors to length 1.

        Args:
            images: Image ids or file names.
            image_vectors: Array `[images, width]`.
            captions: Texts of candidates and references.
            caption_vectors: Array `[captions, width]`.
            name: Name in messages and signatures.
        """
        vectors = _check(image_vectors, [str(image) for image in images], "image", name)
        texts: Floats | None = None
        if caption_vectors is not None:
            texts = _check(caption_vectors, list(captions), "caption", name)
            if texts.shape[1] != vectors.shape[1]:
                raise DataError(
                    f"{name}: image vectors have {vectors.shape[1]} dimensions, caption vectors "
                    f"{texts.shape[1]}; both must be projected outputs of the same model"
                )
        elif len(captions):
            raise DataError(f"{name}: captions without vectors")
        known = tuple(map(str, captions))
        return cls(tuple(str(image) for image in images), vectors, known, texts, name)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> ImageFeatures:
        """Read a `.npz` or `.npy` file, or a folder of `.npy` files; no pickles."""
        given = Path(path)
        if not given.exists():
            raise SettingError(f"no such file or folder: {str(path)!r}; {LAYOUT}")
        files = sorted(given.glob("*.npy")) if given.is_dir() else [given]
        if not files:
            raise SettingError(f"no .npy file in {str(path)!r}; {LAYOUT}")
        return _read(given, tuple(files), tuple(map(identify_file, files)))

    @property
    def width(self) -> int:
        """Number of dimensions."""
        return int(self.image_vectors.shape[1])

    @cached_property
    def fingerprint(self) -> str:
        """First 12 digits of the SHA-256 of all names and vectors."""
        from hashlib import sha256

        digest = sha256()
        for names, vectors in (
            (self.images, self.image_vectors),
            (self.captions, self.caption_vectors),
        ):
            for name in names:
                content = name.encode(errors="surrogatepass")
                digest.update(b"%d:" % len(content) + content)
            if vectors is not None:
                digest.update(repr(vectors.shape).encode())
                digest.update(np.ascontiguousarray(vectors).tobytes())
        return digest.hexdigest()[:12]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ImageFeatures) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def find_images(self, ids: Sequence[ImageId]) -> Floats:
        """Return float64[ids, width]; DataError lists missing images."""
        places = match_names(self.images, ids)
        missing = [image for image, place in zip(ids, places, strict=True) if place is None]
        if missing:
            few = ", ".join(map(repr, missing[:3])) + ", …" * (len(missing) > 3)
            raise DataError(
                f"{self.name} has no features of {len(missing)} of {len(ids)} images: {few}; it "
                f"has {len(self.images)}, such as {self.images[0]!r}"
            )
        return np.ascontiguousarray(self.image_vectors[np.asarray(places, np.int64)])

    def find_captions(self, texts: Sequence[str]) -> Floats:
        """Return float64[texts, width]; DataError lists missing captions."""
        places = self._caption_places
        found = [places.get(_strip(text), -1) for text in texts]
        missing = [text for text, place in zip(texts, found, strict=True) if place < 0]
        if self.caption_vectors is None or missing:
            raise DataError(
                f"{self.name} has no features of {len(missing)} of {len(texts)} captions, such as "
                f"{missing[0]!r:.80}; pass the folder of the model that made the images' features "
                "(model=), or a file with `captions` and `text_features` of all captions"
            )
        return np.ascontiguousarray(self.caption_vectors[np.asarray(found, np.int64)])

    @cached_property
    def _caption_places(self) -> Mapping[str, int]:
        return {_strip(text): place for place, text in reversed(list(enumerate(self.captions)))}


def _strip(text: str) -> str:
    return " ".join(text.split())


def _check(values: Any, names: Sequence[str], what: str, source: str) -> Floats:
    """Return float64[names, width], each of length 1."""
    try:
        vectors = np.asarray(values, np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{source}: the {what} vectors are not numeric: {error}") from None
    if vectors.ndim != 2 or not vectors.shape[1]:
        raise DataError(
            f"{source}: expected an array [{what}s, width], found shape {list(vectors.shape)}"
        )
    if len(vectors) != len(names):
        raise DataError(f"{source}: {len(names)} {what}s, but {len(vectors)} vectors")
    if not names:
        raise DataError(f"{source}: no {what}s")
    twice = len(names) - len(set(names))
    if twice and what == "image":
        raise DataError(f"{source}: {twice} duplicate images")
    lengths = np.sqrt(np.square(vectors).sum(axis=1))
    for place in np.flatnonzero(~np.isfinite(lengths))[:1]:
        raise DataError(f"{source}: the vector of {names[place]!r:.80} holds NaN or infinity")
    for place in np.flatnonzero(lengths == 0)[:1]:
        raise DataError(f"{source}: the vector of {names[place]!r:.80} is all zeros")
    scaled: Floats = vectors / lengths[:, None]
    return scaled


@lru_cache(maxsize=4)
def _read(
    path: Path,
    files: tuple[Path, ...],
    keys: tuple[tuple[int | str, ...], ...],  # noqa: ARG001
) -> ImageFeatures:
    opened = [_open(file) for file in files]
    name = path.name
    if path.is_dir():
        rows = [np.squeeze(array) for array in opened]
        for file, row in zip(files, rows, strict=True):
            if row.shape != rows[0].shape:
                raise DataError(f"{file}: the shape differs from that of {files[0].name}; {LAYOUT}")
        return ImageFeatures.build([file.stem for file in files], np.stack(rows), name=name)
    (content,) = opened
    if isinstance(content, np.ndarray):
        return ImageFeatures.build(list(range(len(np.atleast_1d(content)))), content, name=name)
    ids, vectors = _choose(content, IDS), _choose(content, VECTORS)
    if ids is None and vectors is None:
        rows = [np.squeeze(array) for array in content.values()]
        if len({row.shape for row in rows}) != 1 or rows[0].ndim != 1:
            raise DataError(f"{path} has the arrays {', '.join(content)}; {LAYOUT}")
        return ImageFeatures.build(list(content), np.stack(rows), name=name)
    if ids is None or vectors is None:
        missing = IDS[0] if ids is None else VECTORS[0]
        raise DataError(f"{path} has the arrays {', '.join(content)}, but no {missing!r}; {LAYOUT}")
    captions, texts = _choose(content, CAPTIONS), _choose(content, CAPTION_VECTORS)
    if (captions is None) != (texts is None):
        raise DataError(
            f"{path} must have both {CAPTIONS[0]!r} and {CAPTION_VECTORS[0]!r}, or neither"
        )
    known = () if captions is None else captions.tolist()
    return ImageFeatures.build(ids.tolist(), vectors, known, texts, name=name)


def _choose(content: Mapping[str, np.ndarray], names: Sequence[str]) -> np.ndarray | None:
    return next((content[name] for name in names if name in content), None)


def _open(file: Path) -> Any:
    try:
        return read_arrays(file)
    except FormatError as error:
        raise DataError(f"{error}; {LAYOUT}") from None
