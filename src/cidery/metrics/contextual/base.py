"""Base classes of metrics on language models: encoder, layer, tokens of captions."""

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
from cidery.storage import MODELS
from cidery.text import TokenizedCaptions

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True)
class Contextual(Metric):
    """A metric that uses a language model."""

    encoder: EncoderLike = "minilm"
    """`minilm`, `mpnet`, the path of a model folder, or a function."""
    device: str = "cpu"
    """`cpu` (the native core), `torch`, or a device of torch."""
    keep: bool = False
    """True: vectors are stored in the user's cache directory."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.encoder, os.PathLike):
            object.__setattr__(self, "encoder", os.fspath(self.encoder))

    def open_encoder(self) -> Encoder:
        """Return the encoder; raise a DataError with instructions if it is not installed."""
        return get_encoder(self.encoder, self.device, self.keep)

    @property
    def needs(self) -> Needs:
        """The extra `contextual`, and the folder of the model if the encoder is one."""
        is_folder = isinstance(self.encoder, str) and name_encoder(self.encoder).startswith(
            "folder:"
        )
        return Needs("contextual", files={"encoder": str(self.encoder)} if is_folder else {})

    def settings(self) -> dict[str, str]:
        """Return the settings for signatures, with the name of the folder or function."""
        settings = super().settings()
        settings.pop("keep", None)
        settings["encoder"] = name_encoder(self.encoder)
        return settings

    def data_settings(self) -> dict[str, str]:
        """Return digests of the encoder, the kernel, and the length of split captions."""
        return describe_encoder(self.open_encoder(), self.encoder)


@dataclass(frozen=True, kw_only=True)
class ByToken(Contextual):
    """A metric that compares tokens in one layer of a language model."""

    layer: int | None = None
    """Layer of the encoder; 0: the embeddings. Default: the recommended layer of the encoder."""

    def data_settings(self) -> dict[str, str]:
        """Return the layer, the digest of the weights, and the kernel."""
        layer = self.choose_layer(self.open_encoder())
        return {"layer": str(layer)} | super().data_settings()

    def choose_layer(self, encoder: Encoder) -> int | None:
        """Return the layer that is set, or the recommended one of the encoder."""
        return choose_layer(encoder, self.layer)

    def read_tokens(
        self, encoder: Encoder, captions: TokenizedCaptions, work: Workspace
    ) -> TokenStates:
        """Return the tokens of captions, shared by metrics with the same encoder and layer."""
        return work.once(encode, encoder, captions, self.choose_layer(encoder))


def describe_encoder(encoder: Encoder, given: EncoderLike) -> dict[str, str]:
    """Return an encoder's entries of signatures.

    The files of `minilm` and `mpnet` are known by their names, those of a folder by a digest.
    """
    own = isinstance(given, str) and given in MODELS
    files = {} if own or encoder.files is None else {"files": encoder.files[:12]}
    window = {} if encoder.window is None else {"long": f"split-{encoder.window}"}
    return {"weights": encoder.fingerprint, **files, "kernel": encoder.kernel} | window


def encode(
    work: Workspace, encoder: Encoder, captions: TokenizedCaptions, layer: int | None
) -> TokenStates:
    """Return the tokens of captions in a layer."""
    return encoder.tokens(captions.texts, layer, work.threads)


def rows_by_image(images: Images) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Yield each image with the indexes of its captions."""
    order = np.argsort(images, kind="stable")
    distinct, starts = np.unique(images[order], return_index=True)
    yield from zip(distinct.tolist(), np.split(order, starts[1:]), strict=True)


@dataclass(frozen=True, eq=False)
class CaptionCounts:
    """Number of captions in which each token occurs."""

    ids: NDArray[np.int64]
    """Tokens, sorted."""
    counts: NDArray[np.int64]
    """Number of captions of each."""
    captions: int

    @classmethod
    def count(
        cls, ids: NDArray[np.int64], captions: Sequence[NDArray[np.int64] | slice]
    ) -> CaptionCounts:
        """Count the tokens of captions, each given by the indexes of its ids."""
        distinct, numbers = np.unique(ids, return_inverse=True)
        counts = np.zeros(len(distinct), np.int64)
        for places in captions:
            counts[np.unique(numbers[places])] += 1
        return cls(distinct, counts, len(captions))

    def of(self, ids: NDArray[np.int64]) -> Floats:
        """Return the counts of tokens; 0 for unseen ones."""
        if not len(self.ids):
            return np.zeros(len(ids))
        places = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        return np.where(self.ids[places] == ids, self.counts[places], 0).astype(np.float64)
