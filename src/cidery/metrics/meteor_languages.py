"""Languages of METEOR 1.5: parameters, weights of matchers, stems.

Parameters and weights are those that the program prints for `-l` and the language. Differences
between its stems and current ones were found with pairs of words from frequency lists.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from cidery.errors import SettingError
from cidery.text import get_language, get_stemmer


@dataclass(frozen=True)
class MeteorLanguage:
    """Parameters of METEOR for a language."""

    code: str
    alpha: float
    beta: float
    gamma: float
    delta: float
    weights: Mapping[str, float]
    """Weights of the matchers of the language."""
    function_words: bool = False
    """True if METEOR has a list of function words."""

    @property
    def parameters(self) -> tuple[float, ...]:
        """α, β, γ, δ, then the weights of exact, stem, synonym and paraphrase."""
        weights = (self.weights.get(stage, 0.0) for stage in STAGES)
        return (self.alpha, self.beta, self.gamma, self.delta, *weights)

    def stem(self, words: list[str]) -> list[str]:
        """Return the stems that METEOR uses: those of Snowball in 2010."""
        if "stem" not in self.weights:
            return words
        name = get_language(self.code).stemmer
        assert name is not None
        stem = get_stemmer(name)
        if self.code not in _EARLIER:
            return stem(words)
        earlier = _EARLIER[self.code]
        stems = stem([earlier.rewrite(word) for word in words])
        return [earlier.restore(*pair) for pair in zip(words, stems, strict=True)]


STAGES = ("exact", "stem", "synonym", "paraphrase")
_TUNED = (
    MeteorLanguage(
        "en", 0.85, 0.2, 0.6, 0.75,
        {"exact": 1.0, "stem": 0.6, "synonym": 0.8, "paraphrase": 0.6}, True,
    ),
    MeteorLanguage("cs", 0.95, 0.2, 0.6, 0.8, {"exact": 1.0, "paraphrase": 0.4}, True),
    MeteorLanguage(
        "de", 0.95, 1.0, 0.55, 0.55, {"exact": 1.0, "stem": 0.8, "paraphrase": 0.2}, True
    ),
    MeteorLanguage(
        "es", 0.65, 1.3, 0.5, 0.8, {"exact": 1.0, "stem": 0.8, "paraphrase": 0.6}, True
    ),
    MeteorLanguage(
        "fr", 0.9, 1.4, 0.6, 0.65, {"exact": 1.0, "stem": 0.2, "paraphrase": 0.4}, True
    ),
    MeteorLanguage(
        "ru", 0.75, 1.4, 0.7, 0.5, {"exact": 1.0, "stem": 0.5, "paraphrase": 0.5}, True
    ),
)  # fmt: skip
METEOR_LANGUAGES: Mapping[str, MeteorLanguage] = MappingProxyType(
    {language.code: language for language in _TUNED}
    | {
        code: MeteorLanguage(code, 0.75, 1.4, 0.7, 0.5, {"exact": 1.0, "stem": 0.5})
        for code in ("da", "fi", "hu", "it", "nl", "no", "pt", "ro", "sv", "tr")
    }
)
"""Languages by code."""


def get_meteor_language(language: str) -> MeteorLanguage:
    """Return the parameters of METEOR for a language, given by code or English name.

    ```python
    get_meteor_language("de").alpha   # 0.95
    ```
    """
    found = get_language(language)
    if found.code not in METEOR_LANGUAGES:
        raise SettingError(
            f"METEOR does not support {found.name}; it supports {', '.join(METEOR_LANGUAGES)}. "
            'Many papers report language="en": exact matches of words with the English '
            "parameters"
        )
    return METEOR_LANGUAGES[found.code]


@dataclass(frozen=True)
class _Earlier:
    """Rewriting of words so that the current algorithm gives the stems of 2010."""

    rewrite: Callable[[str], str]
    """Word to stem in place of a word."""
    restore: Callable[[str, str], str] = lambda word, stem: stem  # noqa: ARG005
    """Stem of a word, from the stem of the word that replaced it."""


_MARKS = "\ue000\ue001"
"""Private-use characters, which Snowball treats as consonants."""


def _spell(letters: str, others: str) -> _Earlier:
    """Return replacements of letters that Snowball encoded differently."""
    there, back = str.maketrans(letters, others), str.maketrans(others, letters)
    return _Earlier(lambda word: word.translate(there), lambda _, stem: stem.translate(back))


# ë and ï were vowels like all others. Endings have neither ô nor û.
_DIAERESES = str.maketrans("ëï", "ôû")
_FRENCH_BACK = str.maketrans("ôû", "ëï")


def _has_diaeresis(word: str) -> bool:
    return ("ë" in word or "ï" in word) and "ô" not in word and "û" not in word


_FRENCH = _Earlier(
    lambda word: word.translate(_DIAERESES) if _has_diaeresis(word) else word,
    lambda word, stem: stem.translate(_FRENCH_BACK) if _has_diaeresis(word) else stem,
)


def _restore_german(word: str, stem: str) -> str:
    """Return the stem of 2010: Ergebnisse had a double s, unlike Ergebnis."""
    is_double = stem.endswith("nis") and word.endswith(("nisse", "nissen", "nisses"))
    return f"{stem}s" if is_double else stem


def _rewrite_portuguese(word: str) -> str:
    """Return a word whose current stem is that of 2010, which had -ución for -ução."""
    if word.endswith(("ução", "uções")):
        return word.replace("ç", _MARKS[0])
    if word.endswith("ución"):
        return f"{word[:-5]}ução"
    if word.endswith("uciones"):
        return f"{word[:-7]}uções"
    return word


# In Java, the conditions of these Finnish endings always failed, so that only their n was removed.
_AFTER = r"(?:si|ni|nsa|nsä|mme|nne|an|än|en)?(?:kin|kaan|kään|ko|kö|han|hän|pa|pä)*$"
_FINNISH = re.compile(rf"(d(?=en{_AFTER})|tt(?=en{_AFTER})|s(?=iin{_AFTER})|s(?=een{_AFTER}))")
_DOUBLED = re.compile(r"([bcdfghjklmnpqrstvwxz])\1([aeiouyäö]*)$")


def _find_symbols(word: str, letters: str, free: str) -> tuple[str, str]:
    """Return characters that are no letters, which were consonants, and letters in their place."""
    symbols = (sign for sign in dict.fromkeys(word) if sign not in letters)
    pairs = list(zip(symbols, (letter for letter in free if letter not in word), strict=False))
    return "".join(here for here, _ in pairs), "".join(there for _, there in pairs)


_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_FINNISH_SIGNS = f"{_LETTERS}äö", "bcfgrvwx"
"""Letters, and consonants that occur in no ending and before no ending."""
_DANISH_SIGNS = f"{_LETTERS}æøå", "qwx"


def _rewrite_finnish(word: str) -> str:
    marked = _FINNISH.sub(lambda found: "qz"[: len(found[1])], word)
    return marked.translate(str.maketrans(*_find_symbols(word, *_FINNISH_SIGNS)))


def _restore_finnish(word: str, stem: str) -> str:
    symbols, letters = _find_symbols(word, *_FINNISH_SIGNS)
    stem = stem.translate(str.maketrans(letters, symbols))
    found = _FINNISH.search(word)
    if found is None or "q" not in stem:
        return stem
    return _DOUBLED.sub(r"\1\2", stem.replace("qz"[: len(found[1])], found[1]))


def _rewrite_danish(word: str) -> str:
    return word.translate(str.maketrans(*_find_symbols(word, *_DANISH_SIGNS)))


def _restore_danish(word: str, stem: str) -> str:
    symbols, letters = _find_symbols(word, *_DANISH_SIGNS)
    return stem.translate(str.maketrans(letters, symbols))


_EARLIER: Mapping[str, _Earlier] = MappingProxyType(
    {
        "da": _Earlier(_rewrite_danish, _restore_danish),
        "de": _Earlier(lambda word: word, _restore_german),
        "fi": _Earlier(_rewrite_finnish, _restore_finnish),
        "fr": _FRENCH,
        "hu": _spell("őűõû", f"{_MARKS}őű"),
        "pt": _Earlier(_rewrite_portuguese, lambda _, stem: stem.replace(_MARKS[0], "ç")),
        "ru": _spell("ё", _MARKS[0]),
    }
)
