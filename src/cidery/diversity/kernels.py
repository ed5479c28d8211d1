"""Similarities of an image's captions with each other, as matrices."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias, cast

import numpy as np

from cidery import _native
from cidery.captions.tokenizers import STOP_WORDS
from cidery.captions.workspace import Workspace
from cidery.diversity.sets import TokenizedSets
from cidery.errors import SettingError
from cidery.metrics.base import index_ngrams
from cidery.metrics.ngram.cider import Cider, CiderD, CiderR, PreparedCider
from cidery.statistics import Floats

Kernel: TypeAlias = str | Cider | CiderD | CiderR
Directions: TypeAlias = Literal["both", "once"]
"""Whether two captions are compared both ways, each as candidate and as reference, or once."""

KERNELS: Mapping[str, Cider | CiderD | CiderR] = MappingProxyType(
    {"cider": Cider(stemmer=None), "cider-d": CiderD(), "cider-r": CiderR()}
)
"""Kernels by name; `cider` is equation (3) of the paper, on unstemmed words."""


def get_kernel(kernel: Kernel) -> Cider | CiderD | CiderR:
    """Return the metric of a kernel: by name, or as given."""
    if isinstance(kernel, Cider | CiderD | CiderR):
        return kernel
    if kernel in KERNELS:
        return KERNELS[kernel]
    raise SettingError(
        f"unknown kernel {kernel!r}; known: {', '.join(KERNELS)}, or a Cider, CiderD or CiderR"
    )


def cider_kernels(
    sets: TokenizedSets, work: Workspace, kernel: Kernel, pairs: Directions = "both"
) -> Floats:
    """Return the kernel matrices of all images, one after another."""
    prepared = cast("PreparedCider", get_kernel(kernel).prepare(sets.captions, work))
    return _native.cider_kernels(prepared.native, pairs == "once", work.threads)


def word_products(
    sets: TokenizedSets, work: Workspace, stop_words: str | tuple[str, ...] | None = None
) -> Floats:
    """Return MᵀM of every image's word-caption matrix M, one after another."""
    index = index_ngrams(work, sets.captions.groups, "split", 1)
    words = sets.captions.captions.form("split", work).vocabulary()
    stopped = STOP_WORDS[stop_words] if isinstance(stop_words, str) else set(stop_words or ())
    ignored = np.fromiter((word in stopped for word in words), np.uint8, len(words))
    return _native.word_products(index, ignored, work.threads)
