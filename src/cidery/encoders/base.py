"""Encoder: base class; captions to token states or embeddings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from cidery.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

Floats32: TypeAlias = "NDArray[np.float32]"
Integers: TypeAlias = "NDArray[np.int64]"


@dataclass(frozen=True)
class Token:
    """A word piece and its character span in the caption."""

    text: str
    start: int
    end: int
    word: int | None
    """Index of its word in the caption; None for special tokens."""


@dataclass(frozen=True, eq=False)
class TokenStates:
    """Tokens of captions with an encoder's state of each.

    Tokens of caption i are [starts[i], ends[i]); equal captions share theirs.
    """

    captions: Sequence[str]
    states: Floats32
    """float32[tokens, width], not normalized"""
    ids: Integers
    """int64[tokens]: equal for equal tokens, in any captions of the same encoder"""
    special: NDArray[np.bool_]
    """bool[tokens]: special tokens, such as [CLS] and [SEP]"""
    starts: Integers
    ends: Integers
    tokenize: Callable[[str], list[Token]]
    """The encoder's tokenizer."""
    vocabulary: Mapping[int, str]
    """Texts of tokens by id: `the`, and `##ing` for a piece that continues a word."""

    def __len__(self) -> int:
        return len(self.starts)

    def rows(self, caption: int) -> slice:
        """Return the rows of a caption's tokens."""
        return slice(int(self.starts[caption]), int(self.ends[caption]))

    def directions(self, caption: int) -> NDArray[np.float64]:
        """Return float64[tokens, width]: states scaled to length 1."""
        states = self.states[self.rows(caption)].astype(np.float64)
        lengths = np.linalg.norm(states, axis=1, keepdims=True)
        directions: NDArray[np.float64] = states / np.maximum(lengths, 1e-12)
        return directions


class Encoder(ABC):
    """Base class of encoders; immutable, so that threads may share it."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Name in signatures."""

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """Digest of the weights, for signatures."""

    @property
    def files(self) -> str | None:
        """Digest of all files of a model folder, with its settings and tokenizer, if it has one."""
        return None

    @property
    @abstractmethod
    def kernel(self) -> str:
        """Compute kernel, for signatures: last digits differ between processors."""

    @property
    def window(self) -> int | None:
        """Maximum number of tokens; longer captions are split. None: no maximum."""
        return None

    @property
    def layers(self) -> int:
        """Number of its last layer; layer 0 are the input embeddings."""
        return 0

    @abstractmethod
    def embed(self, captions: Sequence[str], threads: int = 0) -> Floats32:
        """Return float32[captions, width]: mean of each caption's states, scaled to length 1."""

    @abstractmethod
    def tokens(
        self, captions: Sequence[str], layer: int | None = None, threads: int = 0
    ) -> TokenStates:
        """Return the tokens of captions with their states in a layer; None: the last."""


def number_distinct(captions: Sequence[str]) -> tuple[list[str], Integers]:
    """Return the distinct captions and the index of each caption among them."""
    if isinstance(captions, str):
        raise InputError(f"expected a list of captions, not one: {captions!r}")
    for number, caption in enumerate(captions, 1):
        if not isinstance(caption, str):
            raise InputError(f"caption {number} is {caption!r}, expected text")
    places: dict[str, int] = {}
    numbers = np.fromiter(
        (places.setdefault(caption, len(places)) for caption in captions), np.int64, len(captions)
    )
    return list(places), numbers


def normalize(embeddings: Floats32) -> Floats32:
    """Return rows scaled to length 1; rows of zeros are unchanged."""
    lengths = np.linalg.norm(embeddings, axis=1, keepdims=True)
    normal: Floats32 = embeddings / np.maximum(lengths, np.float32(1e-12))
    return normal
