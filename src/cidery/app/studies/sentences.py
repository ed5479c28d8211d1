"""Automatic checks of collected sentences: what a reviewer need not see."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass

_LINK = re.compile(r"https?://|www\.|\S+@\S+\.\S+", flags=re.IGNORECASE)
FEWEST_LETTERS = 0.6
"""The share of letters below which a text is not taken as a sentence."""


def fold(sentence: str) -> str:
    """Return a sentence without capitals, punctuation and spare blanks, for comparing."""
    plain = unicodedata.normalize("NFKC", sentence).casefold()
    return " ".join(re.findall(r"\w+", plain))


@dataclass(frozen=True)
class SentenceRules:
    """What a sentence must be like to reach a reviewer.

    ```python
    SentenceRules(fewest_words=8).refuse("A dog.", known=())  # "too short: 2 words, at least 8 …"
    ```
    """

    fewest_words: int = 8
    most_words: int = 100
    forbidden: tuple[str, ...] = ()
    """Words or beginnings of sentences, such as "there is"."""

    def refuse(self, sentence: str, known: Collection[str]) -> str:
        """Return why a sentence is refused, or nothing.

        Args:
            sentence: as it was written.
            known: sentences of the same image, or by the same person, that it may not repeat.
        """
        folded = fold(sentence)
        count = len(folded.split())
        if count < self.fewest_words:
            return f"too short: {count} words, at least {self.fewest_words} are needed"
        if count > self.most_words:
            return f"too long: {count} words, at most {self.most_words} are allowed"
        if _LINK.search(sentence):
            return "links and addresses are not part of a description"
        letters = sum(character.isalpha() for character in sentence)
        if letters < FEWEST_LETTERS * len(sentence.replace(" ", "")):
            return "this does not look like a sentence: too few of its characters are letters"
        if len(set(folded.split())) <= count // 3:
            return "this does not look like a sentence: it repeats the same words"
        if folded in {fold(other) for other in known}:
            return "this sentence was given before; please write another one"
        found = next((word for word in self.forbidden if self._has(folded, word)), None)
        return f"please describe it without {found!r}" if found else ""

    @staticmethod
    def _has(folded: str, phrase: str) -> bool:
        wanted = fold(phrase)
        return bool(wanted) and f" {wanted} " in f" {folded} "
