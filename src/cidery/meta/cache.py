"""Results kept by signature, so that adding a metric computes only that one.

A result is one small JSON file in the user's cache folder, named by a digest of all that it depends
on. A file that cannot be read is as good as none; a file is complete before it gets its name.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cidery._version import __version__
from cidery.meta.judgments import Dataset
from cidery.meta.protocols import Settings
from cidery.metrics import Metric


def default_folder() -> Path:
    """Return where results are kept: `$CIDERY_CACHE`, or the user's cache folder."""
    chosen = os.environ.get("CIDERY_CACHE")
    if chosen:
        return Path(chosen) / "meta"
    import platformdirs

    return Path(platformdirs.user_cache_dir("cidery", appauthor=False)) / "meta"


@dataclass(frozen=True)
class ResultCache:
    """Statistics by what they depend on; never those of code outside cidery, which may change."""

    folder: Path | None
    """None: nothing is kept."""

    def key(self, dataset: Dataset, metric: Metric, settings: Settings) -> str:
        """Return a digest of data, metric, settings and version."""
        parts = {
            "data": dataset.fingerprint,
            "metric": [metric.name, metric.settings() | metric.data_settings()],
            "settings": asdict(settings),
            "version": __version__,
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]

    def load(self, key: str) -> dict[str, Any] | None:
        """Return `{"statistics", "signature"}`, or None."""
        if self.folder is None:
            return None
        try:
            content = json.loads((self.folder / f"{key}.json").read_text(encoding="utf-8"))
            statistics = content["statistics"]
            if content["key"] != key or not isinstance(content["signature"], str):
                return None
            if not all(isinstance(value, int | float) for value in statistics.values()):
                return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None
        return {"statistics": statistics, "signature": content["signature"]}

    def save(self, key: str, statistics: dict[str, float], signature: str) -> None:
        """Keep a result; a folder that cannot be written to keeps nothing."""
        if self.folder is None:
            return
        content = {"key": key, "signature": signature, "statistics": statistics}
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=self.folder, prefix=".", suffix=".json")
        except OSError:
            return
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(content, file)
            Path(temporary).replace(self.folder / f"{key}.json")
        except OSError:
            Path(temporary).unlink(missing_ok=True)
