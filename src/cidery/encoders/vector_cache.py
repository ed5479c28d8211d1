"""Vectors in the user's cache directory, by caption, model and layer."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cidery.encoders.base import Encoder, Floats32, TokenStates, number_distinct
from cidery.storage import CACHES

VECTORS = CACHES["embeddings"]
AT_ONCE = 4096
"""Captions that are encoded, then kept: what is lost when the work is stopped."""

_TOKEN = np.dtype([("id", "<i8"), ("special", "?")])


@dataclass(frozen=True)
class CachedEncoder(Encoder):
    """An encoder whose vectors are kept on disk: it sees each caption once on this machine.

    ```python
    get_encoder("minilm", keep=True).embed(["a dog runs"])   # the second time, from the disk
    ```
    """

    encoder: Encoder
    files: str
    """A digest of all of the model's files: vectors depend on its tokenizer, too."""

    @property
    def name(self) -> str:
        """The encoder's own name: what is kept is the same to the bit."""
        return self.encoder.name

    @property
    def fingerprint(self) -> str:
        """The digest of the encoder's weights."""
        return self.encoder.fingerprint

    @property
    def layers(self) -> int:
        """The number of its last layer."""
        return self.encoder.layers

    @property
    def window(self) -> int | None:
        """How many tokens the encoder sees at once."""
        return self.encoder.window

    @property
    def kernel(self) -> str:
        """What the encoder computes with."""
        return self.encoder.kernel

    def embed(self, captions: Sequence[str], threads: int = 0) -> Floats32:
        """Return float32[captions, width]: the mean of each caption's states, of length 1."""

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
        """Return the tokens of all captions with their states in that layer; None: the last."""

        def encode(missing: list[str]) -> Iterator[bytes]:
            found = self.encoder.tokens(missing, layer, threads)
            return (_pack(found, found.rows(place)) for place in range(len(missing)))

        # One caption gives the width and how captions are cut, whatever is kept.
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
            model.cut,
            model.vocabulary,
        )

    def _find(
        self, captions: list[str], what: str, encode: Callable[[list[str]], Iterator[bytes]]
    ) -> list[bytes]:
        """Return what is kept of each caption; what is not is made, and kept."""
        model = "\n".join((self.name, self.files, self.kernel, f"split at {self.window}", what))
        keys = [
            hashlib.sha256(f"{model}\n{caption}".encode(errors="surrogatepass")).digest()
            for caption in captions
        ]
        found = VECTORS.load(keys)
        missing = [place for place, key in enumerate(keys) if key not in found]
        for start in range(0, len(missing), AT_ONCE):
            part = missing[start : start + AT_ONCE]
            contents = encode([captions[place] for place in part])
            made = {keys[place]: content for place, content in zip(part, contents, strict=True)}
            VECTORS.save(made)
            found |= made
        return [found[key] for key in keys]


def _pack(found: TokenStates, rows: slice) -> bytes:
    tokens = np.empty(rows.stop - rows.start, _TOKEN)
    tokens["id"], tokens["special"] = found.ids[rows], found.special[rows]
    return tokens.tobytes() + found.states[rows].tobytes()
