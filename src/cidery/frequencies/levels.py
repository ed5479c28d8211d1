"""A trie of n-grams in flat arrays: a level per order, sorted by (parent, word)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Trie: TypeAlias = "tuple[tuple[str, ...], tuple[Level, ...]]"
"""The words in order of UTF-8 bytes, and the levels."""
_HIGH = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


@dataclass(frozen=True)
class Level:
    """The n-grams of one order, sorted by (parent, word)."""

    parents: NDArray[np.uint32]
    """Index into the level before; empty for order 1."""
    words: NDArray[np.uint32]
    counts: NDArray[np.uint32]


def sort_levels(
    words: Sequence[str], levels: Sequence[tuple[NDArray[Any], ...]], min_count: int = 0
) -> Trie:
    """Sort levels of (id, parent id, word id, count), with ids in any order, into a trie.

    N-grams with a count below `min_count` are dropped.
    """
    ids, _, _, counts = levels[0]
    place_of_word = np.full(len(words), -1, np.int64)
    kept = np.flatnonzero(counts >= min_count)
    place_of_word[ids[kept]] = kept
    order = sorted(range(len(words)), key=lambda word: words[word].encode())
    places = np.asarray([p for p in place_of_word[order] if p >= 0], np.int64)
    word_rank = np.zeros(len(words), np.uint32)
    word_rank[ids[places]] = np.arange(len(places), dtype=np.uint32)
    kept_words = tuple(words[int(word)] for word in ids[places])
    ranks = np.arange(len(places), dtype=np.uint32)
    built = [Level(np.empty(0, np.uint32), ranks, counts[places])]

    rank = word_rank
    for ids, parents, last, counts in levels[1:]:
        kept = np.flatnonzero(counts >= min_count)
        keys = _join(rank[parents[kept]], word_rank[last[kept]])
        permutation = np.argsort(keys)
        places = kept[permutation]
        built.append(Level(*_part(keys[permutation]), counts[places]))
        rank = np.zeros(int(ids.max(initial=0)) + 1, np.uint32)
        rank[ids[places]] = np.arange(len(places), dtype=np.uint32)
    return kept_words, tuple(built)


def build_levels(counts: Mapping[tuple[str, ...], float]) -> Trie:
    """Build a trie from counts by n-gram; prefixes and words that are missing count 0."""
    by_order: list[dict[tuple[str, ...], int]] = [{} for _ in range(max(map(len, counts)))]
    for ngram, count in counts.items():
        by_order[len(ngram) - 1][ngram] = round(count)
    for n in range(len(by_order) - 1, 0, -1):
        for ngram in by_order[n]:
            by_order[n - 1].setdefault(ngram[:-1], 0)
            by_order[0].setdefault(ngram[-1:], 0)
    word_ids = {ngram[0]: i for i, ngram in enumerate(by_order[0])}
    levels = []
    parent_ids: dict[tuple[str, ...], int] = {}
    for level in by_order:
        levels.append(
            (
                np.arange(len(level), dtype=np.uint32),
                np.asarray([parent_ids.get(ngram[:-1], 0) for ngram in level], np.uint32),
                np.asarray([word_ids[ngram[-1]] for ngram in level], np.uint32),
                np.asarray(list(level.values()), np.uint32),
            )
        )
        parent_ids = {ngram: i for i, ngram in enumerate(level)}
    return sort_levels(list(word_ids), levels)


def add_levels(
    words: tuple[Sequence[str], Sequence[str]], levels: tuple[Sequence[Level], Sequence[Level]]
) -> Trie:
    """Add the counts of two tries of the same order."""
    together = tuple(sorted({*words[0], *words[1]}, key=str.encode))
    place = {word: i for i, word in enumerate(together)}
    word_rank = [np.asarray([place[word] for word in side], np.uint32) for side in words]
    rank = [np.zeros(0, np.uint32)] * 2
    added: list[Level] = []
    for n, pair in enumerate(zip(*levels, strict=True)):
        keys = [
            _join(rank[i][level.parents] if n else np.uint32(0), word_rank[i][level.words])
            for i, level in enumerate(pair)
        ]
        merged, inverse = np.unique(np.concatenate(keys), return_inverse=True)
        counts = np.zeros(len(merged), np.uint32)
        np.add.at(counts, inverse, np.concatenate([level.counts for level in pair]))
        parents, last = _part(merged)
        added.append(Level(parents if n else np.empty(0, np.uint32), last, counts))
        first, second = np.split(inverse.astype(np.uint32), [len(keys[0])])
        rank = [first, second]
    return together, tuple(added)


def _join(parents: Any, words: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """Return a key per n-gram that sorts by parent, then by word."""
    keys: NDArray[np.uint64] = parents.astype(np.uint64) << _HIGH | words.astype(np.uint64)
    return keys


def _part(keys: NDArray[np.uint64]) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return the parents and the words of keys."""
    return (keys >> _HIGH).astype(np.uint32), (keys & _LOW).astype(np.uint32)
