"""What embeddings do not tell: how much is said, repetition, a broken end, odd neighbors."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from cidery.frequencies import load_shipped

_OPENING = """
a an the this these those some another every each his its their my your our whose of in on at by to
with from for into onto upon and or nor but while as than that which who if because is are was were
be been being am has have had very through between among behind beside against
"""
OPENING_WORDS = frozenset(_OPENING.split())
"""Words after which an English caption has to go on."""

COUNTED_ON = "coco-train2014"
"""The shipped document frequencies that tell which words are rare, and which stand side by side."""
EXPECTED = 30.0
"""In how many images a pair should occur by chance, at least, before its absence says anything."""
MOST_TOLD = 1.25
"""Telling more than this times what references tell is not rewarded any further."""
RARELY = 0.02
"""A pair is odd that occurs in less than this share of the images in which chance would put it."""


@dataclass(frozen=True)
class Faults:
    """What is wrong with the wording of a caption, each fault as a share of at most 1."""

    short: float
    """How much less it tells than its references on average; down to -0.25 where it is more."""
    repeated: tuple[str, ...]
    """Words said more often than in any reference."""
    dangling: str | None
    """The last word, if a caption cannot end on it and no reference does."""
    odd: tuple[tuple[str, str], ...]
    """Neighbors, common words each, that hardly ever stand side by side."""
    length: int
    """How many words it has."""

    @property
    def repetition(self) -> float:
        """The share of words that were said often enough before."""
        return len(self.repeated) / max(1, self.length)

    @property
    def oddity(self) -> float:
        """The number of odd pairs to that of words."""
        return len(self.odd) / max(1, self.length)


@dataclass(frozen=True, eq=False)
class Wording:
    """How the references of one image are worded."""

    counts: Counter[str]
    """How often a reference says each word, at most."""
    pairs: frozenset[tuple[str, str]]
    ends: frozenset[str]
    information: float
    """What a reference tells, on average: the summed weights of its words, each counted once."""
    rarity: float
    """The power of rarity in the weight of a word."""

    @classmethod
    def read(cls, references: Sequence[Sequence[str]], rarity: float = 1.0) -> Wording:
        """Read the words of an image's references."""
        counts: Counter[str] = Counter()
        for words in references:
            counts |= Counter(words)
        return cls(
            counts,
            frozenset(pair for words in references for pair in pairwise(words)),
            frozenset(words[-1] for words in references if words),
            sum(inform(words, rarity) for words in references) / len(references),
            rarity,
        )

    def find_faults(self, words: Sequence[str]) -> Faults:
        """Return the faults of a candidate's wording."""
        again: list[str] = []
        for word, count in Counter(words).items():
            again += [word] * (count - max(1, self.counts[word]))
        end = words[-1] if words else ""
        told = inform(words, self.rarity)
        return Faults(
            1 - min(MOST_TOLD, told / self.information) if self.information else 0.0,
            tuple(again),
            end if end in OPENING_WORDS and end not in self.ends else None,
            tuple(pair for pair in pairwise(words) if pair not in self.pairs and is_odd(*pair)),
            len(words),
        )


def find_repeated(words: Sequence[str], repeated: Sequence[str]) -> list[int]:
    """Return the places of words that were said often enough before: the last ones."""
    left = Counter(repeated)
    places = []
    for place in reversed(range(len(words))):
        if left[words[place]] > 0:
            left[words[place]] -= 1
            places.append(place)
    return places[::-1]


def inform(words: Sequence[str], rarity: float) -> float:
    """Return what words tell: their summed weights, each word counted once."""
    return math.fsum(weigh(word, rarity) for word in dict.fromkeys(words))


def weigh(word: str, rarity: float) -> float:
    """Return the weight of a word: its rarity to that power, in [0, 1]; signs have none."""
    return find_rarity(word) ** rarity if any(map(str.isalnum, word)) else 0.0


# It depends on the word and on shipped frequencies, which are part of the package.
@lru_cache(maxsize=1 << 16)
def find_rarity(word: str) -> float:
    """Return how rare a word is in COCO's captions: log(N / n) / log N, in [0, 1].

    N is the number of images, n that of images whose captions have the word, at least 1.

    ```python
    [round(find_rarity(word), 2) for word in ("the", "dog", "qwx")]   # [0.03, 0.29, 1.0]
    ```
    """
    frequencies = load_shipped(COUNTED_ON, None)
    images = frequencies.image_count
    return math.log(images / max(1, frequencies.count([word]))) / math.log(images)


# It depends on the two words and on shipped frequencies, which are part of the package.
@lru_cache(maxsize=1 << 16)
def is_odd(word: str, following: str) -> bool:
    """Tell whether two common words hardly ever stand side by side in COCO's captions.

    ```python
    is_odd("the", "on"), is_odd("on", "the")   # (True, False)
    ```
    """
    frequencies = load_shipped(COUNTED_ON, None)
    expected = frequencies.count([word]) * frequencies.count([following]) / frequencies.image_count
    return expected >= EXPECTED and frequencies.count([word, following]) < RARELY * expected
