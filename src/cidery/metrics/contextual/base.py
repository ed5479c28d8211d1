"""What metrics on language models share: the encoder, its layer, the tokens of captions."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cidery.encoders import (
    Encoder,
    EncoderLike,
    TokenStates,
    choose_layer,
    get_encoder,
    name_encoder,
)
from cidery.metrics.base import Images, Metric, Needs
from cidery.runtime import Workspace
from cidery.statistics import Floats
from cidery.text import TokenizedCaptions

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True)
class Contextual(Metric):
    """A metric that sees captions through a language model."""

    encoder: EncoderLike = "minilm"
    """`minilm`, `mpnet`, the path of a model folder, or a function."""
    device: str = "cpu"
    """`cpu` (the native core), `torch`, or a device that torch knows."""
    keep: bool = False
    """Whether to keep vectors in the user's cache directory for the next time."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.encoder, os.PathLike):
            object.__setattr__(self, "encoder", os.fspath(self.encoder))

    def open_encoder(self) -> Encoder:
        """Return the encoder; DataError says how to get one that is not here."""
        return get_encoder(self.encoder, self.device, self.keep)

    @property
    def needs(self) -> Needs:
        """The extra `contextual`, and the folder of the model if the encoder is one."""
        is_folder = isinstance(self.encoder, str) and name_encoder(self.encoder).startswith(
            "folder:"
        )
        return Needs("contextual", files={"encoder": str(self.encoder)} if is_folder else {})

    def settings(self) -> dict[str, str]:
        """Return what the signature says; a folder goes by its name, a function by its own."""
        settings = super().settings()
        settings.pop("keep", None)
        settings["encoder"] = name_encoder(self.encoder)
        return settings

    def data_settings(self) -> dict[str, str]:
        """Return the digest of the weights, what computes, and when captions are split."""
        encoder = self.open_encoder()
        window = {} if encoder.window is None else {"long": f"split-{encoder.window}"}
        return {"weights": encoder.fingerprint, "kernel": encoder.kernel} | window


@dataclass(frozen=True, kw_only=True)
class ByToken(Contextual):
    """A metric that compares tokens in one layer of a language model."""

    layer: int | None = None
    """Of the encoder; 0 are the embeddings below the first, None: the one found best for it."""

    def data_settings(self) -> dict[str, str]:
        """Return the layer, the digest of the encoder's weights, and what computes."""
        layer = self.choose_layer(self.open_encoder())
        return {"layer": str(layer)} | super().data_settings()

    def choose_layer(self, encoder: Encoder) -> int | None:
        """Return the layer asked for, or the one found best for this encoder."""
        return choose_layer(encoder, self.layer)

    def read_tokens(
        self, encoder: Encoder, captions: TokenizedCaptions, work: Workspace
    ) -> TokenStates:
        """Return the captions' tokens; metrics with the same encoder and layer share them."""
        return work.once(encode, encoder, captions, self.choose_layer(encoder))


def encode(
    work: Workspace, encoder: Encoder, captions: TokenizedCaptions, layer: int | None
) -> TokenStates:
    """Return the captions' tokens in that layer."""
    return encoder.tokens(captions.texts, layer, work.threads)


def rows_by_image(images: Images) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Yield each image with the captions that describe it."""
    order = np.argsort(images, kind="stable")
    distinct, starts = np.unique(images[order], return_index=True)
    yield from zip(distinct.tolist(), np.split(order, starts[1:]), strict=True)


@dataclass(frozen=True, eq=False)
class CaptionCounts:
    """In how many captions each token occurs."""

    ids: NDArray[np.int64]
    """The tokens that occur, sorted."""
    counts: NDArray[np.int64]
    """In how many captions each of them does."""
    captions: int

    @classmethod
    def count(
        cls, ids: NDArray[np.int64], captions: Sequence[NDArray[np.int64] | slice]
    ) -> CaptionCounts:
        """Count the tokens of captions, each given by the places of its ids."""
        distinct, numbers = np.unique(ids, return_inverse=True)
        counts = np.zeros(len(distinct), np.int64)
        for places in captions:
            counts[np.unique(numbers[places])] += 1
        return cls(distinct, counts, len(captions))

    def of(self, ids: NDArray[np.int64]) -> Floats:
        """Return the counts of these tokens; 0 for one that was not seen."""
        if not len(self.ids):
            return np.zeros(len(ids))
        places = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        return np.where(self.ids[places] == ids, self.counts[places], 0).astype(np.float64)
