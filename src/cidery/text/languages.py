"""Languages: which tokenizer and which stemmer go with each.

The tokenizer is a segmenter where words have no blanks between them, or where a word is less than
what stands between blanks (Korean) or more (Vietnamese), and `words` elsewhere.
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
    """A language, and what cuts and stems its captions."""

    code: str
    """As ISO 639-1 has it."""
    name: str
    tokenizer: str
    stemmer: str | None
    """A Snowball language."""

    @property
    def stop_words(self) -> str | None:
        """The name of its list in `STOP_WORDS`, where there is one."""
        return self.name.lower() if self.name.lower() in STOP_WORDS else None

    @property
    def segmenters(self) -> tuple[str, ...]:
        """All ways to cut it: segmenters and characters; without any, ways to cut at blanks."""
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
"""By code."""


def get_language(language: str) -> Language:
    """Return the language of that code or English name; regions (`pt-BR`) do not matter.

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
        'pass a tokenizer: tokenizer="words", or "char" where words have no blanks between them'
    )


def choose_tokenizer(
    tokenizer: TokenizerLike | None, language: str | None, default: str = "ptb"
) -> Tokenizer:
    """Return the tokenizer that was asked for, or that of the language, or the default.

    With a language other than English, `words` and `char` get captions in one spelling first
    (`clean_caption`), as all segmenters do. English leaves the default as it is.

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
