"""Cache of vectors on disk, by caption, model and layer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cidery.encoders.base import Encoder, Floats32, TokenStates, number_distinct
from cidery.encoders.transformer import TransformerEncoder
from cidery.storage import CACHES, hash_library, list_versions

VECTORS = CACHES["embeddings"]
BATCH_SIZE = 4096
"""Number of captions encoded between two writes."""

PACKAGES = ("numpy", "protobuf", "sentencepiece", "tokenizers")
"""Packages that vectors depend on, apart from torch."""

_TOKEN = np.dtype([("id", "<i8"), ("special", "?")])


@dataclass(frozen=True)
class CachedEncoder(Encoder):
    """An encoder whose vectors are cached on disk.

    ```python
    get_encoder("minilm", keep=True).embed(["a dog runs"])   # the second time, from disk
    ```
    """

    encoder: TransformerEncoder

    @property
    def name(self) -> str:
        """Name of the encoder: cached vectors have the same bits."""
        return self.encoder.name

    @property
    def fingerprint(self) -> str:
        """Digest of the encoder's weights."""
        return self.encoder.fingerprint

    @property
    def files(self) -> str:
        """Digest of all files of the model, including its tokenizer."""
        return self.encoder.files

    @property
    def layers(self) -> int:
        """Number of its last layer."""
        return self.encoder.layers

    @property
    def window(self) -> int | None:
        """Maximum number of tokens of the encoder."""
        return self.encoder.window

    @property
    def kernel(self) -> str:
        """Compute kernel of the encoder."""
        return self.encoder.kernel

    def embed(self, captions: Sequence[str], threads: int = 0) -> Floats32:
        """Return float32[captions, width]: mean of each caption's states, scaled to length 1."""

        def encode(missing: list[str]) -> Iterator[bytes]:
            return (row.tobytes() for row in self.encoder.embed(missing, threads))

        distinct, places = number_distinct(captions)
        if not distinct:
            return self.encoder.embed([], threads)
        contents = self._find(distinct, "mean", encode)
        rows: Floats32 = np.stack([np.frombuffer(content, np.float32) for content in contents])
        return rows[places]

    def tokens(
        self, captions: Sequence[str], layer: int | None = None, threads: int = 0
    ) -> TokenStates:
        """Return the tokens of captions with their states in a layer; None: the last."""

        def encode(missing: list[str]) -> Iterator[bytes]:
            found = self.encoder.tokens(missing, layer, threads)
            return (_pack(found, found.rows(place)) for place in range(len(missing)))

        # One caption gives the width and the tokenizer.
        model = self.encoder.tokens([""], layer, threads)
        distinct, places = number_distinct(captions)
        number = self.layers if layer is None else layer
        contents = self._find(distinct, f"layer {number}", encode)
        size = _TOKEN.itemsize + 4 * model.states.shape[1]
        counts = np.asarray([len(content) // size for content in contents], np.int64)
        ends = np.cumsum(counts)
        heads = [
            content[: n * _TOKEN.itemsize] for content, n in zip(contents, counts, strict=True)
        ]
        tails = [
            content[n * _TOKEN.itemsize :] for content, n in zip(contents, counts, strict=True)
        ]
        tokens = np.frombuffer(b"".join(heads), _TOKEN)
        states = np.frombuffer(b"".join(tails), np.float32).reshape(-1, model.states.shape[1])
        return TokenStates(
            captions,
            states,
            tokens["id"].astype(np.int64),
            tokens["special"].copy(),
            (ends - counts)[places],
            ends[places],
            model.tokenize,
            model.vocabulary,
        )

    def _find(
        self, captions: list[str], what: str, encode: Callable[[list[str]], Iterator[bytes]]
    ) -> list[bytes]:
        """Return the cached content of each caption; missing ones are computed and saved."""
        # The library's code cuts long captions and computes vectors, the packages make tokens.
        packages = (*PACKAGES, "torch") if self.kernel.startswith("torch") else PACKAGES
        model = [
            *(self.name, self.files, self.kernel, self.window, what),
            *(hash_library(), list_versions(packages)),
        ]
        prefix = f"{json.dumps(model)}\n"
        keys = [
            hashlib.sha256(f"{prefix}{caption}".encode(errors="surrogatepass")).digest()
            for caption in captions
        ]
        found = VECTORS.load(keys)
        missing = [place for place, key in enumerate(keys) if key not in found]
        for start in range(0, len(missing), BATCH_SIZE):
            part = missing[start : start + BATCH_SIZE]
            contents = encode([captions[place] for place in part])
            made = {keys[place]: content for place, content in zip(part, contents, strict=True)}
            VECTORS.save(made)
            found |= made
        return [found[key] for key in keys]


def _pack(found: TokenStates, rows: slice) -> bytes:
    tokens = np.empty(rows.stop - rows.start, _TOKEN)
    tokens["id"], tokens["special"] = found.ids[rows], found.special[rows]
    return tokens.tobytes() + found.states[rows].tobytes()
