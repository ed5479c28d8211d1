"""FunctionEncoder: a Python function as an encoder."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from cidery.encoders.base import (
    Encoder,
    Floats32,
    Token,
    TokenStates,
    normalize,
    number_distinct,
)
from cidery.errors import InputError, SettingError
from cidery.text import locate_words

EncodeFunction: TypeAlias = Callable[[list[str]], Any]
"""`f(captions)` -> an array [captions, width], or for each caption its words and [words, width]."""


@dataclass(frozen=True)
class FunctionEncoder(Encoder):
    """A function that embeds captions or their words; each distinct caption is passed once."""

    function: EncodeFunction
    given_name: str | None = None

    @property
    def name(self) -> str:
        """Given name, or `callable:` and the function's name."""
        if self.given_name is not None:
            return self.given_name
        module = getattr(self.function, "__module__", "?")
        name = getattr(self.function, "__qualname__", type(self.function).__qualname__)
        return f"callable:{module}.{name}"

    @property
    def fingerprint(self) -> str:
        """`unknown`: the weights of a function are not accessible."""
        return "unknown"

    @property
    def kernel(self) -> str:
        """`unknown`."""
        return "unknown"

    def embed(self, captions: Sequence[str], threads: int = 0) -> Floats32:  # noqa: ARG002
        """Return float32[captions, width], of length 1; zeros for a caption without words."""
        distinct, places = number_distinct(captions)
        found = self._call(distinct)
        if _is_by_word(found):
            found = [states.mean(axis=0) for _, states in self._read_words(distinct, found)]
        embeddings = self._read_array(found, "an array [captions, width]")
        embedded: Floats32 = normalize(embeddings)[places]
        return embedded

    def tokens(
        self,
        captions: Sequence[str],
        layer: int | None = None,
        threads: int = 0,  # noqa: ARG002
    ) -> TokenStates:
        """Return words and states; a function has no layers."""
        if layer is not None:
            raise SettingError(f"{self.name} is a function and has no layers; remove layer")
        distinct, places = number_distinct(captions)
        found = self._read_words(distinct, self._call(distinct))
        words = [word for one, _ in found for word in one]
        offsets = np.cumsum([0, *(len(one) for one, _ in found)], dtype=np.int64)
        states = np.concatenate([np.zeros((0, _width(found)), np.float32), *(s for _, s in found)])
        special = np.fromiter((word == "" for word in words), bool, len(words))
        numbers = {word: _number(word) for word in dict.fromkeys(words)}
        return TokenStates(
            captions,
            states,
            np.fromiter((numbers[word] for word in words), np.int64, len(words)),
            special,
            offsets[:-1][places],
            offsets[1:][places],
            self.tokenize,
            {number: word for word, number in numbers.items()},
        )

    def tokenize(self, caption: str) -> list[Token]:
        """Return the words of one caption with their character spans."""
        tokens, end = [], 0
        words, _ = self._read_words([caption], self._call([caption]))[0]
        for number, (word, place) in enumerate(
            zip(words, locate_words(caption, words), strict=True)
        ):
            start, end = place or (end, end)
            tokens.append(Token(word, start, end, number if word else None))
        return tokens

    def _call(self, captions: list[str]) -> Any:
        """Return the result of the function for the captions."""
        given = self.function(captions)
        if not isinstance(given, np.ndarray):
            try:
                given = list(given)
            except TypeError:
                raise InputError(
                    f"{self.name} must return a result for each caption, not {given!r}"
                ) from None
        if len(given) != len(captions):
            raise InputError(f"{self.name} returned {len(given)} rows for {len(captions)} captions")
        return given

    def _read_words(self, captions: list[str], found: Any) -> list[tuple[list[str], Floats32]]:
        """Return words and float32[words, width] of each caption.

        A caption without words gets a special token.
        """
        if not _is_by_word(found):
            raise InputError(
                f"{self.name} must return, for each caption, its words and an array [words, width]"
                "; an array [captions, width] suffices for embed only"
            )
        read = []
        for caption, (words, states) in zip(captions, found, strict=True):
            expected = f"{len(words)} words and an array [{len(words)}, width] for {caption!r}"
            if not all(isinstance(word, str) for word in words):
                raise InputError(f"{self.name} must return {expected}; not all words are strings")
            array = self._read_array(states, expected) if len(words) else _NOTHING
            if len(array) != len(words):
                raise InputError(f"{self.name} must return {expected}, not {list(array.shape)}")
            read.append((list(words), array))
        width = _width(read)
        for caption, (words, array) in zip(captions, read, strict=True):
            if len(words) and array.shape[1] != width:
                raise InputError(
                    f"{self.name} returned vectors of {array.shape[1]} dimensions for {caption!r}, "
                    f"of {width} for an earlier caption"
                )
        empty = np.zeros((1, width), np.float32)
        return [one if len(one[0]) else ([""], empty) for one in read]

    def _read_array(self, values: Any, expected: str) -> Floats32:
        try:
            array = np.asarray(values, np.float32)
        except (TypeError, ValueError) as error:
            raise InputError(f"{self.name} must return {expected}: {error}") from None
        if array.ndim != 2:
            raise InputError(f"{self.name} must return {expected}, not {list(array.shape)}")
        if not np.isfinite(array).all():
            raise InputError(f"{self.name} must return {expected}, not NaN or infinity")
        return array


def _number(word: str) -> int:
    """Return a word's id, 64 bits of a digest, so that it is the same in every call."""
    digest = hashlib.blake2b(word.encode(errors="surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


_NOTHING: Floats32 = np.zeros((0, 0), np.float32)


def _width(found: Sequence[tuple[list[str], Floats32]]) -> int:
    """Return the number of dimensions; 1 without vectors."""
    return next((states.shape[1] for words, states in found if len(words)), 1)


def _is_by_word(found: Any) -> bool:
    return not isinstance(found, np.ndarray) and all(
        isinstance(one, tuple | list)
        and len(one) == 2
        and isinstance(one[0], Sequence | np.ndarray)
        for one in found
    )
