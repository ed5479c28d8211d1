"""Edits of texts before tokenization: what programs do to captions, and repairs of that."""

from __future__ import annotations

import html
import re
import string
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from cidery.text import KINDS, clean_captions

CLEANABLE = tuple(name for name, kind in KINDS.items() if kind.clean is not None)
"""Kinds of debris that can be removed."""
EVERY_KIND = "every-kind"
"""Name of the edit that removes all kinds of debris and wrongly decoded text."""

# -- repairs --------------------------------------------------------------------------------------

_SPECIAL = re.compile(
    r"<\|[^|<>]{1,30}\|>|</?(?:s|bos|eos|sos|start|end|unk|pad|sep|cls|mask|image|br|p)>|"
    r"\[(?:SEP|CLS|PAD|UNK|MASK|BOS|EOS|END|INST|/INST)\]|\b(?:startseq|endseq|UNK|EOS|BOS)\b|"
    r"(?<=\w)@@(?=\s|$)|(?:^|(?<=\s))##(?=\w)|[\u0120\u2581]",
)
_MOJIBAKE = re.compile(
    "[\u00c2\u00c3\u00e2\u00f0\u00d0\u00d1][\u0080-\u00bf\u0152-\u02dc\u2010-\u2122]"
)
_ESCAPE = re.compile(r"\\u[0-9a-f]{4}|\\[nrt](?![a-z])")


def has_special_tokens(caption: str) -> bool:
    """Return whether a caption has special tokens or marks of subwords."""
    return _SPECIAL.search(caption) is not None


def remove_special_tokens(caption: str) -> str:
    """Return the caption without special tokens and marks of subwords."""
    return " ".join(_SPECIAL.sub(" ", caption.replace("@@ ", "").replace(" ##", "")).split())


def has_mojibake(caption: str) -> bool:
    """Return whether UTF-8 was decoded as another encoding."""
    return "\ufffd" in caption or (
        not caption.isascii()
        and _MOJIBAKE.search(caption) is not None
        and decode_again(caption) != caption
    )


def decode_again(caption: str) -> str:
    """Undo one wrong decoding of UTF-8, where that is possible."""
    for encoding in ("cp1252", "latin-1"):
        try:
            return caption.encode(encoding).decode()
        except UnicodeError:
            continue
    return caption.replace("\ufffd", " ")


def has_escapes(caption: str) -> bool:
    """Return whether a caption has escape sequences of JSON."""
    return "\\" in caption and _ESCAPE.search(caption) is not None


def undo_escapes(caption: str) -> str:
    """Return the caption with its escape sequences replaced."""
    if "\\" not in caption:
        return caption
    plain = re.sub(r"\\[nrt](?![a-z])", " ", caption)
    return re.sub(r"\\u([0-9a-f]{4})", lambda found: chr(int(found[1], 16)), plain)


def _repair(caption: str) -> str:
    if has_mojibake(caption):
        caption = decode_again(caption)
    if has_escapes(caption):
        caption = undo_escapes(caption)
    return remove_special_tokens(caption) if has_special_tokens(caption) else caption


# -- edits ----------------------------------------------------------------------------------------

_SENTENCE = re.compile(r"(?<=[.!?])\s")
_ARTICLE = re.compile(r"\b(?:a|an|the)\b", re.IGNORECASE)
_DELETE = str.maketrans("", "", string.punctuation)
_TO_BLANKS = str.maketrans(dict.fromkeys(string.punctuation, " "))


def _split_sentences(caption: str) -> list[str]:
    return _SENTENCE.split(caption.strip()) or [""]


_LONGEST_PHRASE = 10
_SAME_SHARE = 0.4
"""Minimum share of the captions that have a phrase in common."""
_SAME_SHARE_LONGER = 0.85
"""Minimum share of these captions that have one more word in common."""


def find_same_words(texts: Sequence[str], *, is_end: bool = False) -> list[str]:
    """Return the longest phrase of several words with which many texts begin or end."""
    words = [text.split() for text in texts]
    phrase: list[str] = []
    count = _SAME_SHARE * len(texts)
    for length in range(1, _LONGEST_PHRASE + 1):
        counts = Counter(
            tuple(own[-length:] if is_end else own[:length]) for own in words if len(own) > length
        )
        longer, found = counts.most_common(1)[0] if counts else ((), 0)
        if found < count:
            break
        # A word that many captions have there, such as an article, is not of the phrase.
        phrase, count = list(longer), max(count, _SAME_SHARE_LONGER * found)
    return phrase if len(phrase) > 1 else []


def _remove_same_words(texts: list[str], spared: int, *, is_end: bool) -> list[str]:
    """Remove the phrase that many texts have in common, but for its inner `spared` words."""
    phrase = find_same_words(texts, is_end=is_end)
    phrase = phrase[spared:] if is_end else phrase[: len(phrase) - spared]
    if not phrase:
        return texts
    length, found = len(phrase), []
    for text in texts:
        words = text.split()
        if len(words) > length and (words[-length:] if is_end else words[:length]) == phrase:
            text = " ".join(words[:-length] if is_end else words[length:])
        found.append(text)
    return found


_PLAIN_EDITS: Mapping[str, Callable[[str], str]] = MappingProxyType(
    {
        "mojibake": lambda caption: decode_again(caption) if has_mojibake(caption) else caption,
        "escapes": undo_escapes,
        "subwords": remove_special_tokens,
        "escape": html.escape,
        "quote": lambda caption: f'"{caption}"',
        "first-sentence": lambda caption: _split_sentences(caption)[0],
        "last-sentence": lambda caption: _split_sentences(caption)[-1],
        "first-line": lambda caption: caption.strip().partition("\n")[0],
        "until-comma": lambda caption: caption.partition(",")[0],
        "first-word-lost": lambda caption: " ".join(caption.split()[1:]),
        "last-word-lost": lambda caption: " ".join(caption.split()[:-1]),
        "last-character-lost": lambda caption: caption.rstrip()[:-1],
        "first-character-lost": lambda caption: caption.lstrip()[1:],
        "twice": lambda caption: f"{caption} {caption}",
        "distinct-words": lambda caption: " ".join(dict.fromkeys(caption.split())),
        "without-punctuation": lambda caption: caption.lower().translate(_DELETE),
        "punctuation-to-blanks": lambda caption: caption.lower().translate(_TO_BLANKS),
        "without-articles": lambda caption: _ARTICLE.sub(" ", caption),
        "answer-of-vqa": lambda caption: _ARTICLE.sub(" ", caption.lower().translate(_DELETE)),
        "ascii": lambda caption: caption.encode("ascii", "ignore").decode(),
    }
)
_COUNTED_EDITS: Mapping[str, Callable[[str, int], str]] = MappingProxyType(
    {
        "first-words": lambda caption, count: " ".join(caption.split()[:count]),
        "first-characters": lambda caption, count: caption[:count],
        "words-dropped": lambda caption, count: " ".join(caption.split()[count:]),
    }
)
_TEXT_EDITS: Mapping[str, Callable[[str, str], str]] = MappingProxyType(
    {
        "append": lambda caption, text: f"{caption}{text}",
        "prepend": lambda caption, text: f"{text}{caption}",
    }
)


@dataclass(frozen=True)
class TextEdit:
    """Change of texts before they are tokenized."""

    name: str = ""
    """Name of the edit, or of a kind of debris that is removed; empty: none."""
    count: int = 0
    """Number of words or characters; of a phrase that captions have in common, those left."""
    text: str = ""
    """Text that is added."""
    sides: Literal["candidates", "references", "both"] = "candidates"

    @property
    def is_of_candidates(self) -> bool:
        """True where candidates are changed."""
        return bool(self.name) and self.sides != "references"

    @property
    def is_of_references(self) -> bool:
        """True where references are changed."""
        return bool(self.name) and self.sides != "candidates"

    def apply(self, texts: Sequence[str]) -> list[str]:
        """Return the changed texts."""
        if self.name == EVERY_KIND:
            return list(map(_repair, clean_captions(list(texts), CLEANABLE)))
        if self.name in ("same-beginning", "same-ending"):
            return _remove_same_words(list(texts), self.count, is_end=self.name == "same-ending")
        if self.name in KINDS:
            return clean_captions(list(texts), [self.name])
        if self.name in _PLAIN_EDITS:
            return list(map(_PLAIN_EDITS[self.name], texts))
        if self.name in _COUNTED_EDITS:
            counted = _COUNTED_EDITS[self.name]
            return [counted(text, self.count) for text in texts]
        if self.name in _TEXT_EDITS:
            change = _TEXT_EDITS[self.name]
            return [change(text, self.text) for text in texts]
        return list(texts)


NO_EDIT = TextEdit()
