"""Columns of captions in UTF-8, as Arrow stores them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload
from unicodedata import is_normalized

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class TextColumn(Sequence[str]):
    """Arrow array of strings without nulls, which native tokenizers read without copying.

    All captions become Python strings when the first is read.
    """

    def __init__(self, array: Any) -> None:
        """Store the array."""
        self._array = array

    @cached_property
    def texts(self) -> list[str]:
        """The captions as Python strings."""
        texts: list[str] = self._array.to_pylist()
        return texts

    def __len__(self) -> int:
        return len(self._array)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        return self.texts[place]

    def __iter__(self) -> Iterator[str]:
        return iter(self.texts)

    @cached_property
    def utf8(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Bytes of all captions, and their offsets."""
        _, offsets, content = self._array.buffers()
        count, first = len(self._array), self._array.offset
        if offsets is None or content is None:
            return np.empty(0, np.uint8), np.zeros(count + 1, np.int64)
        ends = np.frombuffer(offsets, np.int32)[first : first + count + 1].astype(np.int64)
        return np.frombuffer(content, np.uint8)[ends[0] : ends[-1]], ends - ends[0]

    @cached_property
    def is_normal(self) -> bool:
        """True if all captions are in Unicode's normal form C."""
        content, ends = self.utf8
        unusual = np.flatnonzero(content >= 0x80)
        rows = np.unique(np.searchsorted(ends, unusual, side="right") - 1)
        return all(is_normalized("NFC", text) for text in self._array.take(rows).to_pylist())
