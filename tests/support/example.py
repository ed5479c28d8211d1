"""The bundled example, made as large as a test wants, and where real captions lie."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import cidery

BUNDLED = Path(cidery.__file__).parent / "corpus" / "bundled"
ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared"


@dataclass(frozen=True)
class Example:
    """The bundled corpus."""

    references: dict[int, list[str]]
    system_a: dict[int, str]
    system_b: dict[int, str]

    def many(self, count: int) -> tuple[dict[int, str], dict[int, list[str]]]:
        """Return candidates and references of so many images, mixed from the example's captions."""
        rng = np.random.default_rng(count)
        flat = [caption for captions in self.references.values() for caption in captions]
        references = {
            image: [flat[i] for i in rng.integers(0, len(flat), int(rng.integers(1, 6)))]
            for image in range(count)
        }
        candidates = {
            image: captions[0] if image % 3 else flat[int(rng.integers(0, len(flat)))]
            for image, captions in references.items()
        }
        return candidates, references
