"""Reader of document frequencies in pickles of other training code."""

from __future__ import annotations

import io
import math
import pickle
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from cidery.errors import FrequenciesError
from cidery.files.sources import (
    Readable,
    collector_paused,
    read_bytes,
    shorten,
)


@dataclass(frozen=True, slots=True)
class FrequencyCounts:
    """Number of images of each n-gram, and the logarithm of the number of images."""

    counts: dict[tuple[str, ...], float]
    log_image_count: float


def read_frequency_pickle(
    source: Readable, *, name: str | None = None, image_count: int | None = None
) -> FrequencyCounts:
    """Read document frequencies from pickles of other training code.

    Understood are `{'df': counts, 'ref_len': x}`, `{'document_frequency': counts, 'ref_len': x}`
    and bare counts, by Python 2 and 3. N-grams are tuples of words or of token ids, or joined by
    blanks. Only dicts, numbers and text are unpickled; anything else is refused before it can run.

    Some tools store the number of images as `ref_len`, others its logarithm. A number of images is
    whole, and the logarithm of a whole number above 1 never is: that tells them apart.

    Args:
        source: The pickle, plain or gzipped: a path, bytes or a file open in binary mode.
        name: What messages call it; by default the path or the open file's name.
        image_count: The number of images, where the file has none or a wrong one.
    """
    name, content = read_bytes(source, name=name, default="the pickle")
    document = _unpickle(name, content)
    if not isinstance(document, dict):
        raise FrequenciesError(f"{name}: expected a dict, not {type(document).__name__}")
    top = {key.decode("latin1") if isinstance(key, bytes) else key: key for key in document}
    wrapper = next((key for key in ("df", "document_frequency") if key in top), None)
    counts = _check_counts(name, document if wrapper is None else document[top[wrapper]])
    length = document[top["ref_len"]] if wrapper is not None and "ref_len" in top else None
    most = max(counts.values())
    return FrequencyCounts(counts, _log_image_count(name, length, image_count, most))


def _log_image_count(name: str, length: Any, image_count: int | None, most: float) -> float:
    """Return the logarithm of the number of images, which is at least the largest count."""
    if image_count is not None:
        if image_count < most:
            raise FrequenciesError(
                f"{name}: an n-gram occurs in {most:.0f} images, so image_count={image_count} "
                "(--images) is too small"
            )
        return math.log(image_count)
    if length is None:
        raise FrequenciesError(
            f"{name}: the file does not say how many images were counted; pass image_count= "
            "(--images), 40504 for coco-val-df.p, which counts COCO val2014"
        )
    if (
        isinstance(length, bool)
        or not isinstance(length, int | float)
        or not 0 <= length < math.inf
    ):
        raise FrequenciesError(
            f"{name}: 'ref_len' is {length!r}, expected the number of images or its logarithm; "
            "pass image_count= (--images)"
        )
    is_logarithm = length == 0 or length != int(length)
    logarithm = float(length) if is_logarithm else math.log(length)
    # Half an image of tolerance: the logarithm may have been rounded.
    if logarithm < math.log(max(most - 0.5, 0.5)):
        raise FrequenciesError(
            f"{name}: 'ref_len' is {length!r}, too small as the number of images or its logarithm: "
            f"an n-gram occurs in {most:.0f} images; pass image_count= (--images)"
        )
    return logarithm


def _check_counts(name: str, given: Any) -> dict[tuple[str, ...], float]:
    """Return counts by tuples of words, without the zeros that lookups leave in a defaultdict."""
    if not isinstance(given, dict) or not given:
        raise FrequenciesError(f"{name}: expected a dict of counts by n-gram, not {shorten(given)}")
    values = list(given.values())
    if not set(map(type, values)) <= {int, float} or not all(0 <= x < math.inf for x in values):
        ngram, value = next(
            (ngram, value)
            for ngram, value in given.items()
            if type(value) not in (int, float) or not 0 <= value < math.inf
        )
        raise FrequenciesError(f"{name}: the count of {ngram!r} is {value!r}, expected a number")
    ngrams: Iterable[Any] = given
    if set(map(type, given)) != {tuple} or set(map(type, chain.from_iterable(given))) != {str}:
        ngrams = [_ngram(name, key) for key in given]
    counts = {ngram: float(value) for ngram, value in zip(ngrams, values, strict=True) if value}
    if not counts:
        raise FrequenciesError(f"{name}: all counts are zero")
    return counts


def _ngram(name: str, key: Any) -> tuple[str, ...]:
    """Return an n-gram as a tuple of words; token ids become their digits."""
    parts = key.split() if isinstance(key, str | bytes) else key
    if isinstance(parts, tuple | list) and parts:
        words = tuple(_word(part) for part in parts)
        if None not in words:
            return words  # type: ignore[return-value]  # just checked
    raise FrequenciesError(
        f"{name}: {key!r} is not an n-gram: expected a tuple of words or token ids"
    )


def _word(part: Any) -> str | None:
    if isinstance(part, bytes):  # text of Python 2, in whatever encoding the captions had
        try:
            return part.decode()
        except UnicodeDecodeError:
            return part.decode("latin1")
    if isinstance(part, str):
        return part
    return str(part) if type(part) is int else None


def _unpickle(name: str, content: bytes) -> Any:
    try:
        with collector_paused():
            return _FrequencyUnpickler(io.BytesIO(content), encoding="bytes").load()
    except _RefusedError as refused:
        raise FrequenciesError(
            f"{name}: refused to load {refused} from the pickle; document frequencies need only "
            "dicts, numbers and text, and other objects can run any code"
        ) from None
    except Exception as error:  # damaged pickles raise nearly anything
        raise FrequenciesError(f"{name}: not a complete pickle: {error}") from None


class _RefusedError(Exception):
    """A pickle asks for something that document frequencies do not need."""


class _FrequencyUnpickler(pickle.Unpickler):
    """An unpickler for the few classes that document frequencies consist of.

    What it hands out are built-in types, which cannot be changed by a pickle, and methods bound to
    this object: never a function or class of another module.
    """

    def find_class(self, module: str, name: str) -> Any:
        """Return a substitute for a class, or raise an error."""
        known = {
            ("collections", "defaultdict"): defaultdict,
            ("collections", "OrderedDict"): dict,
            ("collections", "Counter"): dict,
            ("numpy", "dtype"): self._dtype,
            ("numpy.core.multiarray", "scalar"): self._scalar,
            ("numpy._core.multiarray", "scalar"): self._scalar,
            ("_codecs", "encode"): self._encode,
        }
        for builtins in ("builtins", "__builtin__"):
            known |= {
                (builtins, kind.__name__): kind for kind in (dict, list, tuple, set, int, float)
            }
            known[builtins, "long"] = int
        try:
            return known[module, name]
        except KeyError:
            raise _RefusedError(f"{module}.{name}") from None

    def _dtype(self, code: str | bytes, *_: Any) -> _NumberType:
        return _NumberType(code.decode("ascii") if isinstance(code, bytes) else code)

    def _scalar(self, number_type: _NumberType, raw: bytes) -> int | float:
        return number_type.unpack(raw)

    def _encode(self, text: str, encoding: str) -> bytes:
        """Return the bytes that protocol 2 encodes as text."""
        if encoding != "latin1":
            raise _RefusedError(f"an encoder for {encoding!r}")
        return text.encode("latin1")


class _NumberType:
    """The part of `numpy.dtype` that a pickled number needs."""

    def __init__(self, code: str) -> None:
        if not re.fullmatch("[fiu][1248]", code):
            raise _RefusedError(f"a NumPy {code!r}")
        self.code = code

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        order = state[1].decode("ascii") if isinstance(state[1], bytes) else state[1]
        self.code = order.replace("|", "") + self.code

    def unpack(self, raw: bytes) -> int | float:
        """Return the number that the bytes spell."""
        number: int | float = np.frombuffer(raw, self.code)[0].item()
        return number
