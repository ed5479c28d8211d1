"""What captions talk about: coordinates on latent topics, and maps of captions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cidery.corpus import ImageId
from cidery.diversity.kernels import Kernel, cider_kernels, word_products
from cidery.diversity.sets import CaptionSets, Sets, TokenizedSets
from cidery.errors import SettingError
from cidery.evaluation import FrequenciesLike, read_frequencies
from cidery.metrics.base import ReferenceSet
from cidery.statistics import Floats
from cidery.tokenizers import TokenizerLike, get_tokenizer

COMPONENTS = 5
"""How many topics the paper shows."""


@dataclass(frozen=True, eq=False)
class LatentSemantics:
    """Captions of one image on its strongest topics."""

    captions: tuple[str, ...]
    coordinates: Floats
    """float64[captions, components]: v_i^j of Wang and Chan 2019, section A.2. Of the two signs
    that an eigenvector may have, the one that makes its largest entry positive is taken."""
    strengths: Floats
    """float64[components]: σ = √λ, descending."""


@dataclass(frozen=True, eq=False)
class CaptionMap:
    """Captions of several images as points: similar captions lie close."""

    images: tuple[ImageId, ...]
    """The image of each caption."""
    captions: tuple[str, ...]
    coordinates: Floats
    """float64[captions, dimensions]"""
    explained: float
    """The share of the captions' spread that these dimensions show."""


def latent_semantics(
    captions: Sequence[str],
    kernel: Kernel = "cider",
    components: int = COMPONENTS,
    *,
    frequencies: FrequenciesLike = "coco-train2014",
    stop_words: str | tuple[str, ...] | None = None,
    tokenizer: TokenizerLike = "ptb",
) -> LatentSemantics:
    """Decompose an image's captions into topics: Wang and Chan 2019, section A.2.

    Args:
        captions: of one image, at least two.
        kernel: K = VΛVᵀ of `"cider"`, `"cider-d"`, `"cider-r"`, or `"lsa"`: the word-caption
            matrix M = USVᵀ.
        components: how many of the strongest topics; no more than there are captions.
        frequencies: of the kernel.
        stop_words: words that `"lsa"` ignores: `"english"` (as in the paper's charts) or a tuple.
        tokenizer: as in `score`.

    ```python
    latent_semantics(["a dog runs", "a dog sleeps", "two cats"]).coordinates   # float64[3, 3]
    ```
    """
    if components < 1:
        raise SettingError(f"at least one component is needed, not {components}")
    sets = CaptionSets.build({"captions": list(captions)})
    matrix = _kernel_matrix(sets, kernel, frequencies, stop_words, tokenizer)
    eigenvalues, vectors = np.linalg.eigh(matrix)
    strongest = slice(None, -components - 1, -1)
    return LatentSemantics(
        tuple(sets.captions),
        _fix_signs(vectors[:, strongest]),
        np.sqrt(np.maximum(eigenvalues[strongest], 0.0)),
    )


def map_captions(
    sets: Sets,
    kernel: Kernel = "cider",
    dimensions: int = 2,
    *,
    frequencies: FrequenciesLike = "coco-train2014",
    stop_words: str | tuple[str, ...] | None = None,
    tokenizer: TokenizerLike = "ptb",
) -> CaptionMap:
    """Place captions of several images by classical multidimensional scaling.

    The squared distance of two captions is K_ii + K_jj - 2 K_ij, so the points are the principal
    components of the centred kernel. No randomness: the same captions give the same map. For
    figure 9 of Wang and Chan 2019. The arguments are those of `latent_semantics`.

    ```python
    map_captions({"a": ["a dog", "the dog"], "b": ["two cats", "cats"]}).coordinates
    ```
    """
    if dimensions < 1:
        raise SettingError(f"at least one dimension is needed, not {dimensions}")
    checked = CaptionSets.build(sets)
    together = CaptionSets(("all",), checked.captions, np.asarray([0, len(checked.captions)]))
    matrix = _kernel_matrix(together, kernel, frequencies, stop_words, tokenizer)
    centred = matrix - matrix.mean(axis=0) - matrix.mean(axis=1)[:, None] + matrix.mean()
    eigenvalues, vectors = np.linalg.eigh(centred)
    positive = np.maximum(eigenvalues[::-1], 0.0)
    shown = positive[:dimensions]
    coordinates = _fix_signs(vectors[:, : -dimensions - 1 : -1]) * np.sqrt(shown)
    total = float(positive.sum())
    owners = np.repeat(np.arange(len(checked.images)), checked.sizes)
    return CaptionMap(
        tuple(checked.images[i] for i in owners.tolist()),
        tuple(checked.captions),
        coordinates,
        float(shown.sum()) / total if total > 0 else 1.0,
    )


def _kernel_matrix(
    sets: CaptionSets,
    kernel: Kernel,
    frequencies: FrequenciesLike,
    stop_words: str | tuple[str, ...] | None,
    tokenizer: TokenizerLike,
) -> Floats:
    """Return the one set's kernel, float64[m, m]."""
    cut = get_tokenizer(tokenizer)
    counted_on = read_frequencies(frequencies)
    if counted_on == "references":
        raise SettingError("there are no references here to count on; pass a set of frequencies")
    references = ReferenceSet(cut(sets.captions), sets.offsets.astype(np.uint64), cut, counted_on)
    tokenized = TokenizedSets(references, sets.sizes)
    flat = (
        word_products(tokenized, stop_words)
        if kernel == "lsa"
        else cider_kernels(tokenized, kernel)
    )
    return flat.reshape(len(sets.captions), -1)


def _fix_signs(vectors: Floats) -> Floats:
    """Turn columns so that the entry largest by magnitude is positive."""
    # Entries that are equal but for rounding must not decide: the first of them does.
    sizes = np.abs(vectors)
    leading = (sizes >= sizes.max(axis=0) * (1 - 1e-9)).argmax(axis=0)
    signs = np.sign(vectors[leading, np.arange(vectors.shape[1])])
    return vectors * np.where(signs == 0, 1.0, signs)
