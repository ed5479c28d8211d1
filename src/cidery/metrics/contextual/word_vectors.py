"""Words of captions with vectors of a language model, for explanations."""

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
"""Highest cosine of words that do not match, for encoders without a known value."""

_EMPTY = STOP_WORDS["english"]


def find_beta(encoder: Encoder) -> float:
    """Return the highest cosine of words that do not match."""
    known = encoder.name.removeprefix("folder:").removesuffix("-uncased").removesuffix("-cased")
    return choose_beta(encoder) if known in BETAS else BETA


@dataclass(frozen=True, eq=False)
class CaptionWords:
    """Words of a caption, with their tokens, positions and vectors."""

    texts: Sequence[str]
    places: Sequence[TokenSpan | None]
    of_tokens: Sequence[int | None]
    """Word of each token; None for special ones."""
    directions: Floats
    """float64[words, width]: means of the words' tokens, of length 1."""

    @classmethod
    def read(cls, states: TokenStates, caption: int) -> CaptionWords:
        """Return the words of an encoded caption, given by index."""
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
        """True if every word has a position."""
        return None not in self.places

    def sum_tokens(self, values: Sequence[float]) -> list[float]:
        """Return the sums of token values by word."""
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
    """Nearest words of other captions, by word of a caption."""

    texts: Sequence[str]
    """Nearest words; empty if the others have none."""
    captions: Sequence[int]
    """Index of the caption that has it."""
    similarities: Floats

    @classmethod
    def find(cls, caption: CaptionWords, others: Sequence[CaptionWords]) -> NearestWords:
        """Compare the words of a caption with those of others."""
        texts = [text for other in others for text in other.texts]
        owners = [number for number, other in enumerate(others) for _ in other.texts]
        if not texts:
            empty = len(caption.texts)
            return cls([""] * empty, [0] * empty, np.zeros(empty))
        cosines = caption.directions @ np.concatenate([other.directions for other in others]).T
        nearest: NDArray[np.int64] = cosines.argmax(axis=1)
        return cls(
            [texts[place] for place in nearest.tolist()],
            [owners[place] for place in nearest.tolist()],
            cosines.max(axis=1) if len(cosines) else np.zeros(0),
        )

    def notes(self, beta: float) -> list[str]:
        """Return the nearest words as text, marked if they do not match."""
        return [
            f"nearest: {text} ({similarity:.2f}){', no match' * (similarity <= beta)}"
            if text
            else "no match"
            for text, similarity in zip(self.texts, self.similarities.tolist(), strict=True)
        ]


def find_missing(
    candidate: CaptionWords,
    references: Sequence[CaptionWords],
    values: Sequence[Sequence[float]],
    beta: float,
) -> list[list[Span]]:
    """Return the words of each reference that match no word of the caption, with their values.

    Stop words such as `the` are not missing, nor are words that match in another reference.
    """
    nearest = [NearestWords.find(other, [candidate]) for other in references]
    best: dict[str, float] = {}
    for other, near in zip(references, nearest, strict=True):
        for text, similarity in zip(other.texts, near.similarities.tolist(), strict=True):
            best[text.lower()] = max(similarity, best.get(text.lower(), -1.0))
    return [
        make_spans(
            (place, value, f"missing; {note.removesuffix(', no match')}")
            for text, place, value, note in zip(
                other.texts, other.places, worth, near.notes(beta), strict=True
            )
            if best[text.lower()] <= beta and _is_content_word(text)
        )
        for other, near, worth in zip(references, nearest, values, strict=True)
    ]


def _is_content_word(text: str) -> bool:
    return any(map(str.isalnum, text)) and text.lower() not in _EMPTY
