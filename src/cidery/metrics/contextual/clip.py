"""CLIPScore (Hessel et al. 2021) and PAC-S (Sarto et al. 2023): captions compared with images."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

import numpy as np

from cidery.corpus import ImageId
from cidery.encoders.clip import ClipModel, open_clip
from cidery.encoders.image_features import ImageFeatures
from cidery.errors import DataError, SettingError
from cidery.files import list_images, match_files
from cidery.metrics.base import Metric, Needs, Prepared, TokenizedCandidates, TokenizedReferences
from cidery.metrics.settings import require
from cidery.runtime import Workspace
from cidery.statistics import Floats
from cidery.text import TokenizedCaptions

PARTS = ("image", "reference")
"""Columns of the rows after the score: cosines with the image and the best reference."""


@dataclass(frozen=True)
class Source:
    """Source of the vectors of images and captions."""

    features: str | ImageFeatures | None
    model: str | None
    images: str | None
    prompt: str
    device: str
    keep: bool

    def open_features(self) -> ImageFeatures | None:
        """Return the features, or None."""
        if self.features is None or isinstance(self.features, ImageFeatures):
            return self.features
        return ImageFeatures.read(self.features)

    def open_model(self) -> ClipModel | None:
        """Return the model, or None."""
        return None if self.model is None else open_clip(self.model, self.device)

    def embed_images(self, ids: Sequence[ImageId]) -> Floats:
        """Return float64[ids, width], of length 1."""
        features = self.open_features()
        if features is not None:
            return features.find_images(ids)
        model = self.open_model()
        assert model is not None
        assert self.images is not None
        if not Path(self.images).is_dir():
            raise SettingError(f"image folder not found: {self.images}")
        files = match_files(list_images(Path(self.images)), ids)
        missing = [image for image, file in zip(ids, files, strict=True) if file is None]
        if missing:
            raise DataError(
                f"{self.images} has no files for {len(missing)} of {len(ids)} images, such as "
                f"{missing[0]!r}; expected a file such as {missing[0]}.jpg"
            )
        return _scale(model.embed_images([file for file in files if file is not None], self.keep))

    def read(self, texts: Sequence[str]) -> Floats:
        """Return float64[texts, width], of length 1."""
        model, features = self.open_model(), self.open_features()
        if model is None:
            assert features is not None
            return features.find_captions(texts)
        vectors = _scale(model.embed_captions([self.prompt + text for text in texts], self.keep))
        if features is not None and vectors.shape[1] != features.width:
            raise DataError(
                f"{features.name} has vectors of width {features.width}, the model {self.model} of "
                f"{vectors.shape[1]}; use features of the same model"
            )
        return vectors


def _scale(vectors: np.ndarray) -> Floats:
    wide = vectors.astype(np.float64)
    lengths = np.sqrt(np.square(wide).sum(axis=1, keepdims=True))
    scaled: Floats = wide / np.maximum(lengths, 1e-12)
    return scaled


@dataclass(frozen=True, kw_only=True)
class ClipScore(Metric):
    """CLIPScore: similarity of a caption and its image by CLIP; in [0, 2.5], mostly below 1.

    `clipscore` = w·max(cos(caption, image), 0), w = 2.5; `refclipscore` = the harmonic mean of it
    and max(max_r cos(caption, r), 0): Hessel et al., EMNLP 2021, equations 1 and 2. The user
    provides vectors: features, or the folder of a CLIP model with a folder of images.

    ```python
    features = cidery.ImageFeatures.build(["a"], [[1, 0]], ["a dog"], [[0.8, 0.6]])
    metric = cidery.ClipScore(features=features)
    cidery.score({"a": "a dog"}, {"a": ["a dog"]}, [metric]).corpus["clipscore"]   # 2.0
    ```
    """

    features: str | ImageFeatures | None = None
    """Vectors of the images, and of captions if there is no model: a file, a folder, or arrays."""
    model: str | None = None
    """Folder of a CLIP model in the layout of Hugging Face."""
    images: str | None = None
    """Folder of the images, for the model; not needed with features."""
    prompt: str = "A photo depicts "
    """Text before each caption; by default that of the authors."""
    weight: float = 2.5
    """w: factor of the cosine."""
    references: bool = False
    """True: the best reference counts too, `refclipscore`."""
    device: str = "cpu"
    """`cpu`, `torch` (a GPU if there is one), or a device of torch."""
    keep: bool = False
    """True: vectors are stored in the user's cache directory."""

    paper: ClassVar[str] = "Hessel et al. 2021"

    @classmethod
    def variants(cls) -> Sequence[Metric]:
        """Return the variants without and with references."""
        return cls(), cls(references=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("features", "model", "images"):
            if isinstance(value := getattr(self, name), os.PathLike):
                object.__setattr__(self, name, os.fspath(value))
        require(
            self.images is None or self.features is None,
            "pass features= or images=, not both",
        )
        if self.prompt and not self.prompt.endswith(" "):
            object.__setattr__(self, "prompt", f"{self.prompt} ")
        require(0 < self.weight < float("inf"), f"weight must be above 0, not {self.weight}")

    @property
    def name(self) -> str:
        """`clipscore` or `refclipscore`."""
        return "refclipscore" if self.references else "clipscore"

    @property
    def range(self) -> tuple[float, float]:
        """From 0 to the score of a cosine of 1."""
        return 0.0, 2 * self.weight / (self.weight + 1) if self.references else self.weight

    @property
    def needs(self) -> Needs:
        """The extra `clip`, and features of the images or a model with a folder of images."""
        given = {name: getattr(self, name) for name in ("features", "model", "images")}
        has_images = self.features is not None or None not in (self.model, self.images)
        return Needs(
            extra="clip",
            settings=None
            if has_images
            else "features= (a file of features), or model= and images= (two folders)",
            files={name: value for name, value in given.items() if isinstance(value, str)},
        )

    @property
    def source(self) -> Source:
        """Source of the vectors."""
        if self.needs.settings is not None:
            raise SettingError(
                f"{self.name} compares captions with images: it needs {self.needs.settings}, such "
                f"as {self.name}:features=features.npz"
            )
        return Source(self.features, self.model, self.images, self.prompt, self.device, self.keep)

    def settings(self) -> dict[str, str]:
        """Return the settings for signatures, with the names of files and folders."""
        settings = super().settings()
        for name in ("keep", "device"):
            settings.pop(name)
        if isinstance(self.features, ImageFeatures):
            settings["features"] = self.features.name
        elif self.features is not None:
            settings["features"] = Path(self.features).name
        for name in ("model", "images"):
            if (folder := getattr(self, name)) is not None:
                settings[name] = Path(folder).resolve().name
        settings["prompt"] = self.prompt.strip() if self.model is not None else "none"
        return settings

    def data_settings(self) -> dict[str, str]:
        """Return digests of the features and of the model's weights, and the kernel."""
        source = self.source
        found = {}
        features, model = source.open_features(), source.open_model()
        if features is not None:
            found["vectors"] = features.fingerprint
        else:
            found["pictures"] = _hash_folder(list_images(Path(source.images or "")))
        if model is not None:
            found |= {"weights": model.fingerprint, "files": model.files[:12]}
            found["kernel"] = model.kernel
            found["long"] = f"cut-{model.window}"
        return found

    def prepare(self, references: TokenizedReferences, work: Workspace) -> Prepared:
        """Return the vectors of the images and, with `references`, of the references."""
        source = self.source
        seen = work.once(_embed_images, source, references)
        known = None
        if self.references:
            vectors = work.once(_read, source, references.captions)
            spans = pairwise(references.image_offsets.tolist())
            known = [vectors[start:end] for start, end in spans]
        return _PreparedClip(self, seen, known)


@dataclass(frozen=True, kw_only=True)
class PacScore(ClipScore):
    """PAC-S: CLIPScore with w = 2, for a CLIP trained with positive-augmented captions.

    `pac-s` and `ref-pac-s`: Sarto et al., CVPR 2023, equations 5 and 6; in [0, 2].

    ```python
    features = cidery.ImageFeatures.build(["a"], [[1, 0]], ["a dog"], [[0.8, 0.6]])
    metric = cidery.PacScore(features=features)
    cidery.score({"a": "a dog"}, {"a": ["a dog"]}, [metric]).corpus["pac-s"]   # 1.6
    ```
    """

    weight: float = 2.0
    """w: factor of the cosine."""

    paper: ClassVar[str] = "Sarto et al. 2023"

    @property
    def name(self) -> str:
        """`pac-s` or `ref-pac-s`."""
        return "ref-pac-s" if self.references else "pac-s"


@dataclass(frozen=True, eq=False)
class _PreparedClip(Prepared):
    metric: ClipScore
    images: Floats
    """float64[images, width]"""
    references: list[Floats] | None
    """Vectors of the references of each image: float64[references, width]"""

    def measure(self, candidates: TokenizedCandidates, work: Workspace) -> Floats:
        """Return the score and its parts: float64[captions, 3]."""
        vectors = work.once(_read, self.metric.source, candidates.captions)
        if vectors.shape[1] != self.images.shape[1]:
            raise DataError("the vectors of images and captions have different widths")
        rows = np.zeros((len(candidates), 1 + len(PARTS)))
        rows[:, 1] = (vectors * self.images[candidates.images]).sum(axis=1)
        # Rounding may give a cosine slightly above 1.
        rows[:, 0] = self.metric.weight * np.clip(rows[:, 1], 0, 1)
        if self.references is not None:
            for row, image in enumerate(candidates.images.tolist()):
                rows[row, 2] = (self.references[image] * vectors[row]).sum(axis=1).max()
            best = np.clip(rows[:, 2], 0, 1)
            sums = rows[:, 0] + best
            # Where both are 0, so is their mean; the authors' code divides by 0 there.
            rows[:, 0] = np.where(sums > 0, 2 * rows[:, 0] * best / np.where(sums > 0, sums, 1), 0)
        return rows


def _hash_folder(files: Sequence[Path]) -> str:
    """Return a digest of the files' names and sizes, which is faster than of their content."""
    listed = "\n".join(f"{file.name} {file.stat().st_size}" for file in files)
    return sha256(listed.encode(errors="surrogateescape")).hexdigest()[:12]


def _embed_images(work: Workspace, source: Source, references: TokenizedReferences) -> Floats:  # noqa: ARG001
    if not references.images:
        raise SettingError(
            "metrics that compare captions with images need image ids; pass captions by id, or "
            "remove these metrics"
        )
    return source.embed_images(references.images)


def _read(work: Workspace, source: Source, captions: TokenizedCaptions) -> Floats:  # noqa: ARG001
    return source.read(captions.texts)
