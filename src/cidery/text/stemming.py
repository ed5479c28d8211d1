"""Stemmers: Snowball's algorithms, and lemmas of simplemma."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from cidery.errors import MissingExtraError, SettingError

LEMMAS = "simplemma-"
"""What stemmers that give lemmas are called, with the code of a language: `simplemma-de`."""


@lru_cache(maxsize=32)
def get_stemmer(language: str) -> Callable[[list[str]], list[str]]:
    """Return what stems a list of words, by Snowball's algorithm for that language.

    `simplemma-de` gives lemmas instead, by the package of that name.
    """
    if language.startswith(LEMMAS):
        return _get_lemmatizer(language.removeprefix(LEMMAS))
    import Stemmer

    if language not in Stemmer.algorithms():
        known = ", ".join(Stemmer.algorithms())
        raise SettingError(
            f"no stemmer for {language!r}; Snowball has: {known}; {LEMMAS}de gives lemmas"
        )
    stem: Callable[[list[str]], list[str]] = Stemmer.Stemmer(language, 0).stemWords
    return stem


def _get_lemmatizer(code: str) -> Callable[[list[str]], list[str]]:
    lemmatize = _import_simplemma().lemmatize
    try:
        lemmatize("a", lang=code)
    except ValueError:
        raise SettingError(
            f"simplemma has no lemmas for {code!r}; it knows languages by codes such as de or fr"
        ) from None

    def find(words: list[str]) -> list[str]:
        # It writes German nouns with a capital; all words are in lower case here.
        return [str(lemmatize(word, lang=code)).lower() for word in words]

    return find


def _import_simplemma() -> Any:
    try:
        import simplemma
    except ImportError:
        raise MissingExtraError.to("find lemmas", package="simplemma", extra="lemmas") from None
    return simplemma


def name_stemmer(stemmer: str) -> str:
    """Return what signatures call a stemmer: lemmas depend on the version of their data."""
    if not stemmer.startswith(LEMMAS):
        return stemmer
    return f"{stemmer}-{_import_simplemma().__version__}"
