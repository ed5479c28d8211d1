"""Languages, each with its tokenizer and stemmer.

The tokenizer is a segmenter for languages without spaces between words, and for Korean and
Vietnamese, where words are shorter or longer than the text between spaces; `words` for others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from cidery.errors import SettingError
from cidery.text.segmenters import SEGMENTERS
from cidery.text.stop_words import STOP_WORDS
from cidery.text.tokenizers import (
    CLEAN,
    FUNCTIONS,
    Tokenizer,
    TokenizerLike,
    get_tokenizer,
)


@dataclass(frozen=True)
class Language:
    """Language with its tokenizer and stemmer."""

    code: str
    """ISO 639-1 code."""
    name: str
    tokenizer: str
    stemmer: str | None
    """Name of a Snowball stemmer."""

    @property
    def stop_words(self) -> str | None:
        """Name of its list in `STOP_WORDS`, if there is one."""
        return self.name.lower() if self.name.lower() in STOP_WORDS else None

    @property
    def segmenters(self) -> tuple[str, ...]:
        """Tokenizers to compare: segmenters and characters, or those that split at spaces."""
        own = [found.name for found in SEGMENTERS.values() if found.language == self.code]
        others = [*own, "char"] if own or self.tokenizer == "char" else ["words", "uax29", "ptb"]
        return tuple(dict.fromkeys([self.tokenizer, *others]))


_SNOWBALL = {
    "ar": "Arabic",
    "ca": "Catalan",
    "da": "Danish",
    "de": "German",
    "el": "Greek",
    "es": "Spanish",
    "eu": "Basque",
    "fi": "Finnish",
    "fr": "French",
    "ga": "Irish",
    "hi": "Hindi",
    "hu": "Hungarian",
    "hy": "Armenian",
    "id": "Indonesian",
    "it": "Italian",
    "lt": "Lithuanian",
    "ne": "Nepali",
    "nl": "Dutch",
    "no": "Norwegian",
    "pt": "Portuguese",
    "ro": "Romanian",
    "ru": "Russian",
    "sr": "Serbian",
    "sv": "Swedish",
    "ta": "Tamil",
    "tr": "Turkish",
    "yi": "Yiddish",
}
_WITHOUT_STEMS = {
    "bg": "Bulgarian",
    "bn": "Bengali",
    "cs": "Czech",
    "et": "Estonian",
    "fa": "Persian",
    "he": "Hebrew",
    "hr": "Croatian",
    "ms": "Malay",
    "pl": "Polish",
    "sk": "Slovak",
    "sl": "Slovene",
    "sw": "Swahili",
    "uk": "Ukrainian",
    "ur": "Urdu",
}
_OTHERS = (
    Language("en", "English", "ptb", "english"),
    Language("zh", "Chinese", "jieba", None),
    Language("ja", "Japanese", "fugashi", None),
    Language("ko", "Korean", "kiwi", None),
    Language("th", "Thai", "pythainlp", None),
    Language("vi", "Vietnamese", "pyvi", None),
    Language("bo", "Tibetan", "char", None),
    Language("km", "Khmer", "char", None),
    Language("lo", "Lao", "char", None),
    Language("my", "Burmese", "char", None),
)
LANGUAGES: Mapping[str, Language] = MappingProxyType(
    {language.code: language for language in _OTHERS}
    | {code: Language(code, name, "words", name.lower()) for code, name in _SNOWBALL.items()}
    | {code: Language(code, name, "words", None) for code, name in _WITHOUT_STEMS.items()}
)
"""Languages by code."""


def get_language(language: str) -> Language:
    """Return a language by code or English name; regions (`pt-BR`) are ignored.

    ```python
    get_language("zh").tokenizer   # "jieba"
    ```
    """
    if not isinstance(language, str):
        raise SettingError(f"a language is a code such as 'de', not {type(language).__name__}")
    code = language.lower().replace("_", "-").partition("-")[0]
    if code in LANGUAGES:
        return LANGUAGES[code]
    for found in LANGUAGES.values():
        if found.name.lower() == language.lower():
            return found
    raise SettingError(
        f"unknown language {language!r}; known: {', '.join(sorted(LANGUAGES))}. For another one, "
        'pass a tokenizer: tokenizer="words", or "char" for languages without spaces between words'
    )


def choose_tokenizer(
    tokenizer: TokenizerLike | None, language: str | None, default: str = "ptb"
) -> Tokenizer:
    """Return the given tokenizer, or that of the language, or the default.

    With a language other than English, `words` and `char` normalize captions first
    (`clean_caption`), as all segmenters do.

    ```python
    choose_tokenizer(None, "de").id   # "words+clean"
    ```
    """
    if language is None:
        return get_tokenizer(default if tokenizer is None else tokenizer)
    known = get_language(language)
    own = default if known.code == "en" else known.tokenizer
    name = own if tokenizer is None else tokenizer
    if isinstance(name, str) and name in FUNCTIONS and known.code != "en":
        name = f"{name}{CLEAN}"
    return replace(get_tokenizer(name), language=known.code)
