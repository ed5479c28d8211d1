"""What nonsense is, by rules that no reward here reads: broken ends, repetition, odd neighbors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal, TypeAlias, get_args

import numpy as np

from cidery.frequencies import DocumentFrequencies
from cidery.metrics.contextual.wording import OPENING_WORDS
from cidery.metrics.fluency import is_broken, share_repeated
from cidery.statistics import Floats

Kind: TypeAlias = Literal["broken", "repeated", "scrambled"]
KINDS: tuple[Kind, ...] = get_args(Kind)
MOST_REPEATED = 1 / 3
"""From this share of repeated words of content on, a caption is nonsense."""
MOST_UNSEEN = 1 / 2
"""From this share of pairs that nobody ever wrote on, a caption is nonsense."""
NEVER = 1.0
"""How far a caption is from nonsense that has too few words for it."""


@dataclass(frozen=True, eq=False)
class Nonsense:
    """The rules, for one collection of references.

    - *broken*: the last word is one after which an English caption has to go on, as in "in front of
      a", and no reference of any image ends in the same two words.
    - *repeated*: at least a third of its words of content were said before in it, and more than in
      any reference of the image.
    - *scrambled*: at least half of its pairs of neighboring words stand side by side in no
      reference of any image, and in no image of the document frequencies.
    """

    references: Sequence[Sequence[Sequence[str]]]
    """The words of all references of each image."""
    frequencies: DocumentFrequencies | None = None
    """More captions that say which pairs people write."""
    _pairs: frozenset[tuple[str, str]] = field(init=False)
    _ends: frozenset[tuple[str, ...]] = field(init=False)
    _forgiven: Sequence[float] = field(init=False)
    _known: dict[tuple[str, str], bool] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        texts = [text for group in self.references for text in group]
        pairs = frozenset(pair for text in texts for pair in pairwise(text))
        forgiven = [max(map(share_repeated, group), default=0.0) for group in self.references]
        object.__setattr__(self, "_pairs", pairs)
        object.__setattr__(self, "_ends", frozenset(tuple(text[-2:]) for text in texts))
        object.__setattr__(self, "_forgiven", forgiven)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds that these references can have: broken ends are known of English only."""
        words = {word for group in self.references for text in group for word in text}
        return KINDS if words & OPENING_WORDS else KINDS[1:]

    def is_broken(self, words: Sequence[str]) -> bool:
        """Tell whether a caption ends where it has to go on; "people looking on" need not."""
        return is_broken(words) and tuple(words[-2:]) not in self._ends

    def share_unseen(self, words: Sequence[str]) -> float:
        """Return the share of pairs of neighboring words that nobody ever wrote."""
        pairs = list(pairwise(words))
        return sum(map(self._is_unseen, pairs)) / len(pairs) if pairs else 0.0

    def _is_unseen(self, pair: tuple[str, str]) -> bool:
        known = self._known.get(pair)
        if known is None:
            counted = self.frequencies is not None and self.frequencies.count(pair) > 0
            known = self._known[pair] = not counted and pair not in self._pairs
        return known

    def distance(self, kind: Kind | None, image: int, words: Sequence[str]) -> float:
        """Return how far a caption is from nonsense of that kind; 0: it is. None asks for none."""
        if kind is None:
            return 0.0
        if kind == "broken":
            return 0.0 if self.is_broken(words) else NEVER
        if kind == "repeated":
            share = share_repeated(words)
            allowed = self._forgiven[image]
            return max(0.0, MOST_REPEATED - share) + (NEVER if share <= allowed else 0.0)
        return max(0.0, MOST_UNSEEN - self.share_unseen(words)) if len(words) > 1 else NEVER

    def is_nonsense(self, image: int, words: Sequence[str]) -> bool:
        """Tell whether a caption is nonsense of any kind."""
        return any(self.distance(kind, image, words) == 0 for kind in KINDS)

    def measure(
        self, images: Sequence[int], captions: Sequence[Sequence[str]]
    ) -> Mapping[str, Floats]:
        """Return each caption's faults, by name: three rules, and whether it is nonsense at all."""
        faults = {
            "broken": [float(self.is_broken(words)) for words in captions],
            "repeated": [share_repeated(words) for words in captions],
            "unseen": [self.share_unseen(words) for words in captions],
            "nonsense": [
                float(self.is_nonsense(image, words))
                for image, words in zip(images, captions, strict=True)
            ],
        }
        return {name: np.asarray(values, np.float64) for name, values in faults.items()}
