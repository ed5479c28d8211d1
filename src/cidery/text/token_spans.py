"""Positions of tokens in the caption."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TypeAlias

from cidery.runtime import Workspace
from cidery.text.tokenized_captions import TOKENS, TokenForm, TokenizedCaptions

TokenSpan: TypeAlias = tuple[int, int]
"""Characters [start, end) of a caption."""

_BRACKETS = {
    "-lrb-": "(",
    "-rrb-": ")",
    "-lsb-": "[",
    "-rsb-": "]",
    "-lcb-": "{",
    "-rcb-": "}",
}
"""Penn Treebank tokens of brackets."""

_PLAIN = str.maketrans(
    {"ς": "σ", "⁄": "/", "\N{SOFT HYPHEN}": None, "\N{NO-BREAK SPACE}": " "}
    | dict.fromkeys("‘’‛‹›`\x91\x92", "'")
    | dict.fromkeys("“”«»\x93\x94", '"')
)

_FAR = 40
"""Maximum distance to the next word, plus the length of words not found before it."""


def locate_words(text: str, words: Sequence[str]) -> list[TokenSpan | None]:
    """Return the span of each word in a caption, in order and without overlap.

    Words that the tokenizer rewrote get the text between their neighbors; several may share a
    span. None: the caption does not contain the word, for instance an end token.

    ```python
    locate_words("A dog's bone.", ["a", "dog", "'s", "bone"])   # [(0, 1), (2, 5), (5, 7), (8, 12)]
    ```
    """
    lower = text.lower()
    if len(lower) != len(text):
        return _locate_rewritten(text, words)
    places: list[TokenSpan | None] = []
    at = 0
    if lower.startswith(" ".join(words)) and "" not in words:  # most captions; half the time
        for word in words:
            places.append((at, at + len(word)))
            at += len(word) + 1
        return places
    for word in words:
        start = lower.find(word, at)
        gap = lower[at:start]
        if start < 0 or not word or (gap not in ("", " ") and any(map(str.isalnum, gap))):
            break
        at = start + len(word)
        places.append((start, at))
    return places if len(places) == len(words) else _locate_rewritten(text, words)


@lru_cache(maxsize=1 << 14)
def _fold(character: str) -> str:
    """Return the simplest form of a character, to match the output of tokenizers."""
    plain = unicodedata.normalize("NFKD", character).casefold().translate(_PLAIN)
    return "".join(c for c in plain if not unicodedata.combining(c))


def _fold_word(word: str) -> str:
    if word in _BRACKETS:
        return _BRACKETS[word]
    folded = "".join(map(_fold, word))
    return '"' if folded == "''" else folded


def _locate_rewritten(text: str, words: Sequence[str]) -> list[TokenSpan | None]:
    """Find words whose letters the tokenizer changed, by their neighbors if necessary."""
    pieces = [_fold(character) for character in text]
    folded = "".join(pieces)
    sources = [place for place, piece in enumerate(pieces) for _ in piece]
    places: list[TokenSpan | None] = [None] * len(words)
    waiting: list[int] = []
    begin, at, room = 0, 0, _FAR  # in the text; in `folded`; how far to look there
    for number, word in enumerate(words):
        wanted = _fold_word(word)
        start = folded.find(wanted, at, at + room + len(wanted)) if wanted else -1
        if start < 0:
            waiting.append(number)
            room += 2 * len(word) + _FAR
            continue
        first, last = sources[start], sources[start + len(wanted) - 1] + 1
        if first < begin:  # one character of the caption gave several words
            places[number] = places[number - 1]
        else:
            # Marks that belong to the last letter stay with it.
            while last < len(text) and not pieces[last] and unicodedata.combining(text[last]):
                last += 1
            _share_gap(text, begin, first, waiting, places)
            places[number] = (first, last)
        begin = max(begin, last)
        waiting.clear()
        at, room = start + len(wanted), _FAR
    _share_gap(text, begin, len(text), waiting, places)
    return places


def _share_gap(
    text: str, start: int, end: int, waiting: list[int], places: list[TokenSpan | None]
) -> None:
    """Distribute the text between found words over those that were not found."""
    if not waiting:
        return
    pieces = [(start + m.start(), start + m.end()) for m in re.finditer(r"\S+", text[start:end])]
    if len(pieces) > len(waiting):
        pieces[len(waiting) - 1 :] = [(pieces[len(waiting) - 1][0], pieces[-1][1])]
    for order, number in enumerate(waiting if pieces else ()):
        places[number] = pieces[min(order, len(pieces) - 1)]


def locate_captions(
    captions: TokenizedCaptions, form: TokenForm, chosen: Iterable[int], work: Workspace
) -> dict[int, list[TokenSpan | None]]:
    """Return the spans of the tokens of chosen captions, in a form."""
    words = captions.tokens()
    shaped = words if form == TOKENS else captions.form(form, work).tokens()
    texts = captions.texts
    found: dict[int, list[TokenSpan | None]] = {}
    for number in chosen:
        if number in found:
            continue
        places = locate_words(texts[number], words[number])
        if len(shaped[number]) != len(places):
            places = _split_spans(texts[number], words[number], places)
        found[number] = places
    return found


def _split_spans(
    text: str, words: Sequence[str], places: Sequence[TokenSpan | None]
) -> list[TokenSpan | None]:
    """Split spans of tokens with spaces inside, as the forms do."""
    spans: list[TokenSpan | None] = []
    for word, place in zip(words, places, strict=True):
        pieces = word.split()
        if len(pieces) == 1 or place is None:
            spans.extend([place] * len(pieces))
            continue
        start, end = place
        spans.extend(
            None if inner is None else (start + inner[0], start + inner[1])
            for inner in locate_words(text[start:end], pieces)
        )
    return spans
