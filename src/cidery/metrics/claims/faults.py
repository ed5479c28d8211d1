"""Faults of wording: what is said again, an end that is none, odd neighbors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from cidery.frequencies import load_shipped
from cidery.metrics.claims.reading import PLAIN_COLORS, Sentence
from cidery.metrics.claims.words import NUMERALS
from cidery.metrics.contextual.wording import COUNTED_ON, EXPECTED, Wording
from cidery.text.tokenizers import STOP_WORDS

AGAIN, AGAIN_LATER = 4, 6
"""So many words in a row are said again: those of the same sentence, those of an earlier one."""
TELLING = 2
"""So many of them must say something: `on top of a` may be said twice."""
RARELY = 0.05
"""Three words are odd that occur in less than this share of the images that chance puts them in."""
DANGLING, ODDITY = 0.2, 0.5
"""What an end like `in the` costs, and a caption in which every word has an odd neighbor; as in
consensus."""


@dataclass(frozen=True)
class Faults:
    """Which words of a caption are at fault."""

    repeated: tuple[int, ...]
    """Those said before, in the same order, or twice in a row."""
    dangling: int | None
    """The last word of a sentence, where none can end on it."""
    odd: tuple[int, ...]
    """The first of two neighbors that hardly ever stand side by side."""
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
    first, dangling = 0, None
    for sentence in sentences:
        found = wording.find_faults(sentence)
        pairs = set(found.odd)
        for place, pair in enumerate(pairwise(sentence)):
            if pair in pairs or is_odd_triple(*pair, *sentence[place + 2 : place + 3]):
                odd.append(first + place)
        first += len(sentence)
        if found.dangling is not None:
            dangling = first - 1
    return Faults(find_repeated(sentences), dangling, tuple(odd), len(words))


# It depends on the words and on shipped frequencies, which are part of the package.
@lru_cache(maxsize=1 << 16)
def is_odd_triple(word: str, middle: str, last: str = "") -> bool:
    """Tell whether three words hardly ever stand in a row in COCO's captions, though two do.

    ```python
    is_odd_triple("riding", "a", "man"), is_odd_triple("riding", "a", "horse")   # (True, False)
    ```
    """
    if not last:
        return False
    count = load_shipped(COUNTED_ON, None).count
    expected = count([word, middle]) * count([middle, last]) / max(1.0, count([middle]))
    return expected >= EXPECTED and count([word, middle, last]) < RARELY * expected


def find_repeated(sentences: Sequence[Sentence]) -> tuple[int, ...]:
    """Return the words that are said again.

    ```python
    find_repeated(["a man and a man and a dog".split()])   # (3, 4, 5, 6)
    ```
    """
    again: set[int] = set()
    earlier: set[tuple[str, ...]] = set()
    first = 0
    for words in sentences:
        for place in range(len(words)):
            for size in (1, 2, 3):  # `a man a man`
                before = words[max(0, place - size + 1) : place + 1]
                if len(before) == size and words[place + 1 : place + 1 + size] == before:
                    again.update(range(first + place + 1, first + place + 1 + size))
        # What is said again with another number, another color or a denial is said again.
        kept = [place for place, word in enumerate(words) if word not in ("not", "never")]
        shapes = [_find_shape(words[place]) for place in kept]
        own: set[tuple[str, ...]] = set()
        for size, seen in ((AGAIN, set()), (AGAIN_LATER, earlier)):
            for start in range(len(kept) - size + 1):
                gram = tuple(shapes[start : start + size])
                telling = sum(word not in STOP_WORDS["english"] for word in gram)
                if gram in seen and telling >= TELLING:
                    again.update(first + place for place in kept[start : start + size])
                (seen if size == AGAIN else own).add(gram)
        earlier |= own
        first += len(words)
    return tuple(sorted(again))


def _find_shape(word: str) -> str:
    if word in NUMERALS or word.isdecimal():
        return "#"
    if word in PLAIN_COLORS:
        return "@"
    return "a" if word in ("no", "an", "the") else word
