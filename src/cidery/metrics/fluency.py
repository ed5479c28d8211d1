"""Fluency checks on tokens: repetition, captions that end in the middle, unlikely n-grams.

`fense` and `spider-fl` penalize broken ends and repeated content words (Zhou et al., ICASSP 2022);
`consensus` and `claims` also penalize n-grams that are unlikely in COCO's captions. All of them
excuse what a reference of the image has, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from types import MappingProxyType

import numpy as np

from cidery.frequencies import load_shipped
from cidery.metrics.base import TokenizedCandidates, TokenizedReferences
from cidery.runtime import Workspace
from cidery.statistics import Floats
from cidery.text import STOP_WORDS, TokenizedCaptions

_OPENING_WORDS = """
a an the this these those some another every each his its their my your our whose of in on at by to
with from for into onto upon and or nor but while as than that which who if because is are was were
be been being am has have had very through between among behind beside against
"""
OPENING_WORDS = frozenset(_OPENING_WORDS.split())
"""English words that must be followed by another word."""
PARTICLES = frozenset(["behind", "between", "by", "in", "on", "through"])
"""Opening words that may also end a caption: `a car passes by`, `an engine turns on`."""
REPEATABLE_WORDS = OPENING_WORDS | {
    *("it", "they", "there", "other", "then", "followed", "background", "before")
}
"""Words that do not count as repeated content."""
RULES_VERSION = 2
"""Version of the rules of `fense` and `spider-fl`, for signatures."""
FREQUENCIES = "coco-train2014"
"""Shipped document frequencies from which unlikely n-grams are found."""
MIN_EXPECTED = 30.0
"""Minimum expected number of images for an n-gram to be called unlikely."""
MAX_RATIO: Mapping[int, float] = MappingProxyType({2: 0.02, 3: 0.05})
"""Maximum ratio of observed to expected images of an unlikely n-gram, by n."""
PHRASE, LATER_PHRASE = 4, 6
"""Length of a repeated phrase in tokens: within a sentence, and across sentences."""
MIN_CONTENT_WORDS = 2
"""Minimum number of content words of a repeated phrase: `on top of a` may be repeated."""

_NO_COUNTS: Mapping[str, int] = MappingProxyType({})


def find_repeated(words: Sequence[str], allowed: Mapping[str, int] = _NO_COUNTS) -> tuple[int, ...]:
    """Return the positions of words that occur more often than `allowed`, at least once each.

    ```python
    find_repeated(["a", "dog", "and", "a", "dog"], {"a": 2})   # (4,)
    ```
    """
    counts: Counter[str] = Counter()
    found = []
    for position, word in enumerate(words):
        counts[word] += 1
        if counts[word] > max(1, allowed.get(word, 1)):
            found.append(position)
    return tuple(found)


def find_repeated_phrases(
    sentences: Sequence[Sequence[str]], normalize: Callable[[str], str | None]
) -> tuple[int, ...]:
    """Return the positions of words in repeated phrases, counted over all sentences.

    A phrase is one to three words repeated at once (`a man a man`), four words repeated in the same
    sentence, or six repeated from an earlier one. The latter two compare normalized words; words
    whose normal form is None are skipped.

    ```python
    find_repeated_phrases(["a man and a man and a dog".split()], str)   # (3, 4, 5, 6)
    ```
    """
    found: set[int] = set()
    earlier: set[tuple[str, ...]] = set()
    first = 0
    for words in sentences:
        for end in range(1, len(words)):
            for size in range(1, min(3, end) + 1):
                if words[end : end + size] == words[end - size : end]:
                    found.update(range(first + end, first + end + size))
        forms = [(i, form) for i, word in enumerate(words) if (form := normalize(word)) is not None]
        within: set[tuple[str, ...]] = set()
        own: set[tuple[str, ...]] = set()
        for size, seen, target in ((PHRASE, within, within), (LATER_PHRASE, earlier, own)):
            for start in range(len(forms) - size + 1):
                positions, phrase = zip(*forms[start : start + size], strict=True)
                content = sum(word not in STOP_WORDS["english"] for word in phrase)
                if phrase in seen and content >= MIN_CONTENT_WORDS:
                    found.update(first + position for position in positions)
                target.add(phrase)
        earlier |= own
        first += len(words)
    return tuple(sorted(found))


# Depends only on the words and on frequencies that are part of the package.
@lru_cache(maxsize=1 << 16)
def is_unlikely(*words: str) -> bool:
    """Return True if two or three words are common, but hardly ever adjacent in COCO's captions.

    The expected number of images is that of independent neighbors: df(ab)·df(bc) / df(b) for three
    words, df(a)·df(b) / N for two.

    ```python
    is_unlikely("the", "on"), is_unlikely("on", "the")   # (True, False)
    is_unlikely("riding", "a", "man"), is_unlikely("riding", "a", "horse")   # (True, False)
    ```
    """
    frequencies = load_shipped(FREQUENCIES, None)
    count, middle = frequencies.count, words[1:-1]
    total = max(1.0, count(middle)) if middle else frequencies.image_count
    expected = count(words[:-1]) * count(words[1:]) / total
    return expected >= MIN_EXPECTED and count(words) < MAX_RATIO[len(words)] * expected


@dataclass(frozen=True)
class Faults:
    """Positions of the faulty words of a caption."""

    repeated: tuple[int, ...]
    """Repeated words."""
    dangling: int | None
    """Last word of a sentence that cannot end there."""
    unlikely: tuple[int, ...]
    """First word of each unlikely n-gram."""
    length: int
    """Number of words."""

    @property
    def repetition(self) -> float:
        """Share of repeated words."""
        return len(self.repeated) / max(1, self.length)

    @property
    def oddity(self) -> float:
        """Number of unlikely n-grams per word."""
        return len(self.unlikely) / max(1, self.length)


@dataclass(frozen=True, eq=False)
class ReferenceWording:
    """Counts, bigrams and last words of the references of one image, which are no faults."""

    counts: Mapping[str, int]
    """Maximum count of each word in a reference."""
    pairs: frozenset[tuple[str, str]]
    ends: frozenset[str]

    @classmethod
    def build(cls, references: Sequence[Sequence[str]]) -> ReferenceWording:
        """Collect the wording of tokenized references."""
        counts: Counter[str] = Counter()
        for words in references:
            counts |= Counter(words)
        pairs = frozenset(pair for words in references for pair in pairwise(words))
        return cls(counts, pairs, frozenset(words[-1] for words in references if words))

    def find_dangling(self, words: Sequence[str]) -> int | None:
        """Return the position of the last word if it is an opening word and ends no reference."""
        if words and words[-1] in OPENING_WORDS and words[-1] not in self.ends:
            return len(words) - 1
        return None

    def find_unlikely(self, words: Sequence[str]) -> tuple[int, ...]:
        """Return the positions of unlikely bigrams that no reference has."""
        return tuple(
            position
            for position, pair in enumerate(pairwise(words))
            if pair not in self.pairs and is_unlikely(*pair)
        )

    def find_faults(self, words: Sequence[str]) -> Faults:
        """Return repeated words, a dangling end and unlikely bigrams of a candidate."""
        return Faults(
            find_repeated(words, self.counts),
            self.find_dangling(words),
            self.find_unlikely(words),
            len(words),
        )


def is_broken(words: Sequence[str]) -> bool:
    """Return True if a caption ends on a word that must be followed by another.

    ```python
    is_broken(["a", "dog", "barks", "and"])   # True
    ```
    """
    if not words or words[-1] not in OPENING_WORDS:
        return False
    last = tuple(words[-2:])
    return last == ("followed", "by") or (words[-1] not in PARTICLES and last != ("one", "another"))


def measure_repetition(words: Sequence[str]) -> float:
    """Return the share of content words that are repeated, in [0, 1).

    ```python
    measure_repetition(["a", "dog", "barks", "and", "a", "dog", "howls"])   # 0.25
    ```
    """
    content = [word for word in words if word not in REPEATABLE_WORDS]
    distinct = len(content) - len(find_repeated(content))
    return 1 - distinct / len(content) if content else 0.0


def measure_faults(work: Workspace, captions: TokenizedCaptions) -> Floats:  # noqa: ARG001
    """Return is_broken (0 or 1) and repetition of each caption: float64[captions, 2]."""
    words = captions.captions.tokens()
    faults = [(float(is_broken(caption)), measure_repetition(caption)) for caption in words]
    return np.asarray(faults, np.float64).reshape(-1, 2)


def measure_reference_faults(work: Workspace, references: TokenizedReferences) -> Floats:
    """Return the maximum faults of each image's references: float64[images, 2]."""
    faults = measure_faults(work, references.captions)
    starts = references.image_offsets[:-1].astype(np.int64)
    highest: Floats = np.maximum.reduceat(faults, starts)
    return highest


def measure_excess_faults(
    candidates: TokenizedCandidates, reference_faults: Floats, work: Workspace
) -> Floats:
    """Return the faults of candidates beyond those of their references: float64[captions, 2]."""
    faults = work.once(measure_faults, candidates.captions)
    excess: Floats = np.maximum(0.0, faults - reference_faults[candidates.images])
    return excess


def penalize(faults: Floats, penalty: float, repetition: float) -> Floats:
    """Return the factor of each score: (1 - penalty·broken)·(1 - repetition·repeated)."""
    factors: Floats = (1 - penalty * faults[:, 0]) * (1 - repetition * faults[:, 1])
    return factors
