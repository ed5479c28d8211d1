"""Automatic checks of collected sentences before review."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass

from cidery.text import UNSPACED_SCRIPTS, find_script
from cidery_server.web.translation import translate as _

_LINK = re.compile(r"https?://|www\.|\S+@\S+\.\S+", flags=re.IGNORECASE)
IDEOGRAPHIC = ("Han", "Hiragana", "Katakana", "Bopomofo", "Yi", "Nushu", "Tangut")
LETTERS_OF_IDEOGRAPHS, LETTERS_OF_WORDS = 1.5, 4.0
"""Letters of a word where no blanks separate words: in Chinese and Japanese, in Thai and others."""
MIN_LETTERS = 0.6
"""Minimum share of letters in a sentence."""


def fold(sentence: str) -> str:
    """Return a sentence in lower case without punctuation and extra spaces, for comparison."""
    plain = unicodedata.normalize("NFKC", sentence).casefold()
    # Marks belong to their letters: Hindi and Thai write vowels with them.
    cleaned = (c if unicodedata.category(c)[0] in "LMN" else " " for c in plain)
    return " ".join("".join(cleaned).split())


def count_words(folded: str) -> int:
    """Count words; in scripts without spaces, a word is 1.5 ideographs or 4 letters.

    ```python
    count_words("一只狗在海滩上奔跑")  # 6
    ```
    """
    if folded.isascii():
        return len(folded.split())
    words = 0.0
    for word in folded.split():
        scripts = [find_script(character) for character in word if character.isalpha()]
        uncut = [script for script in scripts if script in UNSPACED_SCRIPTS]
        wide = sum(script in IDEOGRAPHIC for script in uncut)
        others = len(scripts) > len(uncut) or not scripts
        words += wide / LETTERS_OF_IDEOGRAPHS + (len(uncut) - wide) / LETTERS_OF_WORDS + others
    return round(words)


@dataclass(frozen=True)
class SentenceRules:
    """Rules that a sentence must satisfy before review.

    ```python
    SentenceRules(min_words=8).refuse("A dog.", known=())  # "too short: 2 words, at least 8 …"
    ```
    """

    min_words: int = 8
    max_words: int = 100
    forbidden: tuple[str, ...] = ()
    """Words or beginnings of sentences, such as "there is"."""

    def refuse(self, sentence: str, known: Collection[str]) -> str:
        """Return the reason for refusing a sentence, or an empty text.

        Args:
            sentence: as it was written.
            known: sentences of the same image, or by the same person, that it may not repeat.
        """
        folded = fold(sentence)
        count = count_words(folded)
        if count < self.min_words:
            short = _("too short: {count} words, at least {fewest} are needed")
            return short.format(count=count, fewest=self.min_words)
        if count > self.max_words:
            long = _("too long: {count} words, at most {most} are allowed")
            return long.format(count=count, most=self.max_words)
        if _LINK.search(sentence):
            return _("links and addresses are not part of a description")
        # Vowels of Thai and Hindi are marks, not letters.
        letters = sum(unicodedata.category(character)[0] in "LM" for character in sentence)
        if letters < MIN_LETTERS * len(sentence.replace(" ", "")):
            return _("this does not look like a sentence: too few of its characters are letters")
        words = folded.split()
        if len(set(words)) <= len(words) // 3:
            return _("this does not look like a sentence: it repeats the same words")
        if folded in {fold(other) for other in known}:
            return _("this sentence was given before; please write another one")
        found = next((word for word in self.forbidden if self._has(folded, word)), None)
        return _("please describe it without {phrase}").format(phrase=repr(found)) if found else ""

    @staticmethod
    def _has(folded: str, phrase: str) -> bool:
        wanted = fold(phrase)
        return bool(wanted) and f" {wanted} " in f" {folded} "
