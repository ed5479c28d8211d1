"""Word tokenizer with the output of NLTK's `word_tokenize` on lower-cased captions.

Sentences are split as by Punkt (Kiss and Strunk 2006) with its English data, words by NLTK's Penn
Treebank rules. NLTK itself is not used because it downloads its data at run time.
"""

from __future__ import annotations

import re
from functools import cache

from cidery.metrics.chair.data_files import read_lines

_SIMPLE = re.compile(r"[a-z0-9 ,.-]*")
"""Captions of words, spaces, commas and full stops only."""
_NOT_SIMPLE = r",\d|--|\.(?! |\Z)|(?<![a-z ])\.|(?<![a-z])[a-z]\.|\b(?:{})\."
"""Exceptions that are not split at spaces, commas and full stops; formatted with abbreviations."""
_CONTRACTED = re.compile(r"\b(?:(can)(not)|(gim|lem)(me)|(gon|wan)(na)|(got)(ta))\b")
_OTHER_CONTRACTED = re.compile(r"\b(d)('ye)\b|\b(more)('n)\b")
_IT = re.compile(r" ('t)(is|was)\b")

_STOP = re.compile(r"(\S*)\.(?:[\"')\]}]+(?=\s)|(?=[)\";}\]*:@'({\[!?]|\s+\S))")
"""A full stop that may end a sentence, and the word before it."""
_NUMBER = re.compile(r"-?[.,]?\d[\d,.-]*")
_MARKS = re.compile(r"[()\[\]{}<>\"'`*:;,@!?]")

_RULES = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"([«“‘„]|`+)", r" \1 "),
        (r'^"', " `` "),
        (r"([ (\[{<])(?:\"|'{2})", r"\1 `` "),
        (r"(?<!\w)'(?!(?:re|ve|ll|m|t|s|d|n)\b)(?=\w)", "' "),
        (r"([^.])\.([\])}>\"'»”’ ]*)\s*$", r"\1 . \2 "),
        (r"([:,])(?=\D)|([:,])$", r" \1\2 "),
        (r"(\.{2,}|[;@#$%&?!*\u2012-\u2015])", r" \1 "),
        (r"([^'])' ", r"\1 ' "),
        (r"([\][(){}<>])", r" \1 "),
        (r"--", " -- "),
        (r"([»”’])", r" \1 "),
        (r"''|\"", " '' "),
        (r"\s+", " "),
        (r"([^' ])('[smd]|') ", r"\1 \2 "),
        (r"([^' ])('ll|'re|'ve|n't) ", r"\1 \2 "),
    )
)


def tokenize_words(caption: str) -> list[str]:
    """Return the tokens of a lower-cased caption.

    ```python
    tokenize_words("a man's dog. it can't sit")
    # ["a", "man", "'s", "dog", ".", "it", "ca", "n't", "sit"]
    ```
    """
    caption = caption.strip()
    if _SIMPLE.fullmatch(caption) and not _is_unusual(caption):
        return caption.replace(",", " , ").replace(".", " . ").split()
    return [word for sentence in _cut_sentences(caption) for word in _cut_sentence(sentence)]


def _cut_sentences(caption: str) -> list[str]:
    sentences, start = [], 0
    for stop in _STOP.finditer(caption):
        if _ends_sentence(_MARKS.split(stop[1])[-1], caption[stop.end() :].lstrip()):
            sentences.append(caption[start : stop.end()])
            start = stop.end()
    return [*sentences, caption[start:]]


def _ends_sentence(word: str, rest: str) -> bool:
    """Return True if a sentence ends at the full stop between a word and the rest."""
    known = _read_abbreviations()
    if word.endswith(".") or word in known or word.rpartition("-")[2] in known:
        return False
    is_initial = len(word) == 1 and word.isalpha()
    if is_initial or _NUMBER.fullmatch(word):  # of a name or a list
        return not rest[:1].islower()
    return True


def _is_unusual(caption: str) -> bool:
    # Substring search is faster than a pattern.
    marked = "," in caption or "." in caption[:-1] or "--" in caption
    if marked and _find_unusual().search(caption):
        return True
    contracted = any(part in caption for part in ("nna", "mme", "gotta", "cannot"))
    return contracted and _CONTRACTED.search(caption) is not None


@cache
def _find_unusual() -> re.Pattern[str]:
    plain = (word for word in _read_abbreviations() if word.isalpha())
    return re.compile(_NOT_SIMPLE.format("|".join(sorted(plain))))


@cache
def _read_abbreviations() -> frozenset[str]:
    return frozenset(read_lines("abbreviations.txt"))


def _cut_sentence(sentence: str) -> list[str]:
    text = sentence.strip()
    for number, (pattern, replacement) in enumerate(_RULES):
        if number == _PADDED:
            text = f" {text} "
        text = pattern.sub(replacement, text)
    text = _CONTRACTED.sub(lambda found: " ".join(["", *filter(None, found.groups()), ""]), text)
    text = _OTHER_CONTRACTED.sub(
        lambda found: " ".join(["", *filter(None, found.groups()), ""]), text
    )
    return _IT.sub(r" \1 \2 ", text).split()


_PADDED = 10
"""Index of the first rule that needs spaces around the sentence."""
