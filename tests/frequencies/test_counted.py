"""Shards of n-grams, added up by the core: the counts of a plain counter."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from cidery._native import add_up_shard

NONE = 0xFFFFFFFF


@pytest.mark.parametrize("n", range(1, 9))
@pytest.mark.parametrize("word_count", [7, 300, 0x1FFFF, 0xFFFFFFFE])
@pytest.mark.parametrize("kind", [np.uint16, np.uint32])
def test_adds_up(n: int, word_count: int, kind: type) -> None:
    rng = np.random.default_rng([n, word_count])
    expected: Counter[tuple[int, ...]] = Counter()
    parts = []
    for _ in range(4):
        ranks = rng.integers(max(0, word_count - 9), word_count, 12).astype(np.uint32)
        ranks[rng.random(12) < 0.1] = NONE
        words = rng.integers(0, 12, (60, n)).astype(kind)
        counts = rng.integers(2, 50, 20).astype(np.uint32)
        parts.append((words, ranks, counts))
        for row, count in zip(words, [1] * 40 + counts.tolist(), strict=True):
            if NONE not in ranks[row]:
                expected[tuple(ranks[row].tolist())] += count
    words, counts = add_up_shard(parts, n, word_count, 3)
    found = dict(zip(map(tuple, words.tolist()), counts.tolist(), strict=True))
    assert found == {ngram: count for ngram, count in expected.items() if count >= 3}
    assert list(found) == sorted(found)


def test_nothing() -> None:
    words, counts = add_up_shard([], 4, 10, 1)
    assert words.shape == (0, 4)
    assert counts.shape == (0,)


@pytest.mark.parametrize(
    ("words", "ranks", "counts", "message"),
    [
        ([[0, 3]], [0, 1], [], "an unknown word"),
        ([[0, 1]], [0, 9], [], "out of range"),
        ([[0, 1]], [0, 1], [2, 2], "do not fit"),
    ],
)
def test_damaged(words: list[list[int]], ranks: list[int], counts: list[int], message: str) -> None:
    part = (np.array(words, np.uint16), np.array(ranks, np.uint32), np.array(counts, np.uint32))
    with pytest.raises(ValueError, match=message):
        add_up_shard([part], 2, 5, 1)
