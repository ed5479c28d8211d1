"""Normalization of captions: normal form, widths, invisible characters, case."""

from __future__ import annotations

import re
from unicodedata import normalize

# A zero-width joiner or non-joiner is part of the spelling in Arabic and Indic scripts and of
# emoji, but not after the letters named here.
INVISIBLE = re.compile(
    "[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]"
    "|(?<=[A-Za-z\u00c0-\u052f\u3040-\u30ff\u4e00-\u9fff])[\u200c\u200d]"
)
_WIDTHS = re.compile("[\u3000\uff01-\uff9f\uffe0-\uffee]+")
# Thai, Lao, Khmer and Burmese texts may mark where a word ends by a zero-width space.
_WORD_END = re.compile("(?<=[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff])\u200b")


def clean_caption(caption: str) -> str:
    """Return a caption in lower case, normal form C, usual widths, without invisible characters.

    ```python
    clean_caption("Ａ ｶﾞ Cafe\u0301")   # "a ガ café"
    ```
    """
    if caption.isascii():
        return caption.lower()
    usual = _WIDTHS.sub(lambda found: normalize("NFKC", found[0]), caption)
    return normalize("NFC", INVISIBLE.sub("", _WORD_END.sub(" ", usual))).lower()
