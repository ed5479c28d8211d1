"""Stemmers: Snowball's algorithms, and lemmas of simplemma."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from cidery.errors import MissingExtraError, SettingError

LEMMAS = "simplemma-"
"""Prefix of lemmatizers, before the code of a language: `simplemma-de`."""


@lru_cache(maxsize=32)
def get_stemmer(language: str) -> Callable[[list[str]], list[str]]:
    """Return a function that stems a list of words.

    Args:
        language: name of a Snowball stemmer, such as `english`, or `simplemma-de` for lemmas.
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
            f"simplemma has no lemmas for {code!r}; pass a code such as de or fr"
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
    """Return the name of a stemmer in signatures; lemmas depend on the version of simplemma."""
    if not stemmer.startswith(LEMMAS):
        return stemmer
    return f"{stemmer}-{_import_simplemma().__version__}"
