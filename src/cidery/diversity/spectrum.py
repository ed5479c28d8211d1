"""Diversity of kernel matrices: -log_m r with r = √λ1 / Σ√λi."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cidery.statistics import Floats

# Eigenvalues have errors near 1e-15 of the largest one, whose square roots are near 3e-8. Smaller
# ones are set to 0: repeated captions add no topic.
_ROUNDING = 1e-12


def split_matrices(flat: Floats, sizes: NDArray[Any]) -> list[tuple[NDArray[np.intp], Floats]]:
    """Group consecutive matrices by size: (their indices, float64[k, m, m])."""
    starts = np.concatenate([[0], np.cumsum(sizes.astype(np.int64) ** 2)])
    grouped = []
    for m in np.unique(sizes).tolist():
        chosen = np.flatnonzero(sizes == m)
        if len(chosen) == len(sizes):
            matrices = flat
        else:
            matrices = flat[starts[chosen][:, None] + np.arange(m * m)]
        grouped.append((chosen, matrices.reshape(-1, m, m)))
    return grouped


def measure_spread(flat: Floats, sizes: NDArray[Any]) -> Floats:
    """Return each kernel matrix's diversity, div = -log_m r; float64[images] in [0, 1].

    Negative eigenvalues, which kernels that are not positive definite have (CIDEr-D, CIDEr-R),
    count as 0.
    """
    spread = np.empty(len(sizes))
    for chosen, matrices in split_matrices(flat, sizes):
        spread[chosen] = spread_of_eigenvalues(np.asarray(np.linalg.eigvalsh(matrices), np.float64))
    return spread


def spread_of_eigenvalues(eigenvalues: Floats) -> Floats:
    """Return -log_m r for ascending eigenvalues, float64[..., m] -> float64[...].

    0 if all are 0 (no caption has a word).
    """
    m = eigenvalues.shape[-1]
    largest = eigenvalues[..., -1:]
    strengths = np.sqrt(np.where(eigenvalues > _ROUNDING * largest, eigenvalues, 0.0))
    strongest = strengths[..., -1]
    # 1 / r rather than r: m equal eigenvalues then give exactly 1.
    inverse = np.divide(
        strengths.sum(axis=-1), strongest, out=np.ones_like(strongest), where=strongest > 0
    )
    return np.asarray(np.clip(np.log(inverse) / np.log(m), 0.0, 1.0), np.float64)
