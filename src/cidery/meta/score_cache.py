"""Scores kept on disk, so that another question, protocol or test scores no caption again.

Scores are one file for each metric and set of captions, named by a digest of everything that they
depend on. A file that cannot be read counts as missing.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from cidery._version import __version__
from cidery.diversity import Measure
from cidery.meta.judgments import JudgedCaptions
from cidery.metrics import Metric, is_built_in
from cidery.statistics import Floats
from cidery.storage import write_atomically


def can_be_named(metric: Metric | Measure) -> bool:
    """Tell whether a signature names all that a result depends on."""
    return "unknown" not in metric.data_settings().values()


@dataclass(frozen=True)
class ScoreCache:
    """Scores by what they depend on: captions, references, metric, tokenizer and frequencies."""

    folder: Path

    def make_key(
        self,
        judged: JudgedCaptions,
        metric: Metric,
        settings: tuple[str, ...],
        counts: Sequence[int],
    ) -> str | None:
        """Return a digest; None for metrics whose code the version does not cover."""
        if not is_built_in(metric) or not can_be_named(metric):
            return None
        parts = {
            "data": judged.fingerprint,
            "metric": [metric.name, metric.settings() | metric.data_settings()],
            "settings": [*settings, *map(int, counts)],
            "version": __version__,
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]

    def load(self, key: str, count: int) -> tuple[Floats, str] | None:
        """Return scores and signature, or None where there are none that can be read."""
        try:
            file = io.BytesIO((self.folder / f"{key}.npz").read_bytes())
            with np.load(file, allow_pickle=False) as content:
                scores, signature = content["scores"], str(content["signature"])
        except (OSError, ValueError, KeyError, EOFError, BadZipFile):
            return None
        if scores.dtype != np.float64 or scores.shape != (count,):
            return None
        return scores, signature

    def save(self, key: str, scores: Floats, signature: str) -> None:
        """Keep scores; a folder that cannot be written to keeps nothing."""
        content = io.BytesIO()
        np.savez_compressed(content, scores=scores, signature=np.asarray(signature))
        with suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            write_atomically(self.folder / f"{key}.npz", content.getvalue())
