"""Rules for nonsense: broken endings, repetition, scrambled words. No reward uses them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal, TypeAlias, get_args

import numpy as np

from cidery.frequencies import DocumentFrequencies
from cidery.metrics.fluency import OPENING_WORDS, is_broken, measure_repetition
from cidery.statistics import Floats

NonsenseKind: TypeAlias = Literal["broken", "repeated", "scrambled"]
NONSENSE_KINDS: tuple[NonsenseKind, ...] = get_args(NonsenseKind)
"""Names of the kinds of nonsense."""
MIN_REPEATED = 1 / 3
"""Minimum share of repeated content words of a repeated caption."""
MIN_UNSEEN = 1 / 2
"""Minimum share of unseen word pairs of a scrambled caption."""
MAX_DISTANCE = 1.0
"""Distance of a caption that has too few words for a rule."""


@dataclass(frozen=True, eq=False)
class Nonsense:
    """Nonsense rules for one collection of references.

    - *broken*: the last word cannot end an English caption, as in "in front of a", and no
      reference of any image ends in the same two words.
    - *repeated*: at least a third of the content words repeat an earlier word of the caption, and
      more than in any reference of the image.
    - *scrambled*: at least half of the bigrams occur in no reference of any image, and in no image
      of the document frequencies.
    """

    references: Sequence[Sequence[Sequence[str]]]
    """Tokens of all references of each image."""
    frequencies: DocumentFrequencies | None = None
    """Further captions whose bigrams count as seen."""
    _pairs: frozenset[tuple[str, str]] = field(init=False)
    _ends: frozenset[tuple[str, ...]] = field(init=False)
    _allowed: Sequence[float] = field(init=False)
    _known: dict[tuple[str, str], bool] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        texts = [text for group in self.references for text in group]
        pairs = frozenset(pair for text in texts for pair in pairwise(text))
        allowed = [max(map(measure_repetition, group), default=0.0) for group in self.references]
        object.__setattr__(self, "_pairs", pairs)
        object.__setattr__(self, "_ends", frozenset(tuple(text[-2:]) for text in texts))
        object.__setattr__(self, "_allowed", allowed)

    @property
    def kinds(self) -> tuple[NonsenseKind, ...]:
        """Kinds for the language of these references; *broken* supports English only."""
        words = {word for group in self.references for text in group for word in text}
        return NONSENSE_KINDS if words & OPENING_WORDS else NONSENSE_KINDS[1:]

    def is_broken(self, words: Sequence[str]) -> bool:
        """Return True for a broken ending; a reference's ending is not broken."""
        return is_broken(words) and tuple(words[-2:]) not in self._ends

    def share_unseen(self, words: Sequence[str]) -> float:
        """Return the share of bigrams that occur in no reference."""
        pairs = list(pairwise(words))
        return sum(map(self._is_unseen, pairs)) / len(pairs) if pairs else 0.0

    def _is_unseen(self, pair: tuple[str, str]) -> bool:
        known = self._known.get(pair)
        if known is None:
            counted = self.frequencies is not None and self.frequencies.count(pair) > 0
            known = self._known[pair] = not counted and pair not in self._pairs
        return known

    def distance(self, kind: NonsenseKind | None, image: int, words: Sequence[str]) -> float:
        """Return the distance of a caption from nonsense of that kind, 0 to 2; 0 for kind None."""
        if kind is None:
            return 0.0
        if kind == "broken":
            return 0.0 if self.is_broken(words) else MAX_DISTANCE
        if kind == "repeated":
            share = measure_repetition(words)
            is_allowed = share <= self._allowed[image]
            return max(0.0, MIN_REPEATED - share) + (MAX_DISTANCE if is_allowed else 0.0)
        return max(0.0, MIN_UNSEEN - self.share_unseen(words)) if len(words) > 1 else MAX_DISTANCE

    def is_nonsense(self, image: int, words: Sequence[str]) -> bool:
        """Return True if a caption is nonsense of any kind."""
        return any(self.distance(kind, image, words) == 0 for kind in NONSENSE_KINDS)

    def measure(
        self, images: Sequence[int], captions: Sequence[Sequence[str]]
    ) -> Mapping[str, Floats]:
        """Return `broken`, `repeated`, `unseen` and `nonsense` of each caption."""
        faults = {
            "broken": [float(self.is_broken(words)) for words in captions],
            "repeated": [measure_repetition(words) for words in captions],
            "unseen": [self.share_unseen(words) for words in captions],
            "nonsense": [
                float(self.is_nonsense(image, words))
                for image, words in zip(images, captions, strict=True)
            ],
        }
        return {name: np.asarray(values, np.float64) for name, values in faults.items()}
