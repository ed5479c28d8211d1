"""Cached results and scores, so that a new metric or question computes only what is new.

Both are contents of one `DiskCache`, by a digest of everything that they depend on.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from cidery.diversity import Measure
from cidery.engines.content import list_content
from cidery.frequencies import SHIPPED
from cidery.meta.settings import Settings
from cidery.metrics import Metric, is_built_in
from cidery.plugins import load_plugin
from cidery.statistics import Floats
from cidery.storage import (
    CACHES,
    DiskCache,
    UnknownContentError,
    hash_content,
    hash_library,
    list_dependencies,
)
from cidery.text import SEGMENTERS, TOKENIZERS, get_language

FORMAT = 4
"""Version of the encoding of statistics; increase it after a change."""


@dataclass(frozen=True)
class CachedResult:
    """Cached statistics of one metric."""

    statistics: dict[str, float]
    signature: str


@dataclass(frozen=True)
class AgreementCache:
    """Cached results of protocols, and cached scores of judged captions."""

    disk: DiskCache

    def load_results(self, keys: Mapping[str, bytes]) -> dict[str, CachedResult]:
        """Return label -> result of the keys that are cached."""
        found = self.disk.load(keys.values())
        decoded = {key: _decode_result(content) for key, content in found.items()}
        return {label: result for label, key in keys.items() if (result := decoded.get(key))}

    def save_results(self, results: Mapping[bytes, CachedResult]) -> None:
        """Add results."""
        self.disk.save({key: json.dumps(asdict(one)).encode() for key, one in results.items()})

    def load_scores(self, keys: Mapping[str, bytes], count: int) -> dict[str, tuple[Floats, str]]:
        """Return label -> scores and signature of the keys that are cached."""
        found = self.disk.load(keys.values())
        decoded = {key: _decode_scores(content, count) for key, content in found.items()}
        return {label: scores for label, key in keys.items() if (scores := decoded.get(key))}

    def save_scores(self, scores: Mapping[bytes, tuple[Floats, str]]) -> None:
        """Add scores with their signatures."""
        self.disk.save(
            {
                key: signature.encode() + b"\0" + s.tobytes()
                for key, (s, signature) in scores.items()
            }
        )


def _decode_result(content: bytes) -> CachedResult | None:
    """Return the result; None for damaged bytes, which SQLite does not detect."""
    try:
        return CachedResult(**json.loads(content))
    except (TypeError, ValueError):
        return None


def _decode_scores(content: bytes, count: int) -> tuple[Floats, str] | None:
    signature, _, scores = content.partition(b"\0")
    if len(scores) != 8 * count:
        return None
    return np.frombuffer(scores, np.float64), signature.decode(errors="replace")


def open_cache(cache: bool | str | os.PathLike[str], settings: Settings) -> AgreementCache | None:
    """Open the cache of `evaluate`: True is the user's, a path another folder; None: no cache.

    Files of frequencies, and tokenizers of other packages, may change under their names: nothing is
    cached with them.
    """
    if cache is False or not _is_versioned(settings):
        return None
    disk = CACHES["agreement"]
    return AgreementCache(disk if cache is True else replace(disk, folder=Path(cache)))


def _is_versioned(settings: Settings) -> bool:
    """Return True if cidery's version determines tokenizer and frequencies."""
    name = settings.tokenizer
    if name is None and settings.language is not None:
        name = get_language(settings.language).tokenizer
    built_in = name is None or name in (*TOKENIZERS, *SEGMENTERS)
    return built_in and settings.frequencies in ("references", *SHIPPED)


def can_be_cached(metric: object) -> bool:
    """Return True if the content of a metric of cidery can be determined.

    Functions and metrics of other packages are not cached: their code may change.
    """
    if not isinstance(metric, Metric | Measure):
        return False
    if isinstance(metric, Metric):
        built_in = is_built_in(metric)
    else:
        built_in = type(metric).__module__.partition(".")[0] == "cidery"
    if not built_in or "unknown" in metric.data_settings().values():
        return False
    try:
        _hash_metric(metric)
    except UnknownContentError:
        return False
    return True


def _hash_metric(metric: Metric | Measure) -> str:
    """Return the hash of a metric or measure, with its data."""
    if isinstance(metric, Metric):
        return hash_content(list(list_content(metric)))
    kernel = getattr(metric, "kernel", None)
    names = [name for name in (kernel, getattr(kernel, "encoder", None)) if isinstance(name, str)]
    plugins = [found.value for name in names if (found := load_plugin("encoder", name))]
    return hash_content([metric, metric.settings(), metric.data_settings(), plugins])


def make_key(
    kind: Literal["result", "scores"],
    fingerprint: str,
    metric: Metric | Measure | None,
    settings: Mapping[str, Any],
) -> bytes:
    """Return the key of a metric's result or scores on judgments with this fingerprint.

    Without a metric, it is the key of the agreement of people among themselves.
    """
    parts = {
        "kind": kind,
        "judgments": fingerprint,
        "metric": metric and [metric.name, _hash_metric(metric)],
        "settings": settings,
        "library": hash_library(),
        "packages": list_dependencies(),
        "format": FORMAT,
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).digest()
