"""Lenses: linear maps of an encoder's vectors, fitted to human judgments of captions.

Encoders are trained on which texts belong together, not on which captions are good. A lens adjusts
the vectors so that their cosines agree better with judgments. tools/fit_lens.py fits them;
docs/metrics/consensus.md names the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from cidery.encoders.base import Encoder
from cidery.statistics import Floats

FOLDER = Path(__file__).parent / "lenses"
"""Shipped lenses: `<encoder>-<digest of its weights>.npy`."""


@dataclass(frozen=True, eq=False)
class Lens:
    """Low-rank map x -> x + outward·inwardᵀ·x of an encoder's last states."""

    inward: Floats
    """float64[width, rank]"""
    outward: Floats
    """float64[width, rank]"""

    @property
    def fingerprint(self) -> str:
        """First 12 digits of the SHA-256 of its values, for signatures."""
        from hashlib import sha256  # loads OpenSSL, which other metrics do without

        return sha256(self.inward.tobytes() + self.outward.tobytes()).hexdigest()[:12]

    def __call__(self, states: Floats) -> Floats:
        """Return the mapped states, float64[states, width]; lengths change."""
        mapped: Floats = states + (states @ self.inward) @ self.outward.T
        return mapped


def find_lens(encoder: Encoder) -> Lens | None:
    """Return the lens fitted to the encoder's weights, or None."""
    return _read_lens(encoder.fingerprint)


# Shipped lenses are part of the package.
@lru_cache(maxsize=8)
def _read_lens(weights: str) -> Lens | None:
    for file in FOLDER.glob("*.npy"):
        if file.stem.rpartition("-")[2] == weights:
            inward, outward = np.load(file).astype(np.float64)
            return Lens(inward, outward)
    return None
