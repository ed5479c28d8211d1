"""Claim: one statement of a caption that can be true or false."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from cidery.metrics.claims.word_lists import PLACES

Kind: TypeAlias = Literal["object", "attribute", "count", "relation", "place", "text", "nothing"]
"""`nothing` is a sentence without any visual statement."""
PREPOSITIONS = PLACES | {"of", "with", "without", "for", "from", "to", "as", "like", "next", "out"}
MANY = -1
"""Number of a plural object without numeral."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement; `a brown dog` has two: there is a dog, and it is brown."""

    kind: Kind
    parts: tuple[str, ...]
    """Lemmas: (dog,), (dog, brown), (dog, three), (dog, chase, cat), (dog, sit on, mat)."""
    words: tuple[tuple[int, ...], ...]
    """Positions of the words of each part in the caption."""
    negated: bool = False
    """True for negations: `no dog`, `the dog is not brown`."""
    number: int = 0
    """Number of an object; `MANY`: plural, 0: unknown."""

    @property
    def own(self) -> int:
        """Index of the part that it adds: the attribute or relation, or the object itself."""
        return min(1, len(self.parts) - 1)

    @property
    def has_verb(self) -> bool:
        """True for relations with a verb."""
        words = self.parts[1].split() if len(self.parts) == 3 else []
        return len(words) > 0 and words[0] not in PREPOSITIONS

    def __str__(self) -> str:
        text = {
            "nothing": "(nothing)",
            "text": f'"{self.parts[0]}"',
            "attribute": ": ".join(self.parts),
            "count": " ".join(reversed(self.parts)),
        }.get(self.kind, " ".join(self.parts))
        return f"not {text}" if self.negated else text
