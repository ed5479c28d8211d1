"""Any Python function as an encoder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from cidery.encoders.base import (
    Encoder,
    Floats32,
    Token,
    TokenStates,
    normalise,
    number_distinct,
)
from cidery.errors import InputError, SettingError

EncodeFunction: TypeAlias = Callable[[list[str]], Any]
"""`f(captions)` -> an array [captions, width], or for each caption its words and [words, width]."""


class FunctionEncoder(Encoder):
    """A function that embeds captions as wholes, or word by word; it sees each caption once."""

    def __init__(self, function: EncodeFunction) -> None:
        self._function = function

    @property
    def name(self) -> str:
        """`callable:` and the function's name."""
        module = getattr(self._function, "__module__", "?")
        name = getattr(self._function, "__qualname__", type(self._function).__qualname__)
        return f"callable:{module}.{name}"

    @property
    def fingerprint(self) -> str:
        """`unknown`: a function's weights cannot be seen."""
        return "unknown"

    @property
    def vocabulary(self) -> Sequence[str]:
        """The words that it has returned so far, by id."""
        return list(self._places)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {}

    def embed(self, captions: Sequence[str], threads: int = 0) -> Floats32:  # noqa: ARG002
        """Return float32[captions, width], of length 1."""
        distinct, places = number_distinct(captions)
        found = self._function(distinct)
        if len(found) != len(distinct):
            raise InputError(f"{self.name} gave {len(found)} rows for {len(distinct)} captions")
        if _is_by_word(found):
            found = [np.asarray(states).mean(axis=0) for _, states in found]
        embeddings = np.asarray(found, np.float32)
        if embeddings.ndim != 2:
            raise InputError(f"{self.name} must return an array [captions, width]")
        embedded: Floats32 = normalise(embeddings)[places]
        return embedded

    def tokens(
        self,
        captions: Sequence[str],
        layer: int | None = None,
        threads: int = 0,  # noqa: ARG002
    ) -> TokenStates:
        """Return words and states; a function has no layers to choose from."""
        if layer is not None:
            raise SettingError(f"{self.name} is a function: it has no layers to choose from")
        distinct, places = number_distinct(captions)
        found = self._function(distinct)
        if len(found) != len(distinct) or not _is_by_word(found):
            raise InputError(
                f"{self.name} must return, for each caption, its words and an array [words, width]"
            )
        # A caption without words gets a special token that is like no other.
        width = max((np.shape(part)[-1] for words, part in found if len(words)), default=1)
        empty = [""], np.zeros((1, width), np.float32)
        found = [one if len(one[0]) else empty for one in found]
        words = [word for one, _ in found for word in one]
        offsets = np.cumsum([0, *(len(one) for one, _ in found)], dtype=np.int64)
        known = self._places
        ids = np.fromiter((known.setdefault(w, len(known)) for w in words), np.int64, len(words))
        states = np.concatenate([np.asarray(part, np.float32) for _, part in found])
        special = np.fromiter((word == "" for word in words), bool, len(words))
        return TokenStates(
            captions, states, ids, special, offsets[:-1][places], offsets[1:][places], self.cut
        )

    def cut(self, caption: str) -> list[Token]:
        """Return the words of one caption, with the characters where they are found in it."""
        tokens, end = [], 0
        for number, word in enumerate(self._function([caption])[0][0]):
            start = max(caption.lower().find(word.lower(), end), end)
            end = start + len(word)
            tokens.append(Token(word, start, end, number))
        return tokens


def _is_by_word(found: Any) -> bool:
    return not isinstance(found, np.ndarray) and all(
        isinstance(one, tuple) and len(one) == 2 for one in found
    )
