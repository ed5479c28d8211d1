"""Lenses: maps of an encoder's vectors that were learned from people's judgments of captions.

An encoder was taught which texts belong together, not which captions people find right. A lens
changes its vectors a little, so that their cosines follow people. docs/metrics/consensus.md tells
what they were learned from; tools/fit_lens.py learns them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from cidery.encoders.base import Encoder
from cidery.statistics import Floats

FOLDER = Path(__file__).parent / "lenses"
"""Of the shipped ones: `<encoder>-<digest of its weights>.npy`."""


@dataclass(frozen=True, eq=False)
class Lens:
    """The map x -> x + outward·inwardᵀ·x of an encoder's last states; of low rank."""

    inward: Floats
    """float64[width, rank]"""
    outward: Floats
    """float64[width, rank]"""

    @property
    def fingerprint(self) -> str:
        """The beginning of the SHA-256 of its numbers, for signatures."""
        from hashlib import sha256  # loads OpenSSL, which other metrics do without

        return sha256(self.inward.tobytes() + self.outward.tobytes()).hexdigest()[:12]

    def __call__(self, states: Floats) -> Floats:
        """Return the mapped states, float64[states, width]; lengths change."""
        mapped: Floats = states + (states @ self.inward) @ self.outward.T
        return mapped


def find_lens(encoder: Encoder) -> Lens | None:
    """Return the lens that was fitted to exactly these weights, None if there is none."""
    return _read_lens(encoder.fingerprint)


# The shipped lenses are part of the package, which does not change while the process runs.
@lru_cache(maxsize=8)
def _read_lens(weights: str) -> Lens | None:
    for file in FOLDER.glob("*.npy"):
        if file.stem.rpartition("-")[2] == weights:
            inward, outward = np.load(file).astype(np.float64)
            return Lens(inward, outward)
    return None
