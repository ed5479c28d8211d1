"""Results kept on disk, so that adding a metric computes only that one.

A result is one small JSON file in the cache folder, named by a digest of everything that it depends
on. A file that cannot be read counts as missing.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cidery._version import __version__
from cidery.diversity import Measure
from cidery.frequencies import SHIPPED
from cidery.meta.judgments import Dataset
from cidery.meta.score_cache import ScoreCache, can_be_named
from cidery.meta.settings import Settings
from cidery.metrics import Metric, is_built_in
from cidery.storage import cache_directory, write_atomically
from cidery.text import SEGMENTERS, TOKENIZERS, choose_tokenizer, get_language

STATISTICS = 2
"""Which statistics protocols give; another number after a change, so that none are mixed."""


@dataclass(frozen=True)
class KeptResult:
    """What is kept of one metric."""

    statistics: dict[str, float]
    signature: str


@dataclass(frozen=True)
class ResultCache:
    """Results by what they depend on."""

    folder: Path | None
    """None: nothing is kept."""

    def find_keys(
        self, dataset: Dataset, metrics: Mapping[str, Any], settings: Settings
    ) -> dict[str, str]:
        """Return label -> key of the metrics whose results may be kept."""
        if self.folder is None:
            return {}
        return {
            label: make_key(dataset, metric, settings)
            for label, metric in metrics.items()
            if _can_be_kept(metric)
        }

    def make_people_key(self, dataset: Dataset, settings: Settings) -> str:
        """Return the key of what people themselves reach."""
        return _digest(dataset, ["people"], settings)

    def load(self, key: str) -> KeptResult | None:
        """Return a result, or None where there is none that can be read."""
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
        return KeptResult(statistics, content["signature"])

    def save(self, key: str, result: KeptResult) -> None:
        """Keep a result; a folder that cannot be written to keeps nothing."""
        if self.folder is None:
            return
        content = json.dumps({"key": key, **asdict(result)})
        with suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            write_atomically(self.folder / f"{key}.json", content.encode())


def open_cache(cache: bool | str | os.PathLike[str], settings: Settings) -> ResultCache:
    """Return the cache of `evaluate`: True is the user's, a path another one.

    A file of frequencies and another package's tokenizer may change under their names, and tests
    need every caption's score, so such results are not kept.
    """
    if cache is False or not _are_own(settings) or settings.tests:
        return ResultCache(None)
    return ResultCache(cache_directory() / "meta" if cache is True else Path(cache))


def open_score_cache(cache: bool | str | os.PathLike[str], settings: Settings) -> ScoreCache | None:
    """Return where scores are kept, beside results; None: nowhere."""
    if cache is False or not _are_own(settings):
        return None
    folder = cache_directory() / "meta" if cache is True else Path(cache)
    return ScoreCache(folder.with_name(f"{folder.name}-scores"))


def _are_own(settings: Settings) -> bool:
    """Tell whether tokenizer and frequencies are those of this version."""
    name = settings.tokenizer
    if name is None and settings.language is not None:
        name = get_language(settings.language).tokenizer
    own = name is None or name in (*TOKENIZERS, *SEGMENTERS)
    return own and settings.frequencies in ("references", *SHIPPED)


def make_key(dataset: Dataset, metric: Metric | Measure, settings: Settings) -> str:
    """Return a digest of data, metric, settings and version."""
    return _digest(dataset, [metric.name, metric.settings() | metric.data_settings()], settings)


def _digest(dataset: Dataset, metric: list[Any], settings: Settings) -> str:
    parts = {
        "data": dataset.fingerprint,
        "metric": metric,
        "settings": asdict(settings),
        # With the segmenter's version.
        "tokenizer": choose_tokenizer(settings.tokenizer, settings.language).id,
        "version": __version__,
        "statistics": STATISTICS,
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


def _can_be_kept(metric: object) -> bool:
    """Tell whether the version in the key covers the metric's code, as it does for our own only.

    A function that is an encoder or a kernel may change under its name: data are `unknown`.
    """
    if isinstance(metric, Metric):
        return is_built_in(metric) and can_be_named(metric)
    ours = type(metric).__module__.partition(".")[0] == "cidery"
    return isinstance(metric, Measure) and ours and can_be_named(metric)
