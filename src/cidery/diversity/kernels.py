"""Kernels: similarity matrices of an image's captions."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, cast

import numpy as np

from cidery import _native
from cidery.diversity.caption_sets import TokenizedSets
from cidery.encoders import Encoder, EncoderLike, get_encoder, name_encoder
from cidery.errors import InputError, SettingError
from cidery.metrics import METRICS, Metric
from cidery.metrics.base import index_ngrams
from cidery.metrics.contextual.base import describe_encoder
from cidery.metrics.ngram.cider import Cider, CiderD, CiderR, PreparedCider
from cidery.plugins import list_names, load_plugin
from cidery.runtime import Workspace
from cidery.scoring.pipeline import FrequenciesLike
from cidery.statistics import Floats
from cidery.storage import MODELS
from cidery.text import SPLIT, STOP_WORDS, TokenizedCaptions, Tokenizer

CiderKernel: TypeAlias = Cider | CiderD | CiderR
KernelFunction: TypeAlias = Callable[[list[str]], Any]
"""`f(captions) -> matrix [m, m]`, symmetric and positive definite."""
Directions: TypeAlias = Literal["both", "once"]
"""Compare two captions in both directions, or once."""

DEFAULT_FREQUENCIES = "coco-train2014"

KERNELS: Mapping[str, CiderKernel] = MappingProxyType(
    {"cider": Cider(stemmer=None), "cider-d": CiderD(), "cider-r": CiderR()}
)
"""CIDEr's kernels by name; `cider` is equation (3) of the paper, on unstemmed words."""
# Sums of a few hundred products have errors near 1e-14; functions may use single precision.
_ROUNDING = 1e-5


@dataclass(frozen=True)
class SetKernel(ABC):
    """Similarity of captions other than CIDEr's; symmetric and positive definite."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Name in signatures."""

    @abstractmethod
    def compare(self, sets: TokenizedSets, work: Workspace) -> Floats:
        """Return the matrices of all images, one after another, with K_ii = 1.

        A caption without known words, such as an empty one, has K_ii = 0.
        """

    def data_settings(self) -> dict[str, str]:
        """Return entries of the signature for data."""
        return {}


@dataclass(frozen=True)
class EncoderKernel(SetKernel):
    """Cosine similarity of caption embeddings of a language model; positive definite.

    ```python
    cidery.measure_diversity(sets, measures=[SelfCider(EncoderKernel("minilm"))])
    ```
    """

    encoder: EncoderLike = "minilm"
    """`minilm`, `mpnet`, the path of a model folder, or a function from captions to vectors."""
    device: str = "cpu"
    """`cpu` (the native core), `torch`, or a device that torch knows."""

    def __post_init__(self) -> None:
        if isinstance(self.encoder, os.PathLike):
            object.__setattr__(self, "encoder", os.fspath(self.encoder))

    @property
    def name(self) -> str:
        """The encoder's name."""
        return name_encoder(self.encoder)

    def compare(self, sets: TokenizedSets, work: Workspace) -> Floats:
        """Return the matrices of all images."""
        encoder = get_encoder(self.encoder, self.device)
        vectors = work.once(_embed, encoder, sets.captions.captions)
        groups = pairwise(sets.captions.image_offsets.tolist())
        products = [vectors[start:end] @ vectors[start:end].T for start, end in groups]
        return np.concatenate([_scale(product).ravel() for product in products])

    def data_settings(self) -> dict[str, str]:
        """Return digests of the encoder, and the device."""
        found = describe_encoder(get_encoder(self.encoder, self.device), self.encoder)
        return {{"kernel": "computed"}.get(name, name): value for name, value in found.items()}


def _embed(work: Workspace, encoder: Encoder, captions: TokenizedCaptions) -> Floats:
    return encoder.embed(captions.texts, work.threads).astype(np.float64)


@dataclass(frozen=True)
class FunctionKernel(SetKernel):
    """Function `f(captions) -> matrix`; raises if it is not symmetric and positive definite.

    ```python
    def count_shared(captions):
        words = [{*caption.split()} for caption in captions]
        return [[len(one & other) for other in words] for one in words]


    cidery.measure_diversity(sets, measures=[SelfCider(FunctionKernel(count_shared))])
    ```
    """

    function: KernelFunction

    @property
    def name(self) -> str:
        """`function:` and its name."""
        found = getattr(self.function, "__qualname__", type(self.function).__qualname__)
        return f"function:{found}"

    def compare(self, sets: TokenizedSets, work: Workspace) -> Floats:  # noqa: ARG002
        """Call the function for each image and check the matrix."""
        texts = sets.captions.captions.texts
        groups = pairwise(sets.captions.image_offsets.tolist())
        return np.concatenate([self._call(texts[start:end]).ravel() for start, end in groups])

    def data_settings(self) -> dict[str, str]:
        """Mark the function as unversioned, so that results are not cached."""
        return {"code": "unknown"}

    def _call(self, captions: Sequence[str]) -> Floats:
        given = list(captions)
        where = f"the kernel {self.name} gave for the captions {_shorten(given)}"
        try:
            returned = self.function(list(given))
        except Exception as error:
            raise InputError(
                f"the kernel {self.name} failed on the captions {_shorten(given)}: "
                f"{type(error).__name__}: {error}"
            ) from error
        try:
            found = np.asarray(returned, np.float64)
        except (TypeError, ValueError):
            raise InputError(f"{where} no matrix, but {type(returned).__name__}") from None
        if found.shape != (len(given), len(given)):
            raise InputError(
                f"{where} an array {list(found.shape)}, expected {[len(given)] * 2}: a number for "
                "every two captions"
            )
        if not np.isfinite(found).all():
            raise InputError(f"{where} a matrix with NaN or infinity")
        size = float(np.abs(found).max()) or 1.0
        if np.abs(found - found.T).max() > _ROUNDING * size:
            raise InputError(
                f"{where} a matrix that is not symmetric; return the mean of both directions"
            )
        least = float(np.linalg.eigvalsh(found)[0])
        if least < -_ROUNDING * size:
            raise InputError(
                f"{where} a matrix with the eigenvalue {least:.3g}, so it is not positive "
                "definite; inner products of vectors, one per caption, are positive definite"
            )
        return _scale((found + found.T) / 2)


def _shorten(captions: Sequence[str], most: int = 3) -> str:
    shown = ", ".join(map(repr, captions[:most]))
    return f"{shown}, …" if len(captions) > most else shown


def _scale(matrix: Floats) -> Floats:
    """Return K_ij / √(K_ii K_jj), which is 1 for equal captions."""
    own = np.sqrt(np.maximum(np.diagonal(matrix), 0.0))
    inverse = np.divide(1.0, own, out=np.zeros_like(own), where=own > 0)
    scaled = np.asarray(matrix * inverse[:, None] * inverse, np.float64)
    np.fill_diagonal(scaled, own > 0)
    return scaled


Kernel: TypeAlias = str | CiderKernel | SetKernel | KernelFunction
"""Name, model folder, kernel object, or function from captions to a matrix."""


def get_kernel(kernel: Kernel) -> CiderKernel | SetKernel:
    """Return a kernel by name, object or function.

    ```python
    get_kernel("cider-d"), get_kernel("minilm")   # (CiderD(), EncoderKernel("minilm"))
    ```
    """
    if isinstance(kernel, CiderKernel | SetKernel):
        return kernel
    if isinstance(kernel, str):
        return _find_named(kernel)
    if isinstance(kernel, Metric):
        raise SettingError(_refuse_metric(kernel.name))
    if callable(kernel) and not isinstance(kernel, type):
        return FunctionKernel(kernel)
    raise SettingError(f"kernel must be a name, an object or a function, not {kernel!r}")


def _find_named(name: str) -> CiderKernel | SetKernel:
    if name in KERNELS:
        return KERNELS[name]
    if name in MODELS or (Path(name).name == name and name and load_plugin("encoder", name)):
        return EncoderKernel(name)
    if Path(name).is_dir() and name:
        return EncoderKernel(name)
    if name.partition(":")[0] in METRICS:
        raise SettingError(_refuse_metric(name))
    raise SettingError(f"unknown kernel {name!r}; {_list_known()}")


def _refuse_metric(name: str) -> str:
    return (
        f"the metric {name!r} is not a kernel: its matrix is not always positive definite; "
        f"{_list_known()}"
    )


def _list_known() -> str:
    return (
        f"known: {', '.join([*KERNELS, *list_names('encoder', MODELS)])}, the folder of a language "
        "model, a Cider, CiderD or CiderR, an EncoderKernel, or a function from captions to a "
        "matrix"
    )


def choose_frequencies(
    frequencies: FrequenciesLike | None, tokenizer: Tokenizer
) -> FrequenciesLike:
    """Return the given frequencies; default: COCO's for English, else the references."""
    if frequencies is not None:
        return frequencies
    english = tokenizer.family == "ptb" and tokenizer.language in (None, "en")
    return DEFAULT_FREQUENCIES if english else "references"


def compare_captions(
    sets: TokenizedSets, work: Workspace, kernel: Kernel, pairs: Directions = "both"
) -> Floats:
    """Return the kernel matrices of all images, one after another."""
    found = get_kernel(kernel)
    if isinstance(found, SetKernel):
        return found.compare(sets, work)
    prepared = cast("PreparedCider", found.prepare(sets.captions, work))
    return _native.cider_kernels(prepared.native, pairs == "once", work.threads)


def word_products(
    sets: TokenizedSets, work: Workspace, stop_words: str | tuple[str, ...] | None = None
) -> Floats:
    """Return MᵀM of every image's word-caption matrix M, one after another."""
    index = index_ngrams(work, sets.captions.groups, SPLIT, 1)
    words = sets.captions.captions.form(SPLIT, work).vocabulary()
    stopped = STOP_WORDS[stop_words] if isinstance(stop_words, str) else set(stop_words or ())
    ignored = np.fromiter((word in stopped for word in words), np.uint8, len(words))
    return _native.word_products(index, ignored, work.threads)
