"""Faults of wording: what is said again, an end that is none, odd neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from cidery.metrics.claims.reading import Sentence
from cidery.metrics.contextual.wording import Wording

AGAIN = 4
"""So many words in a row that were said before are a repetition."""
DANGLING, ODDITY = 0.2, 0.5
"""What an end like `in the` costs, and a caption in which every word has an odd neighbour; as in
consensus."""


@dataclass(frozen=True)
class Faults:
    """Which words of a caption are at fault."""

    repeated: tuple[int, ...]
    """Those said before, in the same order, or twice in a row."""
    dangling: int | None
    """The last word, where a caption cannot end on it."""
    odd: tuple[int, ...]
    """The first of two neighbours that hardly ever stand side by side."""
    length: int

    @property
    def repetition(self) -> float:
        """The share of words that are said again."""
        return len(self.repeated) / max(1, self.length)

    @property
    def fluency(self) -> float:
        """1 without faults of grammar."""
        dangling = DANGLING * (self.dangling is not None)
        return (1 - dangling) * (1 - ODDITY * len(self.odd) / max(1, self.length))


def read_wording(references: Sequence[Sequence[Sentence]]) -> Wording:
    """Return how the references of an image are worded."""
    return Wording.read([[w for s in sentences for w in s] for sentences in references])


def find_faults(sentences: Sequence[Sentence], wording: Wording) -> Faults:
    """Return the faults of a caption."""
    words = [word for sentence in sentences for word in sentence]
    odd: list[int] = []
    first = 0
    for sentence in sentences:
        pairs = set(wording.find_faults(sentence).odd)
        odd += [first + n for n, pair in enumerate(pairwise(sentence)) if pair in pairs]
        first += len(sentence)
    ends = bool(sentences) and wording.find_faults(sentences[-1]).dangling is not None
    return Faults(find_repeated(words), len(words) - 1 if ends else None, tuple(odd), len(words))


def find_repeated(words: Sequence[str]) -> tuple[int, ...]:
    """Return the words that are said again.

    ```python
    find_repeated("a man and a man and a dog".split())   # (3, 4, 5)
    ```
    """
    again: set[int] = set()
    seen: set[tuple[str, ...]] = set()
    for place in range(len(words)):
        for size in (1, 2, 3):  # `a man a man`
            before = words[max(0, place - size + 1) : place + 1]
            if len(before) == size and list(words[place + 1 : place + 1 + size]) == list(before):
                again.update(range(place + 1, place + 1 + size))
        gram = tuple(words[place : place + AGAIN])
        if len(gram) == AGAIN and gram in seen:
            again.update(range(place, place + AGAIN))
        seen.add(gram)
    return tuple(sorted(again))
