"""Matches of n-grams, word pairs and subsequences between captions, by word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Words: TypeAlias = Sequence[str]
Group: TypeAlias = tuple[Hashable, tuple[int, ...]]
"""An item that is compared, such as an n-gram, and the indexes of its words."""

MAX_COMPARISONS = 1_000_000
"""Maximum number of word comparisons; scores of longer captions are not split over words."""


@dataclass(frozen=True, eq=False)
class Matches:
    """Parts of a word's groups that match and that do not match, for each word of a caption."""

    gains: list[float]
    losses: list[float]

    @classmethod
    def count(
        cls, words: int, groups: Sequence[Group], matched: Mapping[Hashable, float]
    ) -> Matches:
        """Divide the matches of each group among its occurrences, and these among their words.

        `matched` is the number of occurrences of each group that match.
        """
        found = cls([0.0] * words, [0.0] * words)
        counts = Counter(key for key, _ in groups)
        for key, places in groups:
            share = min(1.0, matched.get(key, 0) / counts[key])
            for place in places:
                found.gains[place] += share / len(places)
                found.losses[place] += (1 - share) / len(places)
        return found


def list_ngrams(words: Words, n: int) -> list[Group]:
    """Return the n-grams of a caption with the indexes of their words."""
    return [
        (tuple(words[start : start + n]), tuple(range(start, start + n)))
        for start in range(len(words) - n + 1)
    ]


def count_max(groups: Sequence[Group], references: Sequence[Words], n: int) -> dict[Hashable, int]:
    """Return the largest count of each of a caption's n-grams in a reference."""
    most: dict[Hashable, int] = {key: 0 for key, _ in groups}
    for words in references:
        ngrams = zip(*(words[start:] for start in range(n)), strict=False)
        for key, count in Counter(filter(most.__contains__, ngrams)).items():
            most[key] = max(most[key], count)
    return most


def list_pairs(words: Words, skip: int | None) -> list[Group]:
    """Return the pairs of words with at most `skip` words between them, with their indexes."""
    reach = len(words) if skip is None else skip + 2
    return [
        ((words[first], words[second]), (first, second))
        for first in range(len(words))
        for second in range(first + 1, min(len(words), first + reach))
    ]


def count_keys(groups: Sequence[Group]) -> Counter[Hashable]:
    """Count equal groups."""
    return Counter(key for key, _ in groups)


def find_missing_words(words: Words, counts: Counter[str]) -> list[bool]:
    """Return, by word of a reference, True if a caption with these counts lacks it.

    Of a word that the caption has less often, the last occurrences are missing.
    """
    left = Counter(counts)
    missing = []
    for word in words:
        left[word] -= 1
        missing.append(left[word] < 0)
    return missing


def find_common(words: Words, other: Words) -> Iterator[tuple[int, int]]:
    """Yield the indexes of a longest common subsequence in both captions, from the end.

    An integer holds a row of the table, a bit per word: Hyyrö, "Bit-parallel LCS-length computation
    revisited", 2004.
    """
    masks: dict[str, int] = {}
    for place, word in enumerate(words):
        masks[word] = masks.get(word, 0) | 1 << place
    full = (1 << len(words)) - 1
    row, rows = full, []
    for word in other:
        shared = row & masks.get(word, 0)
        row = ((row + shared) | (row - shared)) & full
        rows.append(row)
    place, line = len(words) - 1, len(other) - 1
    while place >= 0 and line >= 0:
        if rows[line] >> place & 1:  # no word was gained here
            place -= 1
        elif line and not rows[line - 1] >> place & 1:  # nor by this word of the other
            line -= 1
        else:
            yield place, line
            place, line = place - 1, line - 1


def weigh_common(
    words: Words, other: Words, exponent: float
) -> tuple[list[tuple[int, int]], list[float]]:
    """Return the indexes of ROUGE-W's common subsequence in both captions, and their weights."""
    weights = [[0.0] * (len(other) + 1) for _ in range(len(words) + 1)]
    runs = [[0] * (len(other) + 1) for _ in range(len(words) + 1)]
    for i, word in enumerate(words, 1):
        for j, there in enumerate(other, 1):
            if word == there:
                run = runs[i - 1][j - 1]
                weights[i][j] = weights[i - 1][j - 1] + (run + 1) ** exponent - run**exponent
                runs[i][j] = run + 1
            else:
                weights[i][j] = max(weights[i - 1][j], weights[i][j - 1])
    places, added = [], []
    i, j = len(words), len(other)
    while i and j:
        if words[i - 1] == other[j - 1]:
            places.append((i - 1, j - 1))
            added.append(weights[i][j] - weights[i - 1][j - 1])
            i, j = i - 1, j - 1
        elif weights[i - 1][j] >= weights[i][j - 1]:
            i -= 1
        else:
            j -= 1
    return places, added


@dataclass(frozen=True, eq=False)
class Comparison:
    """Matches between a caption and one of its references, by word of each."""

    candidate: Matches
    reference: Matches
    precision: float
    recall: float


def count_common(
    words: Words, reference: Words, places: Sequence[tuple[int, int]], added: Sequence[float]
) -> tuple[Matches, Matches]:
    """Return the matches of each word in a common subsequence: 0 for words outside it."""
    sides = []
    for side, length in enumerate((len(words), len(reference))):
        matches = Matches([0.0] * length, [1.0] * length)
        for pair, more in zip(places, added, strict=True):
            matches.gains[pair[side]] = more
            matches.losses[pair[side]] = 0.0
        sides.append(matches)
    return sides[0], sides[1]
