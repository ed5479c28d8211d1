"""What a caption states, as claims that can be right or wrong one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from cidery.metrics.claims.word_lists import PLACES

Kind: TypeAlias = Literal["object", "attribute", "count", "relation", "place", "text", "nothing"]
"""`nothing` is a sentence that states nothing that could be seen."""
PREPOSITIONS = PLACES | {"of", "with", "without", "for", "from", "to", "as", "like", "next", "out"}
MANY = -1
"""Several, as the number of a thing."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement: `a brown dog` makes two, that there is a dog and that it is brown."""

    kind: Kind
    parts: tuple[str, ...]
    """Lemmas: (dog,), (dog, brown), (dog, three), (dog, chase, cat), (dog, sit on, mat)."""
    words: tuple[tuple[int, ...], ...]
    """By part: which words of the caption say it."""
    negated: bool = False
    """Whether it is denied: `no dog`, `the dog is not brown`."""
    number: int = 0
    """Of an object: how many are said to be there; `MANY`: several, 0: it does not say."""

    @property
    def own(self) -> int:
        """Which part it is about: what it says of its object, or the object itself."""
        return min(1, len(self.parts) - 1)

    @property
    def has_verb(self) -> bool:
        """Whether it tells what one thing does to, or at, another."""
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
