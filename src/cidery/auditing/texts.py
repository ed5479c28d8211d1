"""How other evaluation code cuts captions into words: whole lists of captions in, words out.

A cutter takes a list of captions and returns as many texts, whose words are separated by blanks.
Most work on all captions at once, one per line, which is much faster than one by one.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

from cidery import _native
from cidery.captions.tokenizers import STOP_WORDS, get_stemmer

Cutter: TypeAlias = Callable[[list[str]], list[str]]

_NO_WORD = "\ue000"
"""Stands for the empty word that two blanks have between them; from Unicode's private use area."""


@dataclass(frozen=True)
class TextWay:
    """How both sides are cut, and a second reading that some programs have."""

    candidates: Cutter
    references: Cutter
    other: str | None = None
    """The name of a way that gives nearly the same words, which other code may have used."""


def _by_line(change: Callable[[str], str]) -> Cutter:
    """Return a cutter that changes all captions at once; `change` keeps the ends of lines."""

    def cut(captions: list[str]) -> list[str]:
        lines = "\n".join(" ".join(caption.splitlines()) for caption in captions)
        return change(lines).split("\n")

    return cut


def keep(captions: list[str]) -> list[str]:
    """Change nothing: words are what blanks separate."""
    return captions


def _cut_ptb(captions: list[str]) -> list[str]:
    return _join(_native.ptb_tokens(captions))


def _cut_ptb_document(captions: list[str]) -> list[str]:
    return _join(_native.ptb_tokens(captions, document=True))


def _cut_ptb_with_punctuation(captions: list[str]) -> list[str]:
    return _join(_native.ptb_tokens(captions, clean=False))


def _join(tokens: list[list[str]]) -> list[str]:
    return list(map(" ".join, tokens))


def _with_case(clean: bool) -> Cutter:
    """Return a cutter by Penn Treebank rules that keeps capitals."""

    def cut(captions: list[str]) -> list[str]:
        tokens = _native.ptb_tokens(captions, clean=clean)
        return [_restore_case(caption, words) for caption, words in zip(captions, tokens, strict=True)]

    return cut


def _restore_case(caption: str, words: list[str]) -> str:
    """Return the words as the caption spells them; those that it does not have stay as they are."""
    lower = caption.lower()
    if lower == caption or len(lower) != len(caption):
        return " ".join(words)
    found, place = [], 0
    for word in words:
        start = lower.find(word, place)
        if start < 0:
            found.append(word)
            continue
        place = start + len(word)
        found.append(caption[start:place])
    return " ".join(found)


def _split_at_each_blank(captions: list[str]) -> list[str]:
    """Cut as `split(" ")` does, where two blanks have an empty word between them."""
    if not any("  " in caption or caption[:1] == " " or caption[-1:] == " " for caption in captions):
        return captions
    return [
        " ".join(word if word.strip() else _NO_WORD for word in caption.split(" "))
        for caption in captions
    ]


_DELETE = str.maketrans("", "", string.punctuation)
_NOT_WORD = re.compile(r"[^\w\n]+")
_PUNCTUATION_RUN = re.compile(r"([^\w\s]+)")
_PUNCTUATION = re.compile(r"([^\w\s]|_)")

# After the rules of the Penn Treebank's tokenizer, as taggers and NLTK apply them.
_TREEBANK = tuple(
    (re.compile(pattern, re.MULTILINE | re.IGNORECASE), replacement)
    for pattern, replacement in (
        (r'^"', "`` "),
        (r'([ (\[{<])"', r"\1 `` "),
        (r"([:,])([^\d\n])", r" \1 \2"),
        (r"([:,])$", r" \1 "),
        (r"\.\.\.", " ... "),
        (r"([;@#$%&?!])", r" \1 "),
        (r"([^.\s])(\.)([\])}>\"']*)[^\S\n]*$", r"\1 \2 \3 "),
        (r"([a-z]{2,}|[)\"'])(\.)([\])}>\"']*)(?=[^\S\n]+(?-i:[A-Z]))", r"\1 \2 \3 "),
        (r"([][(){}<>])", r" \1 "),
        (r"--", " -- "),
        (r'"', " '' "),
        (r"([^'\n])(' )", r"\1 ' "),
        (r"('s|'m|'d|'ll|'re|'ve|n't)(?![\w'])", r" \1"),
        (r"\b(can)(not)\b", r"\1 \2"),
        (r"\b(gon|wan)(na)\b", r"\1 \2"),
    )
)


def _cut_treebank(lines: str) -> str:
    for pattern, replacement in _TREEBANK:
        lines = pattern.sub(replacement, lines)
    return lines


# The rules of NIST's mteval-v13a.pl, which sacreBLEU and others apply.
_MTEVAL = tuple(
    (re.compile(pattern, re.MULTILINE), replacement)
    for pattern, replacement in (
        (r"([\{-\~\[-\` -\&\(-\+\:-\@\/])", r" \1 "),
        (r"([^0-9\n])([\.,])", r"\1 \2 "),
        (r"([\.,])([^0-9\n])", r" \1 \2"),
        (r"([\.,])$", r" \1"),
        (r"([0-9])(-)", r"\1 \2 "),
    )
)


def _cut_mteval(lines: str) -> str:
    for pattern, replacement in _MTEVAL:
        lines = pattern.sub(replacement, lines)
    return lines


def _keep_long_words(captions: list[str]) -> list[str]:
    """Lower case, no punctuation, and only words of two and more letters."""
    return [
        " ".join(w for w in caption.lower().translate(_DELETE).split() if len(w) > 1 and w.isalpha())
        for caption in captions
    ]


def _spell(captions: list[str]) -> list[str]:
    """Make every character a word."""
    return [" ".join(caption.replace(" ", "\u2423")) for caption in captions]


def _spell_without_blanks(captions: list[str]) -> list[str]:
    return [" ".join(caption.replace(" ", "")) for caption in captions]


def _stem(captions: list[str]) -> list[str]:
    stem = get_stemmer("english")
    known: dict[str, str] = {}
    tokens = _native.ptb_tokens(captions)
    words = sorted({word for caption in tokens for word in caption})
    known = dict(zip(words, stem(words), strict=True))
    return [" ".join(known[word] for word in caption) for caption in tokens]


def _drop_stop_words(captions: list[str]) -> list[str]:
    stops = STOP_WORDS["english"]
    return [
        " ".join(word for word in caption if word not in stops)
        for caption in _native.ptb_tokens(captions)
    ]


def _lower(captions: list[str]) -> list[str]:
    return list(map(str.lower, captions))


def _both(cut: Cutter, other: str | None = None) -> TextWay:
    return TextWay(cut, cut, other)


WAYS: Mapping[str, TextWay] = MappingProxyType(
    {
        "ptb": _both(_cut_ptb, "ptb-coco"),
        "ptb-coco": _both(_cut_ptb_document),
        "ptb+case": _both(_with_case(clean=True)),
        "ptb+punctuation": _both(_cut_ptb_with_punctuation),
        "ptb+case+punctuation": _both(_with_case(clean=False)),
        "split": _both(keep, "each-blank"),
        "each-blank": _both(_split_at_each_blank),
        "lower-split": _both(_lower, "lower-each-blank"),
        "lower-each-blank": _both(lambda captions: _split_at_each_blank(_lower(captions))),
        "references-split": TextWay(_cut_ptb, keep),
        "candidates-split": TextWay(keep, _cut_ptb),
        "references-lower-split": TextWay(_cut_ptb, _lower),
        "treebank": _both(_by_line(_cut_treebank)),
        "treebank-lower": _both(_by_line(lambda lines: _cut_treebank(lines).lower())),
        "words": _both(_by_line(lambda lines: _NOT_WORD.sub(" ", lines.lower()))),
        "words+case": _both(_by_line(lambda lines: _NOT_WORD.sub(" ", lines))),
        "wordpunct": _both(_by_line(lambda lines: _PUNCTUATION_RUN.sub(r" \1 ", lines.lower()))),
        "wordpunct+case": _both(_by_line(lambda lines: _PUNCTUATION_RUN.sub(r" \1 ", lines))),
        "each-mark": _both(_by_line(lambda lines: _PUNCTUATION.sub(r" \1 ", lines.lower()))),
        "each-mark+case": _both(_by_line(lambda lines: _PUNCTUATION.sub(r" \1 ", lines))),
        "deleted": _both(_by_line(lambda lines: lines.lower().translate(_DELETE))),
        "deleted+case": _both(_by_line(lambda lines: lines.translate(_DELETE))),
        "13a": _both(_by_line(_cut_mteval)),
        "13a-lower": _both(_by_line(lambda lines: _cut_mteval(lines.lower()))),
        "long-words": _both(_keep_long_words),
        "characters": _both(_spell, "characters-without-blanks"),
        "characters-without-blanks": _both(_spell_without_blanks),
        "stems": _both(_stem),
        "no-stop-words": _both(_drop_stop_words),
        "references-spelled": TextWay(_cut_ptb, _spell, "references-split-spelled"),
        "references-split-spelled": TextWay(keep, _spell),
    }
)
"""All ways to cut, by name."""
