"""explain(): which words of a caption the references have, which are missing, which are extra."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cidery.captions.corpus import Corpus
from cidery.captions.tokenizers import STOP_WORDS
from cidery.errors import InputError
from cidery.metrics.contextual.encoders import (
    EncoderLike,
    TokenStates,
    choose_beta,
    choose_layer,
    get_encoder,
)
from cidery.statistics import Floats
from cidery.text_tables import text_table


@dataclass(frozen=True)
class NearestWord:
    """A word of one side and the nearest word of the other."""

    word: str
    nearest: str
    """Empty where the other side has no words."""
    reference: int
    """Which reference is concerned, from 0."""
    similarity: float
    """The cosine of their states."""


@dataclass(frozen=True)
class Explanation:
    """How a caption's words compare with those of its references.

    Words that say nothing by themselves, such as `the`, are neither missing nor extra.
    """

    candidate: str
    references: tuple[str, ...]
    words: tuple[NearestWord, ...]
    """Every word of the candidate, with the nearest word of any reference."""
    missing: tuple[NearestWord, ...]
    """Words of references that nothing in the candidate matches, the furthest first."""
    extra: tuple[NearestWord, ...]
    """Words of the candidate that nothing in the references matches, the furthest first."""
    beta: float
    """The highest similarity of words that do not match."""

    def header(self) -> list[str]:
        """Return the columns of `lines`."""
        return ["word", "nearest", "similarity", "reference"]

    def lines(self) -> list[list[str]]:
        """Return the candidate's words as text cells, a row each."""
        return [
            [w.word, w.nearest, f"{w.similarity:.2f}", str(w.reference + 1) if w.nearest else ""]
            for w in self.words
        ]

    def notes(self) -> list[str]:
        """Return what is missing and what is extra, in words."""

        def spell(words: Sequence[NearestWord]) -> str:
            return ", ".join(f"{w.word} ({w.similarity:.2f})" for w in words) or "nothing"

        return [f"missing: {spell(self.missing)}", f"extra: {spell(self.extra)}"]

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        kinds = ("words", "missing", "extra")
        return vars(self) | {kind: [vars(word) for word in getattr(self, kind)] for kind in kinds}

    def __str__(self) -> str:
        table = text_table(self.header(), self.lines(), left=(0, 1))
        return "\n".join([table, "", *self.notes()])


def explain(
    candidate: str,
    references: Sequence[str],
    encoder: EncoderLike = "minilm",
    *,
    layer: int | None = None,
    beta: float | None = None,
    device: str = "cpu",
) -> Explanation:
    """Compare a caption's words with those of its references, as a language model sees them.

    Args:
        candidate: a caption.
        references: what people said of the same image.
        encoder: as for `BertScore`; so are `layer` and `device`.
        layer: None means the one that was found best for the encoder.
        beta: the highest similarity of words that do not match; None means the encoder's.
        device: `cpu`, `torch`, or a device that torch knows.

    ```python
    explain("a puppy sleeps", ["a dog is sleeping on a sofa"]).missing[0].word   # "sofa"
    ```
    """
    check_captions(candidate, references)
    opened = get_encoder(encoder, device)
    states = opened.tokens([candidate, *references], choose_layer(opened, layer))
    return explain_states(states, choose_beta(opened, beta))


def check_captions(candidate: str, references: Sequence[str]) -> None:
    """Refuse what is no caption, and references that are none."""
    if isinstance(references, str) or not references:
        raise InputError("expected a list of references with at least one caption")
    Corpus.build([candidate], [list(references)])


def explain_states(states: TokenStates, beta: float) -> Explanation:
    """Compare the words of the first of some encoded captions with those of the others."""
    candidate, *references = states.captions
    ours = _read_words(states, 0)
    theirs = _Words.join([_read_words(states, place + 1) for place in range(len(references))])
    cosines = ours.vectors @ theirs.vectors.T
    words = _find_nearest(ours, theirs, cosines, by_candidate=True)
    lacking = _find_nearest(theirs, ours, cosines.T, by_candidate=False)
    return Explanation(
        candidate,
        tuple(references),
        tuple(words),
        _find_unmatched(lacking, beta),
        _find_unmatched(words, beta),
        beta,
    )


_EMPTY = STOP_WORDS["english"]


@dataclass(frozen=True, eq=False)
class _Words:
    """Words with a vector of length 1 each, and which caption they are of."""

    texts: tuple[str, ...]
    vectors: Floats
    captions: tuple[int, ...]

    @classmethod
    def join(cls, parts: Sequence[_Words]) -> _Words:
        return cls(
            tuple(text for part in parts for text in part.texts),
            np.concatenate([part.vectors for part in parts]),
            tuple(caption for part in parts for caption in part.captions),
        )


def _read_words(states: TokenStates, caption: int) -> _Words:
    """Put word pieces together; a word's vector is the mean of its pieces'."""
    text = states.captions[caption]
    directions = states.directions(caption)
    pieces: dict[int, list[int]] = {}
    tokens = states.cut(text)
    for place, token in enumerate(tokens):
        if token.word is not None:
            pieces.setdefault(token.word, []).append(place)
    spelled = [text[tokens[p[0]].start : tokens[p[-1]].end].strip() for p in pieces.values()]
    kept = [(word, p) for word, p in zip(spelled, pieces.values(), strict=True) if _is_word(word)]
    vectors = np.asarray([directions[p].mean(axis=0) for _, p in kept])
    vectors = vectors.reshape(len(kept), directions.shape[1])
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return _Words(
        tuple(word for word, _ in kept),
        vectors / np.maximum(lengths, 1e-12),
        (caption,) * len(kept),
    )


def _is_word(text: str) -> bool:
    return any(map(str.isalnum, text))


def _find_nearest(
    ours: _Words, theirs: _Words, cosines: Floats, *, by_candidate: bool
) -> list[NearestWord]:
    if not theirs.texts:
        return [NearestWord(word, "", 0, 0.0) for word in ours.texts]
    nearest = cosines.argmax(axis=1)
    return [
        NearestWord(
            word,
            theirs.texts[place],
            (theirs.captions[place] if by_candidate else caption) - 1,
            float(cosines[row, place]),
        )
        for row, (word, caption, place) in enumerate(
            zip(ours.texts, ours.captions, nearest.tolist(), strict=True)
        )
    ]


def _find_unmatched(words: Sequence[NearestWord], beta: float) -> tuple[NearestWord, ...]:
    """Name each word once, where it is nearest, unless that is a match; the furthest first."""
    nearest: dict[str, NearestWord] = {}
    for word in sorted(words, key=lambda word: -word.similarity):
        nearest.setdefault(word.word.lower(), word)
    far = (w for text, w in nearest.items() if w.similarity <= beta and text not in _EMPTY)
    return tuple(sorted(far, key=lambda word: word.similarity))
