"""Similarities of an image's captions with each other, as matrices."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias, cast

import numpy as np

from cidery import _native
from cidery.captions.tokenizers import STOP_WORDS
from cidery.diversity.sets import TokenizedSets
from cidery.errors import SettingError
from cidery.metrics import Cider, CiderD, CiderR
from cidery.metrics.ngram.cider import PreparedCider
from cidery.statistics import Floats

Kernel: TypeAlias = str | Cider | CiderD | CiderR
Pairs: TypeAlias = Literal["both", "once"]

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


def cider_kernels(sets: TokenizedSets, kernel: Kernel, pairs: Pairs = "both") -> Floats:
    """Return the kernel matrices of all images, one after another."""
    prepared = cast("PreparedCider", get_kernel(kernel).prepare(sets.captions))
    return _native.cider_kernels(prepared.native, pairs == "once", sets.captions.threads)


def word_products(sets: TokenizedSets, stop_words: str | tuple[str, ...] | None = None) -> Floats:
    """Return MᵀM of every image's word-caption matrix M, one after another."""
    index = sets.captions.index("split", 1)
    words = sets.captions.captions.form("split").vocabulary()
    stopped = STOP_WORDS[stop_words] if isinstance(stop_words, str) else set(stop_words or ())
    ignored = np.fromiter((word in stopped for word in words), np.uint8, len(words))
    return _native.word_products(index, ignored, sets.captions.threads)
