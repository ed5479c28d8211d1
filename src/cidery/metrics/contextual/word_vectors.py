"""Tokens of a language model put together to words of the caption, for explanations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cidery.encoders import BETAS, Encoder, TokenStates, choose_beta
from cidery.encoders.base import Token
from cidery.metrics.explanations import Span, make_spans
from cidery.statistics import Floats
from cidery.text import STOP_WORDS, TokenSpan

if TYPE_CHECKING:
    from numpy.typing import NDArray

BETA = 0.5
"""The highest cosine of words that do not match, for encoders of which none is known."""

_EMPTY = STOP_WORDS["english"]


def find_beta(encoder: Encoder) -> float:
    """Return the highest cosine of words that do not match: the encoder's, or a usual one."""
    known = encoder.name.removeprefix("folder:").removesuffix("-uncased").removesuffix("-cased")
    return choose_beta(encoder) if known in BETAS else BETA


@dataclass(frozen=True, eq=False)
class CaptionWords:
    """The words of a caption: their tokens, places and directions."""

    texts: Sequence[str]
    places: Sequence[TokenSpan | None]
    of_tokens: Sequence[int | None]
    """By token, special ones included: its word, or None."""
    directions: Floats
    """float64[words, width]: of length 1, the mean of each word's tokens."""

    @classmethod
    def read(cls, states: TokenStates, caption: int) -> CaptionWords:
        """Put the tokens of one of some encoded captions together."""
        text = states.captions[caption]
        tokens = states.tokenize(text)
        groups: dict[int, list[int]] = {}
        for place, token in enumerate(tokens):
            if token.word is not None:
                groups.setdefault(token.word, []).append(place)
        numbers = {word: number for number, word in enumerate(groups)}
        places = [_find_place(text, [tokens[p] for p in pieces]) for pieces in groups.values()]
        vectors = states.directions(caption)
        means = np.asarray([vectors[pieces].mean(axis=0) for pieces in groups.values()])
        means = means.reshape(len(groups), vectors.shape[1])
        lengths = np.linalg.norm(means, axis=1, keepdims=True)
        return cls(
            [text[place[0] : place[1]] if place else "" for place in places],
            places,
            [None if token.word is None else numbers[token.word] for token in tokens],
            means / np.maximum(lengths, 1e-12),
        )

    @property
    def is_located(self) -> bool:
        """Whether every word has a place."""
        return None not in self.places

    def sum_tokens(self, values: Sequence[float]) -> list[float]:
        """Sum values of tokens by word; special tokens must have none."""
        sums = [0.0] * len(self.texts)
        for word, value in zip(self.of_tokens, values, strict=True):
            if word is not None:
                sums[word] += value
        return sums

    def spans(self, values: Sequence[float], notes: Sequence[str]) -> list[Span]:
        """Return a span per word."""
        return make_spans(zip(self.places, values, notes, strict=True))


def _find_place(text: str, tokens: Sequence[Token]) -> TokenSpan | None:
    start, end = tokens[0].start, tokens[-1].end
    found = text[start:end]
    start += len(found) - len(found.lstrip())
    end = start + len(found.strip())
    return (start, end) if start < end <= len(text) else None


@dataclass(frozen=True, eq=False)
class NearestWords:
    """For each word of a caption, the nearest word of others."""

    texts: Sequence[str]
    """Empty where the others have no words."""
    captions: Sequence[int]
    """Which of the others has it."""
    similarities: Floats

    @classmethod
    def find(cls, ours: CaptionWords, others: Sequence[CaptionWords]) -> NearestWords:
        """Compare the words of a caption with those of others."""
        texts = [text for other in others for text in other.texts]
        owners = [number for number, other in enumerate(others) for _ in other.texts]
        if not texts:
            empty = len(ours.texts)
            return cls([""] * empty, [0] * empty, np.zeros(empty))
        cosines = ours.directions @ np.concatenate([other.directions for other in others]).T
        nearest: NDArray[np.int64] = cosines.argmax(axis=1)
        return cls(
            [texts[place] for place in nearest.tolist()],
            [owners[place] for place in nearest.tolist()],
            cosines.max(axis=1) if len(cosines) else np.zeros(0),
        )

    def notes(self, beta: float) -> list[str]:
        """Return what is nearest, and whether that is a match."""
        return [
            f"nearest: {text} ({similarity:.2f}){', no match' * (similarity <= beta)}"
            if text
            else "no match"
            for text, similarity in zip(self.texts, self.similarities.tolist(), strict=True)
        ]


def find_missing(
    said: CaptionWords, told: Sequence[CaptionWords], values: Sequence[Sequence[float]], beta: float
) -> list[list[Span]]:
    """Return the words of each reference that the caption has nothing for, with their values.

    Words that say nothing by themselves, such as `the`, are not missing, nor is one that matches
    where it stands in another reference.
    """
    nearest = [NearestWords.find(other, [said]) for other in told]
    best: dict[str, float] = {}
    for other, near in zip(told, nearest, strict=True):
        for text, similarity in zip(other.texts, near.similarities.tolist(), strict=True):
            best[text.lower()] = max(similarity, best.get(text.lower(), -1.0))
    return [
        make_spans(
            (place, value, f"missing; {note.removesuffix(', no match')}")
            for text, place, value, note in zip(
                other.texts, other.places, worth, near.notes(beta), strict=True
            )
            if best[text.lower()] <= beta and _says_something(text)
        )
        for other, near, worth in zip(told, nearest, values, strict=True)
    ]


def _says_something(text: str) -> bool:
    return any(map(str.isalnum, text)) and text.lower() not in _EMPTY
