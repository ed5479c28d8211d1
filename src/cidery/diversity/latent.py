"""Latent semantics of captions: coordinates on topics, and maps of captions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cidery.corpus import ImageId
from cidery.diversity.caption_sets import CaptionSets, SetsLike, TokenizedSets
from cidery.diversity.kernels import (
    Kernel,
    choose_frequencies,
    compare_captions,
    word_products,
)
from cidery.errors import SettingError
from cidery.metrics.base import GroupedCaptions, TokenizedReferences
from cidery.runtime import Workspace
from cidery.scoring.pipeline import FrequenciesLike, read_frequencies
from cidery.statistics import Floats
from cidery.text import Tokenizer, TokenizerLike, choose_tokenizer

COMPONENTS = 5
"""Number of topics in the paper."""
# √ turns rounding errors of 1e-16 in a kernel into distances of 1e-8.
_SAME = 1e-7


@dataclass(frozen=True, eq=False)
class LatentSemantics:
    """Captions of one image on its strongest topics."""

    captions: tuple[str, ...]
    coordinates: Floats
    """float64[captions, components]: v_i^j of Wang and Chan 2019, section A.2. Signs are chosen so
    that the largest entry of each eigenvector is positive."""
    strengths: Floats
    """float64[components]: σ = √λ, descending."""


@dataclass(frozen=True, eq=False)
class CaptionMap:
    """Captions of several images as points; similar captions are close."""

    images: tuple[ImageId, ...]
    """Image of each caption."""
    captions: tuple[str, ...]
    coordinates: Floats
    """float64[captions, dimensions]"""
    stress: float
    """Error of the distances on the map (Kruskal's stress-1); 0 is exact."""


def latent_semantics(
    captions: Sequence[str],
    kernel: Kernel = "cider",
    components: int = COMPONENTS,
    *,
    frequencies: FrequenciesLike | None = None,
    stop_words: str | tuple[str, ...] | None = None,
    tokenizer: TokenizerLike | None = None,
    language: str | None = None,
) -> LatentSemantics:
    """Decompose an image's captions into topics: Wang and Chan 2019, section A.2.

    Args:
        captions: of one image, at least two.
        kernel: K = VΛVᵀ of any kernel of `SelfCider`, or `"lsa"`: the word-caption matrix
            M = USVᵀ.
        components: number of topics, at most the number of captions.
        frequencies: document frequencies of the kernel. Default: `"coco-train2014"` (English).
        stop_words: words that `"lsa"` ignores: `"english"` (as in the paper's charts) or a tuple.
        tokenizer: as in `score`.
        language: as in `score`.

    ```python
    latent_semantics(["a dog runs", "a dog sleeps", "two cats"]).coordinates   # float64[3, 3]
    ```
    """
    if components < 1:
        raise SettingError(f"components must be at least 1, not {components}")
    cut = choose_tokenizer(tokenizer, language)
    sets = CaptionSets.build({"captions": list(captions)})
    matrix = _kernel_matrix(sets, kernel, frequencies, stop_words, cut)
    eigenvalues, vectors = np.linalg.eigh(matrix)
    strongest = slice(None, -components - 1, -1)
    return LatentSemantics(
        tuple(sets.captions),
        _fix_signs(vectors[:, strongest]),
        np.sqrt(np.maximum(eigenvalues[strongest], 0.0)),
    )


def map_captions(
    sets: SetsLike,
    kernel: Kernel = "cider",
    dimensions: int = 2,
    *,
    frequencies: FrequenciesLike | None = None,
    stop_words: str | tuple[str, ...] | None = None,
    tokenizer: TokenizerLike | None = None,
    language: str | None = None,
    seed: int = 0,
) -> CaptionMap:
    """Map captions of several images by multidimensional scaling: Wang and Chan 2019, figure 9.

    The distance of two captions is √(K_ii + K_jj - 2 K_ij). The initial map is classical scaling,
    the principal components of the centered kernel; majorization (SMACOF, de Leeuw 1977) then fits
    all distances. `seed` is for the small shift that separates points with equal initial
    coordinates; equal captions stay together. The other arguments are those of `latent_semantics`.

    ```python
    map_captions({"a": ["a dog", "the dog"], "b": ["two cats", "cats"]}).coordinates
    ```
    """
    if dimensions < 1:
        raise SettingError(f"dimensions must be at least 1, not {dimensions}")
    cut = choose_tokenizer(tokenizer, language)
    checked = CaptionSets.build(sets)
    together = CaptionSets(("all",), checked.captions, np.asarray([0, len(checked.captions)]))
    matrix = _kernel_matrix(together, kernel, frequencies, stop_words, cut)
    own = np.diagonal(matrix)
    distances = np.sqrt(np.maximum(own[:, None] + own - 2 * matrix, 0.0))
    distances[distances < _SAME] = 0.0
    start = scale_classically(matrix, dimensions)
    _, number = np.unique(distances == 0, axis=0, return_inverse=True)  # equal captions: equal rows
    shifts = np.random.default_rng(seed).standard_normal((len(matrix), start.shape[1]))
    coordinates = fit_distances(start + 0.01 * shifts[number.ravel()], distances)
    owners = np.repeat(np.arange(len(checked.images)), checked.sizes)
    return CaptionMap(
        tuple(checked.images[i] for i in owners.tolist()),
        tuple(checked.captions),
        coordinates,
        _stress(coordinates, distances),
    )


def scale_classically(matrix: Floats, dimensions: int) -> Floats:
    """Return the principal components of a kernel, float64[m, dimensions] (Torgerson 1952)."""
    centered = matrix - matrix.mean(axis=0) - matrix.mean(axis=1)[:, None] + matrix.mean()
    eigenvalues, vectors = np.linalg.eigh(centered)
    strongest = slice(None, -dimensions - 1, -1)
    lengths = np.sqrt(np.maximum(eigenvalues[strongest], 0.0))
    return np.asarray(_fix_signs(vectors[:, strongest]) * lengths, np.float64)


def fit_distances(start: Floats, distances: Floats, steps: int = 500) -> Floats:
    """Fit the distances of points by Guttman transforms, which never increase the stress."""
    points = start - start.mean(axis=0)
    before = _stress(points, distances)
    for _ in range(steps):
        apart = _distances(points)
        ratio = np.divide(distances, apart, out=np.zeros_like(apart), where=apart > 0)
        points = (ratio.sum(axis=1)[:, None] * points - ratio @ points) / len(points)
        stress = _stress(points, distances)
        if before - stress < 1e-7:
            break
        before = stress
    return np.asarray(points, np.float64)


def _distances(points: Floats) -> Floats:
    differences = points[:, None] - points
    return np.asarray(np.sqrt((differences**2).sum(axis=-1)), np.float64)


def _stress(points: Floats, distances: Floats) -> float:
    """Return Kruskal's stress-1; 0 if all distances are exact."""
    apart = _distances(points)
    total = float((apart**2).sum())
    return float(np.sqrt(((apart - distances) ** 2).sum() / total)) if total > 0 else 0.0


def _kernel_matrix(
    sets: CaptionSets,
    kernel: Kernel,
    frequencies: FrequenciesLike | None,
    stop_words: str | tuple[str, ...] | None,
    cut: Tokenizer,
) -> Floats:
    """Return the kernel of one set, float64[m, m]."""
    counted_on = read_frequencies(choose_frequencies(frequencies, cut))
    if counted_on == "references" and kernel != "lsa":
        raise SettingError(
            'frequencies="references" needs references; pass frequencies counted with tokenizer '
            f"{cut.family}"
        )
    groups = GroupedCaptions(cut(sets.captions), sets.offsets.astype(np.uint64))
    tokenized = TokenizedSets(TokenizedReferences(groups, cut, counted_on), sets.sizes)
    work = Workspace()
    flat = (
        word_products(tokenized, work, stop_words)
        if kernel == "lsa"
        else compare_captions(tokenized, work, kernel)
    )
    return flat.reshape(len(sets.captions), -1)


def _fix_signs(vectors: Floats) -> Floats:
    """Flip the signs of columns so that the entry largest by magnitude is positive."""
    # Of entries that are equal but for rounding, the first decides.
    sizes = np.abs(vectors)
    leading = (sizes >= sizes.max(axis=0) * (1 - 1e-9)).argmax(axis=0)
    signs = np.sign(vectors[leading, np.arange(vectors.shape[1])])
    return vectors * np.where(signs == 0, 1.0, signs)
