"""Captions as a trainer has them: token ids of a small vocabulary."""

from __future__ import annotations

import numpy as np

PAD, BOS, EOS = 0, 1, 2


def vocabulary_of(captions: list[list[str]]) -> list[str]:
    return ["<pad>", "<bos>", "<eos>", *sorted({word for words in captions for word in words})]


def as_ids(captions: list[list[str]], vocabulary: list[str]) -> np.ndarray:
    ids = {word: token for token, word in enumerate(vocabulary)}
    rows = np.zeros((len(captions), max(map(len, captions)) + 2), np.int64)
    for row, words in zip(rows, captions, strict=True):
        row[: len(words) + 2] = [BOS, *(ids[word] for word in words), EOS]
    return rows
