"""The script of characters and captions: Latin, Han, Thai, … as Unicode has them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import filterfalse
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

CHINESE = "Chinese"
JAPANESE = "Japanese"
_KANA = ("Hiragana", "Katakana")
_IDEOGRAPHIC = ("Han", "Bopomofo", *_KANA)

UNSPACED_SCRIPTS = (
    *_IDEOGRAPHIC,
    *("Thai", "Lao", "Khmer", "Myanmar", "Tibetan", "Javanese", "Balinese", "Yi"),
    *("Tai Le", "New Tai Lue", "Tai Tham", "Tai Viet", "Ahom", "Nushu", "Tangut"),
)
"""Scripts without spaces between words: UAX #14's complex contexts and ideographs."""

_JAPANESE_SHARE = 0.1
"""Minimum share of captions with kana that makes captions in Han characters Japanese."""


@lru_cache(maxsize=1)
def _read_table() -> tuple[NDArray[np.int64], NDArray[np.int64], tuple[str, ...]]:
    """Return the starts, ends and scripts of ranges of characters."""
    text = Path(__file__).with_name("scripts.txt").read_text(encoding="utf-8")
    rows = [line.split(" ", 2) for line in text.splitlines() if not line.startswith("#")]
    starts, ends = (np.array([int(row[i], 16) for row in rows], np.int64) for i in (0, 1))
    return starts, ends, tuple(row[2] for row in rows)


@lru_cache(maxsize=1 << 12)
def find_script(character: str) -> str | None:
    """Return the script of a character; None if scripts share it, as digits.

    ```python
    find_script("犬")   # "Han"
    ```
    """
    return _find_scripts(np.array([ord(character)]))[0]


def _find_scripts(codes: NDArray[np.int64]) -> list[str | None]:
    starts, ends, names = _read_table()
    places = np.searchsorted(starts, codes, side="right") - 1
    return [
        names[place] if place >= 0 and code <= ends[place] else None
        for place, code in zip(places.tolist(), codes.tolist(), strict=True)
    ]


@lru_cache(maxsize=1)
def _number_scripts() -> tuple[NDArray[np.uint8], tuple[str | None, ...]]:
    """Return the script number of every character, and the scripts by number; 0: none."""
    starts, ends, names = _read_table()
    known = tuple(dict.fromkeys(names))
    numbers = {name: number for number, name in enumerate(known, start=1)}
    table = np.zeros(0x110000, np.uint8)
    for start, end, name in zip(starts.tolist(), ends.tolist(), names, strict=True):
        table[start : end + 1] = numbers[name]
    return table, (None, *known)


@dataclass(frozen=True, eq=False)
class Scripts:
    """Scripts of captions."""

    text: str
    """Captions joined by newlines."""
    distinct: str
    """Distinct characters."""
    kinds: tuple[str | None, ...]
    main: NDArray[np.intp]
    """intp[captions]: index in `kinds` of the script of most characters."""

    @classmethod
    def find(cls, captions: Sequence[str]) -> Scripts:
        """Find the scripts of captions that are not empty."""
        text = "\n".join(captions)
        if not captions:
            return cls(text, "", (None,), np.zeros(0, np.intp))
        # As indexes, or NumPy would convert them at each use.
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.intp)
        seen = np.zeros(int(codes.max()) + 1, bool)
        seen[codes] = True
        distinct = "".join(map(chr, np.flatnonzero(seen).tolist()))
        lengths = np.fromiter(map(len, captions), np.int64, len(captions)) + 1
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        return cls(text, distinct, *_classify(codes, starts, distinct))

    def count(self) -> Counter[str]:
        """Return the number of captions of each script."""
        sizes = np.bincount(self.main, minlength=len(self.kinds)).tolist()
        found: Counter[str] = Counter()
        for kind, size in zip(self.kinds, sizes, strict=True):
            if kind is not None and size:
                found[kind] += size
        return found


def _classify(
    codes: NDArray[np.intp], starts: NDArray[np.int64], distinct: str
) -> tuple[tuple[str | None, ...], NDArray[np.intp]]:
    """Return kinds of scripts, and the kind of each caption; `starts` are caption offsets."""
    table, names = _number_scripts()
    present = np.unique(table[np.fromiter(map(ord, distinct), np.int64, len(distinct))])
    groups: dict[str, list[int]] = {}
    for number in present.tolist():
        name = names[number]
        if name is not None:
            groups.setdefault(CHINESE if name in _IDEOGRAPHIC else name, []).append(number)
    if not groups:
        return (None,), np.zeros(len(starts), np.intp)
    scripts = table.take(codes)
    kinds = tuple(sorted(groups))
    if len(kinds) == 1:
        main = np.where(_has(scripts, groups[kinds[0]], starts), 0, 1)
    else:
        counts = np.stack([_count(scripts, groups[kind], starts) for kind in kinds])
        main = np.where(counts.max(axis=0) > 0, counts.argmax(axis=0), len(kinds))
    kana = [number for number in groups.get(CHINESE, ()) if names[number] in _KANA]
    if kana:
        chinese = main == kinds.index(CHINESE)
        with_kana = _has(scripts, kana, starts)
        mostly = np.count_nonzero(with_kana[chinese]) >= _JAPANESE_SHARE * max(1, chinese.sum())
        main[chinese & (with_kana | mostly)] = len(kinds) + 1
    return (*kinds, None, JAPANESE), main


def _count(
    scripts: NDArray[np.uint8], numbers: Sequence[int], starts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Count, in each caption, the characters of scripts with these numbers."""
    before = np.concatenate([[0], np.cumsum(_find(scripts, numbers), dtype=np.int64)])
    return np.diff(before[starts], append=before[-1])


def _has(
    scripts: NDArray[np.uint8], numbers: Sequence[int], starts: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return True for captions with a character of scripts with these numbers."""
    return np.asarray(np.logical_or.reduceat(_find(scripts, numbers), starts), np.bool_)


def _find(scripts: NDArray[np.uint8], numbers: Sequence[int]) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = np.equal(scripts, numbers[0])
    for number in numbers[1:]:
        found |= scripts == number
    return found


def classify_scripts(captions: Sequence[str]) -> list[str | None]:
    """Return the script that most characters of each caption have; None where there are none.

    Han characters, kana or both are `Chinese` or `Japanese`, by the kana in all captions.

    ```python
    classify_scripts(["a dog", "一只狗", "5"])   # ["Latin", "Chinese", None]
    ```
    """
    scripts = Scripts.find(list(filterfalse(str.isascii, captions)))
    found = iter(scripts.main.tolist())
    return [
        (_classify_ascii(caption) if caption.isascii() else scripts.kinds[next(found)])
        for caption in captions
    ]


def count_latin(captions: Iterable[str]) -> int:
    """Count captions in plain ASCII that have a letter."""
    return sum(_classify_ascii(caption) is not None for caption in captions if caption.isascii())


def _classify_ascii(caption: str) -> str | None:
    # Nearly all begin with a letter.
    return "Latin" if caption[:1].isalpha() or any(map(str.isalpha, caption)) else None
