"""Mentions of COCO's 80 object categories in captions.

The categories are those of Lin et al., "Microsoft COCO: Common Objects in Context", ECCV 2014; the
words for each are those of Rohrbach et al., "Object Hallucination in Image Captioning", EMNLP 2018,
as in the PyPI package lmms-eval 0.7.3. Their code and lmms-eval differ in the base forms of a
caption's words: see `Lemmatizer`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Literal, NamedTuple, TypeAlias

from cidery.metrics.chair.data_files import read_lines
from cidery.metrics.chair.tagger import load_tagger
from cidery.metrics.chair.word_tokenizer import tokenize_words
from cidery.text import locate_words

Lemmatizer: TypeAlias = Literal["wordnet", "pattern"]
"""Base forms of words: `wordnet` as NLTK's lemmatizer, by part of speech, `pattern` as the function
`singularize` of the package pattern."""
FORMS = {"wordnet": "forms.txt", "pattern": "singulars.txt"}
"""Data files by lemmatizer: every word that may name an object, with its base form or forms."""
PARTS = {"N": 0, "V": 1, "J": 2, "R": 3}
"""First letters of tags, and the indices of their lemmas; other words count as nouns."""


class Mention(NamedTuple):
    """An object mentioned in a caption."""

    kind: str
    """COCO category."""
    word: str
    """Lemma of the caption's word."""
    place: int
    """Position of its first word in the caption."""
    length: int
    """Number of words."""


@cache
def list_categories() -> tuple[str, ...]:
    """Return COCO's 80 object categories."""
    return tuple(line.partition(":")[0] for line in read_lines("objects.txt"))


@cache
def _read_objects() -> Mapping[str, str]:
    """Return word -> category."""
    found: dict[str, str] = {}
    for line in read_lines("objects.txt"):
        kind, _, words = line.partition(":")
        found |= dict.fromkeys([kind, *filter(None, words.strip().split(", "))], kind)
    return found


@cache
def _read_pairs() -> Mapping[tuple[str, str], str]:
    """Return (lemma, lemma) -> compound."""
    entries = (line.split(": ") for line in read_lines("pairs.txt"))
    return {(left, right): one for pair, one in entries for left, right in [pair.split()]}


@cache
def _read_forms(
    lemmatizer: Lemmatizer,
) -> tuple[Mapping[str, str], Mapping[str, tuple[str, ...]]]:
    """Return forms with one lemma, and forms whose lemma depends on the part of speech."""
    one, several = {}, {}
    for line in read_lines(FORMS[lemmatizer]):
        form, *lemmas = line.split()
        if len(lemmas) == 1:
            one[form] = lemmas[0]
        else:
            several[form] = tuple(lemmas)
    return one, several


def find_mentions(
    captions: Sequence[str], lemmatizer: Lemmatizer = "wordnet"
) -> list[list[Mention]]:
    """Return all mentions of objects in captions, in order.

    ```python
    find_mentions(["Two puppies near traffic lights"])
    # [[Mention("dog", "puppy", 1, 1), Mention("traffic light", "traffic light", 3, 2)]]
    ```
    """
    distinct = {caption: tokenize_words(caption.lower()) for caption in dict.fromkeys(captions)}
    lemmas = _find_lemmas(list(distinct.values()), lemmatizer)
    found = {caption: _find(named) for caption, named in zip(distinct, lemmas, strict=True)}
    return [found[caption] for caption in captions]


def locate_mentions(caption: str, mentions: Sequence[Mention]) -> list[tuple[int, int]]:
    """Return the character span of each mention; (0, 0) if not found."""
    places = locate_words(caption, tokenize_words(caption.lower()))
    ends = [(places[m.place], places[m.place + m.length - 1]) for m in mentions]
    return [(first[0], last[1]) if first and last else (0, 0) for first, last in ends]


def _find_lemmas(captions: Sequence[Sequence[str]], lemmatizer: Lemmatizer) -> list[dict[int, str]]:
    """Return the lemmas of words that may name objects, by position."""
    one, several = _read_forms(lemmatizer)
    lemmas = []
    unclear: list[tuple[int, list[int]]] = []
    for number, words in enumerate(captions):
        lemmas.append({place: one[word] for place, word in enumerate(words) if word in one})
        asked = [place for place, word in enumerate(words) if word in several]
        if asked:
            unclear.append((number, asked))
    if not unclear:
        return lemmas
    # A tag depends on earlier tags and the next two words; the rest is not tagged.
    tags = load_tagger().tag(
        [captions[number][: asked[-1] + 3] for number, asked in unclear],
        [asked[-1] + 1 for _, asked in unclear],
    )
    for (number, asked), tagged in zip(unclear, tags, strict=True):
        words = captions[number]
        for place in asked:
            lemmas[number][place] = several[words[place]][PARTS.get(tagged[place][:1], 0)]
    return lemmas


def _find(lemmas: Mapping[int, str]) -> list[Mention]:
    objects, pairs = _read_objects(), _read_pairs()
    named: list[Mention] = []
    used = -1
    toilet = False
    for place in sorted(lemmas):
        if place == used:
            continue
        word, count = lemmas[place], 1
        if place + 1 in lemmas:
            both = pairs.get((word, lemmas[place + 1]))
            if both is not None:
                word, count, used = both, 2, place + 1
        toilet = toilet or word == "toilet"
        kind = objects.get(word)
        if kind is not None:
            named.append(Mention(kind, word, place, count))
    # The seat of a toilet is not a chair.
    return [m for m in named if m.word != "seat"] if toilet else named


def find_categories(captions: Sequence[str]) -> list[list[str]]:
    """Return the distinct categories mentioned in captions.

    Unlike CHAIR, `men` are persons, and `orange` in the singular is a color.

    ```python
    find_categories(["men and an orange dog near stop signs"])   # [["dog", "stop sign", "person"]]
    ```
    """
    named = []
    for caption, found in zip(captions, find_mentions(captions), strict=True):
        kinds = dict.fromkeys(mention.kind for mention in found)
        lower = caption.lower()
        if "orange" in kinds and "oranges" not in lower:
            del kinds["orange"]
        if "men" in lower and "men" in tokenize_words(lower):
            kinds["person"] = None
        named.append(list(kinds))
    return named


def unite_categories(captions: Sequence[Sequence[Mention]]) -> frozenset[str]:
    """Return the categories mentioned in any of the captions."""
    return frozenset(mention.kind for mention in chain.from_iterable(captions))
