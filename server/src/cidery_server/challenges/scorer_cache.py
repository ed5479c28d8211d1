"""Scorers with prepared references, and a cache of them for workers."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TypeAlias

from cidery.corpus import Corpus, ImageId
from cidery.metrics import Metric
from cidery.scoring import Pipeline, Scorer
from cidery_server.challenges.models import HiddenReferences

Labeled: TypeAlias = tuple[tuple[str, Metric], ...]
MAX_SCORERS = 32


def build_scorer(
    references: Mapping[ImageId, Sequence[str]],
    metrics: Mapping[str, Metric],
    frequencies: str,
    language: str = "",
) -> Scorer:
    """Prepare references for metrics."""
    pipeline = Pipeline.choose(
        metrics, frequencies=frequencies, language=language or None, threads=1
    )
    return pipeline.prepare(Corpus.from_references(references))


@dataclass(frozen=True)
class ScorerKey:
    """Everything that a scorer is built from."""

    references: bytes
    """A digest of the images' ids and of the references themselves."""
    metrics: Labeled
    data: tuple[tuple[str, str], ...]
    """Digests of files that the metrics read."""
    frequencies: str
    language: str

    @classmethod
    def of(cls, references: HiddenReferences, metrics: Labeled) -> ScorerKey:
        """Return the key for the current references."""
        challenge = references.challenge
        stored = (challenge.packed_images, references.packed_references)
        digests = b"".join(sha256(packed).digest() for packed in stored)
        data = tuple(pair for _, metric in metrics for pair in metric.data_settings().items())
        return cls(digests, metrics, data, challenge.frequencies, challenge.language)


@dataclass
class ScorerCache:
    """The scorers that a worker used last; the next submission is likely to need them again."""

    most: int = MAX_SCORERS
    _scorers: OrderedDict[ScorerKey, Scorer] = field(default_factory=OrderedDict)

    def __len__(self) -> int:
        return len(self._scorers)

    def get(self, references: HiddenReferences, metrics: Labeled) -> Scorer:
        """Return the scorer of these references and metrics; build it if it is not cached."""
        key = ScorerKey.of(references, metrics)
        if key not in self._scorers:
            challenge = references.challenge
            by_image = dict(zip(challenge.images, references.references, strict=True))
            self._scorers[key] = build_scorer(
                by_image, dict(metrics), challenge.frequencies, challenge.language
            )
        self._scorers.move_to_end(key)
        while len(self._scorers) > self.most:
            self._scorers.popitem(last=False)
        return self._scorers[key]
