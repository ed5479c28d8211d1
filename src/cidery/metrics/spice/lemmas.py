"""Lemmas by part of speech, from the word tables of spaCy's English pipelines.

spaCy's lemmatizer returns the alphabetically first candidate, such as `rid` for `riding`; here the
spelling decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from cidery.metrics.spice.lexicon import FUNCTION_WORDS
from cidery.metrics.spice.tree import NOUNS

BASE_TAGS = ("NN", "NNP", "VB", "VBP", "JJ", "RB", "RP")
"""Tags of words that are their own lemmas, except those in `BE`."""
BE = ("am", "are")
PARTS = {"N": "noun", "V": "verb", "J": "adj", "R": "adv"}
ENDINGS = {
    "noun": ("ches:ch", "shes:sh", "sses:ss", "xes:x", "ies:y", "ves:f", "men:man", "s:", "es:"),
    "verb": ("ies:y", "ied:y", "s:", "es:", "ed:", "ing:"),
    "adj": ("er:", "est:"),
    "adv": (),
}
"""Inflected and base endings."""
VOWELS = "aeiou"


@dataclass(frozen=True, eq=False)
class Lemmatizer:
    """Irregular forms and known lemmas by part of speech."""

    irregular: Mapping[str, Mapping[str, list[str]]]
    known: Mapping[str, frozenset[str]]

    @classmethod
    def from_lookups(cls, lookups: Any) -> Lemmatizer:
        """Read the tables of a pipeline's lemmatizer; without a table, endings alone are used."""
        tables = {
            name: lookups.get_table(name) if lookups.has_table(name) else {}
            for name in ("lemma_exc", "lemma_index")
        }
        parts = PARTS.values()
        return cls(
            {part: tables["lemma_exc"].get(part, {}) for part in parts},
            {part: frozenset(tables["lemma_index"].get(part, ())) for part in parts},
        )

    def find(self, word: str, tag: str) -> str:
        """Return the lemma of a word with that Penn Treebank tag."""
        part = PARTS.get(tag[:1])
        if tag == "VBP" and word in BE:
            return "be"
        if part is None or tag in BASE_TAGS:
            return word
        if word in self.irregular[part]:
            return self.irregular[part][word][0]
        for guess in _undo_endings(word, part):
            if guess in self.known[part]:
                return guess
        plural = tag in ("NNS", "NNPS") and word.endswith("s") and not word.endswith("ss")
        return word[:-1] if plural else word

    def correct(self, word: str, tag: str) -> str:
        """Return the corrected tag: `hydrant` is always a noun, `on` never."""
        if word in FUNCTION_WORDS and tag in NOUNS:
            return "IN"
        if tag[:1] not in "VJR" or word not in self.known["noun"]:
            return tag
        return tag if any(map(partial(self._may_be, word), ("verb", "adj", "adv"))) else "NN"

    def _may_be(self, word: str, part: str) -> bool:
        forms = (word, *_undo_endings(word, part))
        return word in self.irregular[part] or any(form in self.known[part] for form in forms)


def _undo_endings(word: str, part: str) -> Iterator[str]:
    """Yield possible lemmas of a regular form, likelier ones first: `riding` -> `ride`, `rid`."""
    for pair in ENDINGS[part]:
        inflected, _, base = pair.partition(":")
        if not word.endswith(inflected):
            continue
        stem = word.removesuffix(inflected) + base
        if inflected not in ("ed", "ing", "er", "est"):
            yield stem
        else:
            yield from (stem + "e", stem) if _wants_silent_e(stem) else (stem, stem + "e")


def _wants_silent_e(stem: str) -> bool:
    """Return True if a stem ends in one vowel and one consonant, so that an `e` was dropped."""
    return (
        len(stem) > 2
        and stem[-1] not in VOWELS + "wxy"
        and stem[-2] in VOWELS + "y"
        and stem[-3] not in VOWELS
    )
