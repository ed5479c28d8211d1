"""From kernel matrices to diversity: equation r = √λ1 / Σ√λi and its logarithm."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cidery.statistics import Floats

# Eigenvalues come with errors of some 1e-15 of the largest one, and √ makes 3e-8 of that. What lies
# below this share is taken for the zero that it stands for: repeated captions add no topic.
_ROUNDING = 1e-12


def split_matrices(flat: Floats, sizes: NDArray[Any]) -> list[tuple[NDArray[np.intp], Floats]]:
    """Group matrices that lie one after another by size: (their indexes, float64[k, m, m])."""
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

    Negative eigenvalues, which a kernel that is not positive definite has (CIDEr-D, CIDEr-R), have
    no square root and count as 0.
    """
    spread = np.empty(len(sizes))
    for chosen, matrices in split_matrices(flat, sizes):
        spread[chosen] = spread_of_eigenvalues(np.asarray(np.linalg.eigvalsh(matrices), np.float64))
    return spread


def spread_of_eigenvalues(eigenvalues: Floats) -> Floats:
    """Return -log_m r for ascending eigenvalues, float64[..., m] -> float64[...].

    Where all are 0 (no caption has a word), the captions are the same and the spread is 0.
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
