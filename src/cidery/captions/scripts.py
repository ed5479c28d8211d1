"""The script of characters and captions: Latin, Han, Thai, … as Unicode has them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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

WITHOUT_BLANKS = (
    *_IDEOGRAPHIC,
    *("Thai", "Lao", "Khmer", "Myanmar", "Tibetan", "Javanese", "Balinese", "Yi"),
    *("Tai Le", "New Tai Lue", "Tai Tham", "Tai Viet", "Ahom", "Nushu", "Tangut"),
)
"""Scripts that put no blank between words: UAX #14's complex contexts and ideographs."""

_JAPANESE_SHARE = 0.1
"""Of captions with Han characters: where so many have kana, the others are Japanese too."""


@lru_cache(maxsize=1)
def _read_table() -> tuple[NDArray[np.int64], NDArray[np.int64], tuple[str, ...]]:
    """Return where ranges begin, where they end, and their scripts."""
    text = Path(__file__).with_name("scripts.txt").read_text(encoding="utf-8")
    rows = [line.split(" ", 2) for line in text.splitlines() if not line.startswith("#")]
    starts, ends = (np.array([int(row[i], 16) for row in rows], np.int64) for i in (0, 1))
    return starts, ends, tuple(row[2] for row in rows)


@lru_cache(maxsize=1 << 12)
def find_script(character: str) -> str | None:
    """Return the script of a character; None for what all scripts share, such as digits.

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


def classify_scripts(captions: Sequence[str]) -> list[str | None]:
    """Return the script that most characters of each caption have; None where there are none.

    Han characters, kana or both are `Chinese` or `Japanese`, by the kana in all captions.

    ```python
    classify_scripts(["a dog", "一只狗", "5"])   # ["Latin", "Chinese", None]
    ```
    """
    mixed = list(filterfalse(str.isascii, captions))
    found = iter(_classify(mixed))
    return [
        (_classify_ascii(caption) if caption.isascii() else next(found)) for caption in captions
    ]


def _classify_ascii(caption: str) -> str | None:
    # Nearly all begin with a letter.
    return "Latin" if caption[:1].isalpha() or any(map(str.isalpha, caption)) else None


def _classify(captions: Sequence[str]) -> list[str | None]:
    """The same for captions that are not plain ASCII, over all their characters at once."""
    if not captions:
        return []
    text = "".join(captions).encode("utf-32-le", "surrogatepass")
    distinct, places = np.unique(np.frombuffer(text, np.uint32), return_inverse=True)
    scripts = _find_scripts(distinct.astype(np.int64))
    groups = [CHINESE if script in _IDEOGRAPHIC else script for script in scripts]
    names = sorted({group for group in groups if group is not None})
    if not names:
        return [None] * len(captions)
    columns = np.array([names.index(g) if g is not None else len(names) for g in groups])
    owners = np.repeat(np.arange(len(captions)), list(map(len, captions)))
    width = len(names) + 1
    counts = np.bincount(owners * width + columns[places], minlength=len(captions) * width)
    table = counts.reshape(len(captions), width)[:, :-1]
    main = np.where(table.max(axis=1) > 0, table.argmax(axis=1), len(names))
    kana = np.array([script in _KANA for script in scripts])[places]
    with_kana = np.bincount(owners, weights=kana, minlength=len(captions)) > 0
    found = [(*names, None)[place] for place in main.tolist()]
    return list(_tell_japanese(found, with_kana.tolist()))


def _tell_japanese(found: Sequence[str | None], with_kana: Sequence[bool]) -> Iterable[str | None]:
    ideographic = [kana for script, kana in zip(found, with_kana, strict=True) if script == CHINESE]
    mostly = sum(ideographic) >= _JAPANESE_SHARE * max(1, len(ideographic))
    for script, kana in zip(found, with_kana, strict=True):
        yield JAPANESE if script == CHINESE and (mostly or kana) else script
