"""Captions as a trainer has them: token ids of a small vocabulary."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

import cidery

PAD, BOS, EOS = 0, 1, 2

Batch: TypeAlias = "tuple[list[int], np.ndarray[Any, Any] | list[str]]"


def vocabulary_of(captions: list[list[str]]) -> list[str]:
    return ["<pad>", "<bos>", "<eos>", *sorted({word for words in captions for word in words})]


def as_ids(captions: list[list[str]], vocabulary: list[str]) -> np.ndarray:
    ids = {word: token for token, word in enumerate(vocabulary)}
    rows = np.zeros((len(captions), max(map(len, captions)) + 2), np.int64)
    for row, words in zip(rows, captions, strict=True):
        row[: len(words) + 2] = [BOS, *(ids[word] for word in words), EOS]
    return rows


def score_batches(reward: cidery.Reward, batches: list[Batch]) -> list[np.ndarray]:
    """Return the rewards of each batch; here, so that another process finds it by name."""
    return [reward(*batch) for batch in batches]
