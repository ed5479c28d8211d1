"""What every encoder is: captions in, states of their tokens or one embedding each out."""

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
    """A word piece and the characters of the caption that it stands for."""

    text: str
    start: int
    end: int
    word: int | None
    """Which word of the caption it belongs to; None for what the encoder adds itself."""


@dataclass(frozen=True, eq=False)
class TokenStates:
    """The tokens of some captions, with an encoder's state of each.

    Tokens of caption i are [starts[i], ends[i]); captions that are equal share theirs.
    """

    captions: Sequence[str]
    states: Floats32
    """float32[tokens, width], not normalized"""
    ids: Integers
    """int64[tokens]: equal for equal tokens, in any captions of the same encoder"""
    special: NDArray[np.bool_]
    """bool[tokens]: what the encoder adds itself, such as [CLS] and [SEP]"""
    starts: Integers
    ends: Integers
    cut: Callable[[str], list[Token]]
    """How the encoder cuts a caption."""
    vocabulary: Mapping[int, str]
    """The tokens' texts by id: `the`, `##ing`; a piece that continues a word says so."""

    def __len__(self) -> int:
        return len(self.starts)

    def rows(self, caption: int) -> slice:
        """Return where the tokens of that caption lie."""
        return slice(int(self.starts[caption]), int(self.ends[caption]))

    def directions(self, caption: int) -> NDArray[np.float64]:
        """Return float64[tokens, width]: states of length 1, whose products are cosines."""
        states = self.states[self.rows(caption)].astype(np.float64)
        lengths = np.linalg.norm(states, axis=1, keepdims=True)
        directions: NDArray[np.float64] = states / np.maximum(lengths, 1e-12)
        return directions


class Encoder(ABC):
    """Something that turns captions into vectors; immutable, so threads may share it."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What signatures call it."""

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """A digest of its weights, for signatures."""

    @property
    @abstractmethod
    def kernel(self) -> str:
        """What computes, for signatures: last digits differ between kinds of processors."""

    @property
    def window(self) -> int | None:
        """How many tokens it sees at once; longer captions are split. None: any number."""
        return None

    @property
    def layers(self) -> int:
        """The number of its last layer; layer 0 are the embeddings below the first."""
        return 0

    @abstractmethod
    def embed(self, captions: Sequence[str], threads: int = 0) -> Floats32:
        """Return float32[captions, width]: the mean of each caption's states, of length 1."""

    @abstractmethod
    def tokens(
        self, captions: Sequence[str], layer: int | None = None, threads: int = 0
    ) -> TokenStates:
        """Return the tokens of all captions with their states in that layer; None: the last."""


def number_distinct(captions: Sequence[str]) -> tuple[list[str], Integers]:
    """Return the distinct captions and, for each caption given, its place among them."""
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
    """Return rows of length 1; a row of zeros stays one."""
    lengths = np.linalg.norm(embeddings, axis=1, keepdims=True)
    normal: Floats32 = embeddings / np.maximum(lengths, np.float32(1e-12))
    return normal
