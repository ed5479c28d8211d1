"""Features of images by id, and of captions by text, that a model such as CLIP made elsewhere."""

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
from cidery.storage import read_arrays

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

IDS = ("names", "ids", "image_ids", "images")
VECTORS = ("features", "image_features", "vectors")
CAPTIONS = ("captions", "texts")
CAPTION_VECTORS = ("text_features", "caption_features")
LAYOUT = (
    "features are a .npz with the arrays `names` and `features`, or an array for each image by "
    "its name; .npy with a row for each image; or a folder with a .npy for each image"
)


@dataclass(frozen=True, eq=False)
class ImageFeatures:
    """Vectors of images by id and, where they are known, of captions by text.

    They are compared by content. `ImageFeatures.build` checks arrays, `ImageFeatures.read` a file.

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
    """What messages and signatures call them."""

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
        """Check arrays, and scale vectors to length 1.

        Args:
            images: Their ids, or names of files.
            image_vectors: Numbers, `[images, width]`.
            captions: Whose vectors are known, candidates and references, as they are scored.
            caption_vectors: Numbers, `[captions, width]`.
            name: What messages and signatures call them.
        """
        vectors = _check(image_vectors, [str(image) for image in images], "image", name)
        texts: Floats | None = None
        if caption_vectors is not None:
            texts = _check(caption_vectors, list(captions), "caption", name)
            if texts.shape[1] != vectors.shape[1]:
                raise DataError(
                    f"{name}: images have {vectors.shape[1]} numbers each, captions "
                    f"{texts.shape[1]}; both must come from one model, after its projection"
                )
        elif len(captions):
            raise DataError(f"{name}: there are captions without vectors")
        known = tuple(map(str, captions))
        return cls(tuple(str(image) for image in images), vectors, known, texts, name)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> ImageFeatures:
        """Read `.npz`, `.npy` or a folder of `.npy` files; nothing in them is run."""
        given = Path(path)
        if not given.exists():
            raise SettingError(f"no file of features {str(path)!r}; {LAYOUT}")
        files = sorted(given.glob("*.npy")) if given.is_dir() else [given]
        if not files:
            raise SettingError(f"the folder {str(path)!r} holds no .npy file; {LAYOUT}")
        status = tuple((file.stat().st_mtime_ns, file.stat().st_size) for file in files)
        return _read(given, tuple(files), status)

    @property
    def width(self) -> int:
        """How many numbers a vector has."""
        return int(self.image_vectors.shape[1])

    @cached_property
    def fingerprint(self) -> str:
        """The beginning of a digest of all names and vectors."""
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
        """Return float64[ids, width]; DataError names images that are not there."""
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
        """Return float64[texts, width]; DataError names captions that are not there."""
        places = self._caption_places
        found = [places.get(_spell(text), -1) for text in texts]
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
        return {_spell(text): place for place, text in reversed(list(enumerate(self.captions)))}


def _spell(text: str) -> str:
    return " ".join(text.split())


def _check(values: Any, names: Sequence[str], what: str, source: str) -> Floats:
    """Return float64[names, width], each of length 1."""
    try:
        vectors = np.asarray(values, np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{source}: the vectors of {what}s are no numbers: {error}") from None
    if vectors.ndim != 2 or not vectors.shape[1]:
        raise DataError(
            f"{source}: expected a vector for each {what}, an array [{what}s, width], found the "
            f"shape {list(vectors.shape)}"
        )
    if len(vectors) != len(names):
        raise DataError(f"{source}: {len(names)} {what}s, but {len(vectors)} vectors")
    if not names:
        raise DataError(f"{source}: there are no {what}s")
    twice = len(names) - len(set(names))
    if twice and what == "image":
        raise DataError(f"{source}: {twice} images are there twice")
    lengths = np.sqrt(np.square(vectors).sum(axis=1))
    for place in np.flatnonzero(~np.isfinite(lengths))[:1]:
        raise DataError(f"{source}: the vector of {names[place]!r:.80} holds NaN or infinity")
    for place in np.flatnonzero(lengths == 0)[:1]:
        raise DataError(f"{source}: the vector of {names[place]!r:.80} is all zeros")
    scaled: Floats = vectors / lengths[:, None]
    return scaled


# The times and sizes of all files are in the key.
@lru_cache(maxsize=4)
def _read(
    path: Path,
    files: tuple[Path, ...],
    status: tuple[tuple[int, int], ...],  # noqa: ARG001
) -> ImageFeatures:
    opened = [_open(file) for file in files]
    name = path.name
    if path.is_dir():
        rows = [np.squeeze(array) for array in opened]
        for file, row in zip(files, rows, strict=True):
            if row.shape != rows[0].shape:
                raise DataError(f"{file}: another shape than {files[0].name}; {LAYOUT}")
        return ImageFeatures.build([file.stem for file in files], np.stack(rows), name=name)
    (content,) = opened
    if isinstance(content, np.ndarray):
        return ImageFeatures.build(list(range(len(np.atleast_1d(content)))), content, name=name)
    ids, vectors = _choose(content, IDS), _choose(content, VECTORS)
    if ids is None and vectors is None:
        rows = [np.squeeze(array) for array in content.values()]
        if len({row.shape for row in rows}) != 1 or rows[0].ndim != 1:
            raise DataError(f"{path} holds {', '.join(content)}; {LAYOUT}")
        return ImageFeatures.build(list(content), np.stack(rows), name=name)
    if ids is None or vectors is None:
        lacks = IDS[0] if ids is None else VECTORS[0]
        raise DataError(f"{path} holds {', '.join(content)}, but no {lacks!r}; {LAYOUT}")
    captions, texts = _choose(content, CAPTIONS), _choose(content, CAPTION_VECTORS)
    if (captions is None) != (texts is None):
        raise DataError(
            f"{path} must hold both {CAPTIONS[0]!r} and {CAPTION_VECTORS[0]!r}, or neither"
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
