"""The file of document frequencies, which is memory-mapped.

It begins with 48 bytes (magic, version, length of the header, SHA-256 of that length and all that
follows), then a JSON header, then the arrays of the trie (see `native/frequencies.hpp`).
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cidery._native import FrequencyTrie
from cidery.errors import FrequenciesError
from cidery.frequencies.levels import Level

if TYPE_CHECKING:
    import hashlib

    from numpy.typing import NDArray
    from typing_extensions import Buffer

    from cidery.files import Readable

_MAGIC = b"CIDERYDF"
_VERSION = 1
_PREFIX = struct.Struct("<8sII32s")
_LARGE = 255
"""Counts from which they are stored separately, so that the others take one byte."""


@dataclass(frozen=True, eq=False)
class Payload:
    """Content of a file: a header of settings, and arrays by name."""

    header: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]]

    @property
    def words(self) -> tuple[str, ...]:
        """The vocabulary."""
        spelled = self.arrays["words"].tobytes()
        ends = [0, *self.arrays["word_ends"].tolist()]
        return tuple(spelled[start:end].decode() for start, end in pairwise(ends))

    def fingerprint(self) -> str:
        """Return twelve hexadecimal digits of a hash of the counts, without names."""
        digest = _sha256()
        counted = {k: v for k, v in self.header.items() if k not in ("name", "source")}
        digest.update(json.dumps(counted, sort_keys=True).encode())
        for key in sorted(self.arrays):
            digest.update(key.encode())
            digest.update(np.ascontiguousarray(self.arrays[key]).tobytes())
        return digest.hexdigest()[:12]

    def make_trie(self, words: Sequence[str]) -> FrequencyTrie:
        """Return the native form, for lookups."""
        none8, none32 = np.empty(0, np.uint8), np.empty(0, np.uint32)
        levels = [
            (
                self.arrays.get(f"{n}.words", none8).view(np.uint8),
                self.arrays[f"{n}.counts"],
                self.arrays.get(f"{n}.first_child", none32),
                self.arrays[f"{n}.large_entries"],
                self.arrays[f"{n}.large_counts"],
            )
            for n in range(1, self.header["order"] + 1)
        ]
        try:
            return FrequencyTrie(list(words), self.header["word_width"], levels)
        except ValueError as error:
            raise FrequenciesError(str(error)) from None


def pack(words: Sequence[str], levels: Sequence[Level], settings: Mapping[str, Any]) -> Payload:
    """Return the content of a file with this trie and these settings."""
    encoded = [word.encode() for word in words]
    width = 2 if len(words) <= 0xFFFF else 4
    arrays: dict[str, NDArray[Any]] = {
        "words": np.frombuffer(b"".join(encoded), np.uint8),
        "word_ends": np.cumsum([len(word) for word in encoded], dtype=np.uint32),
    }
    unpacked = list(levels)
    for n, level in enumerate(unpacked, start=1):
        large = np.flatnonzero(level.counts >= _LARGE).astype(np.uint32)
        arrays[f"{n}.counts"] = np.minimum(level.counts, _LARGE).astype(np.uint8)
        arrays[f"{n}.large_entries"] = large
        arrays[f"{n}.large_counts"] = level.counts[large].astype(np.uint32)
        if n > 1:
            arrays[f"{n}.words"] = level.words.astype(f"<u{width}")
        if n < len(unpacked):
            below = unpacked[n].parents
            children = np.searchsorted(below, np.arange(len(level.counts) + 1))
            arrays[f"{n}.first_child"] = children.astype(np.uint32)
    return Payload({**settings, "order": len(unpacked), "word_width": width}, arrays)


def encode(payload: Payload, fingerprint: str) -> bytes:
    """Return the content of the file."""
    sections: dict[str, list[int]] = {}
    body = bytearray()
    for key, array in payload.arrays.items():
        body.extend(b"\0" * (-len(body) % 8))
        sections[key] = [len(body), array.nbytes]
        body.extend(array.tobytes())
    header = {**payload.header, "fingerprint": fingerprint, "sections": sections}
    encoded = json.dumps(header, sort_keys=True, ensure_ascii=False).encode()
    encoded += b" " * (-len(encoded) % 8)
    checksum = _checksum(len(encoded), encoded + body)
    return _PREFIX.pack(_MAGIC, _VERSION, len(encoded), checksum) + encoded + body


def decode(source: Readable, name: str | None = None) -> Payload:
    """Return the content of a file; a path is memory-mapped, anything else is read."""
    if isinstance(source, str | os.PathLike):
        name = name or os.fspath(source)
        data = _map(Path(source))
    else:
        from cidery.files import read_bytes

        name, content = read_bytes(source, name=name, default="the content")
        data = np.frombuffer(content, np.uint8)
    start = data[: _PREFIX.size].tobytes()
    if len(start) < _PREFIX.size or not start.startswith(_MAGIC):
        raise FrequenciesError(
            f"{name} is not a document-frequency file of cidery; import a pickle with "
            "DocumentFrequencies.from_pickle (cidery frequencies import), count captions with "
            "DocumentFrequencies.from_references (cidery frequencies build)"
        )
    _, version, length, checksum = _PREFIX.unpack(start)
    if version != _VERSION:
        raise FrequenciesError(
            f"{name} has format version {version}; this cidery reads {_VERSION}: "
            "build the file again, or update cidery"
        )
    if _checksum(length, data[_PREFIX.size :].data) != checksum:
        raise FrequenciesError(f"{name} is damaged (its checksum is wrong); build it again")
    header = json.loads(data[_PREFIX.size : _PREFIX.size + length].tobytes())
    body = data[_PREFIX.size + length :]
    types = {"words": "u1", "counts": "u1"}  # an order's words are viewed by their width below
    arrays = {
        key: body[offset : offset + size].view(types.get(key.rpartition(".")[2], "<u4"))
        for key, (offset, size) in header["sections"].items()
    }
    return Payload(header, arrays)


def _map(path: Path) -> NDArray[np.uint8]:
    import mmap

    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size == 0:  # which cannot be mapped
            return np.empty(0, np.uint8)
        return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)


class PackedLevels(Sequence[Level]):
    """The levels of a file, unpacked only to merge or save them."""

    def __init__(self, payload: Payload) -> None:
        self._arrays = payload.arrays
        self._order: int = payload.header["order"]
        self._word_type = f"<u{payload.header['word_width']}"

    def __len__(self) -> int:
        return self._order

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(len(self))))
        if not 0 <= index < self._order:
            raise IndexError(index)
        n = index + 1
        counts = self._arrays[f"{n}.counts"].astype(np.uint32)
        counts[self._arrays[f"{n}.large_entries"]] = self._arrays[f"{n}.large_counts"]
        if n == 1:
            words = np.arange(len(counts), dtype=np.uint32)
            return Level(np.empty(0, np.uint32), words, counts)
        children = np.diff(self._arrays[f"{n - 1}.first_child"])
        parents = np.repeat(np.arange(len(children), dtype=np.uint32), children)
        words = self._arrays[f"{n}.words"].view(self._word_type).astype(np.uint32)
        return Level(parents, words, counts)


def _sha256() -> hashlib._Hash:
    import hashlib  # loads OpenSSL, which scoring does without

    return hashlib.sha256()


def _checksum(header_length: int, content: Buffer) -> bytes:
    digest = _sha256()
    digest.update(header_length.to_bytes(4, "little"))
    digest.update(content)
    return digest.digest()
