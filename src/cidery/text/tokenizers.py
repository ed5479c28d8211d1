"""Tokenizers: functions from captions to words, each with an id for signatures.

| id           | what it does                                                                 |
|--------------|------------------------------------------------------------------------------|
| `ptb`        | Penn Treebank rules, lower case, punctuation dropped; each caption separately |
| `ptb-coco`   | the same, all captions read as one document, as pycocoevalcap does           |
| `whitespace` | `str.split()`; for captions that are already tokenized                       |
| `words`      | Unicode letters, marks and numbers, lower case; ideographs and kana singly   |
| `char`       | the same, every letter and number singly, with its marks                     |

Segmenters of languages are in `cidery.text.segmenters`, by name too.

`ptb`, `words` and `char` bring captions into Unicode's normal form C first; `ptb-coco` and
`whitespace` do what the original code does, which does not.

Any Python callable `str -> list of str` serves as well, and other packages may add names
(`cidery.plugins`).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import TypeAlias
from unicodedata import normalize

from cidery._native import Captions, tokenize_utf8
from cidery._native import tokenize as _native_tokenize
from cidery.errors import InputError, SettingError
from cidery.plugins import list_names, load_plugin
from cidery.text.columns import TextColumn
from cidery.text.scanned_captions import scan_captions
from cidery.text.tokenized_captions import Stems, TokenizedCaptions

TokenizerLike: TypeAlias = "str | Callable[[str], Sequence[str]] | Tokenizer"
"""Name of a tokenizer, a function from a caption to its tokens, or a Tokenizer."""

NATIVE = ("ptb", "ptb-coco", "whitespace")
CLEAN = "+clean"
"""Suffix of `words` or `char` with normalization (`clean_caption`)."""
TOKENIZERS = (*NATIVE, "words", "char")
"""Names of the tokenizers, without segmenters."""


@dataclass(frozen=True)
class Tokenizer:
    """Named function that splits captions into tokens."""

    id: str
    """Id in signatures and frequency files."""
    function: Callable[[str], Sequence[str]] | None = None
    """None: a native tokenizer."""
    language: str | None = None
    """Code of the language, if one was chosen."""

    def __call__(self, captions: list[str], threads: int = 0) -> TokenizedCaptions:
        """Tokenize all captions; the native tokenizers use several threads."""
        if self.function is None:
            texts = scan_captions(captions).normalized if self.id == "ptb" else captions
            return TokenizedCaptions(_native_tokenize(texts, self.id, threads), captions)
        tokenize_all = getattr(
            self.function, "tokenize_all", None
        )  # of segmenters, for many captions
        tokens = (
            tokenize_all(captions, threads)
            if tokenize_all is not None
            else [list(self.function(caption)) for caption in captions]
        )
        try:
            return TokenizedCaptions(Captions.from_tokens(tokens), captions)
        except TypeError as error:
            raise InputError(f"the tokenizer {self.id} must return strings: {error}") from None

    def tokenize_column(self, captions: TextColumn, threads: int = 0) -> TokenizedCaptions:
        """Tokenize a column of captions, without making strings where possible."""
        if self.function is None and (self.id != "ptb" or captions.is_normal):
            tokens = tokenize_utf8(*captions.utf8, self.id, threads)
            return TokenizedCaptions(tokens, captions)
        return self(captions.texts, threads)

    @property
    def family(self) -> str:
        """Id that document frequencies must share: `ptb-coco` has the words of `ptb`."""
        return "ptb" if self.id == "ptb-coco" else self.id


def get_tokenizer(tokenizer: TokenizerLike) -> Tokenizer:
    """Return a tokenizer by name, or wrap a callable."""
    if isinstance(tokenizer, Tokenizer):
        return tokenizer
    if isinstance(tokenizer, str):
        if tokenizer in NATIVE:
            return Tokenizer(tokenizer)
        if tokenizer in FUNCTIONS:
            return Tokenizer(tokenizer, FUNCTIONS[tokenizer])
        if tokenizer.removesuffix(CLEAN) in FUNCTIONS:
            return Tokenizer(tokenizer, _CleanFirst(tokenizer.removesuffix(CLEAN)))
        return _find_other(tokenizer)
    if callable(tokenizer):
        module = getattr(tokenizer, "__module__", "?")
        name = getattr(tokenizer, "__qualname__", type(tokenizer).__qualname__)
        return Tokenizer(f"callable:{module}.{name}", tokenizer)
    raise SettingError(f"a tokenizer is a name or a callable, not {type(tokenizer).__name__}")


def _find_other(name: str) -> Tokenizer:
    """Return a segmenter, or a tokenizer of another package."""
    from cidery.text.segmenters import SEGMENTERS

    if name in SEGMENTERS:
        return Tokenizer(f"{name}@{SEGMENTERS[name].origin}", SEGMENTERS[name].open())
    loaded = load_plugin("tokenizer", name)
    if loaded is None:
        known = ", ".join(list_names("tokenizer", (*TOKENIZERS, *SEGMENTERS)))
        raise SettingError(f"unknown tokenizer {name!r}; known: {known}, or pass a callable")
    if not callable(loaded.value):
        raise loaded.plugin.fail(
            f"is {type(loaded.value).__name__}, expected a function from a caption to its words"
        )
    return Tokenizer(f"{name}@{loaded.plugin.origin}", loaded.value)


def tokenize(
    captions: Iterable[str],
    tokenizer: TokenizerLike | None = None,
    stemmer: str | None = None,
    *,
    language: str | None = None,
) -> list[list[str]]:
    """Tokenize captions as `score` would.

    Args:
        captions: Captions.
        tokenizer: as for `score`; by default that of the language, or `"ptb"`.
        stemmer: a language of Snowball's, such as `"english"`, whose stems replace words; or
            `"simplemma-de"` and the like for lemmas.
        language: as for `score`.

    ```python
    tokenize(["A dog's bone."])                      # [["a", "dog", "'s", "bone"]]
    tokenize(["Dogs running."], stemmer="english")   # [["dog", "run"]]
    ```
    """
    from cidery.text.languages import choose_tokenizer

    if isinstance(captions, str):
        raise InputError("expected a list of captions, found one string; write [caption]")
    texts = list(captions)
    for position, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(f"caption {position} is {type(text).__name__}, not a string")
    try:
        tokenized = choose_tokenizer(tokenizer, language)(texts)
    except UnicodeEncodeError as error:
        raise InputError(
            "a caption has half of a surrogate pair, which is not a valid character: "
            f"{error.object!a}; the text was truncated or decoded wrongly"
        ) from None
    return tokenized.form(Stems(stemmer)).tokens() if stemmer else tokenized.tokens()


@lru_cache(maxsize=1 << 16)
def _spell(character: str) -> str:
    """Keep letters, marks and numbers; put spaces around ideographs and kana."""
    if unicodedata.category(character)[0] not in "LMN":
        return " "
    name = unicodedata.name(character, "").removeprefix("HALFWIDTH ")
    return f" {character} " if name.startswith(("CJK ", "HIRAGANA", "KATAKANA")) else character


def split_words(caption: str) -> list[str]:
    """Split into runs of letters, marks and numbers, in lower case and normal form C.

    ```python
    split_words("Zwei Hunde, 犬が走る")   # ["zwei", "hunde", "犬", "が", "走", "る"]
    ```
    """
    return "".join(map(_spell, normalize("NFC", caption).lower())).split()


def split_characters(caption: str) -> list[str]:
    """Split into letters and numbers, each with the marks on it, in lower case and normal form C.

    ```python
    split_characters("หมาวิ่ง")   # ["ห", "ม", "า", "วิ่", "ง"]
    ```
    """
    words: list[str] = []
    joins = False
    for character in normalize("NFC", caption).lower():
        kind = unicodedata.category(character)[0]
        if kind == "M" and joins:
            words[-1] += character
        elif kind in "LMN":
            words.append(character)
        joins = kind in "LMN"
    return words


FUNCTIONS: Mapping[str, Callable[[str], Sequence[str]]] = MappingProxyType(
    {"words": split_words, "char": split_characters}
)


@dataclass(frozen=True)
class _CleanFirst:
    """Normalizes captions before it tokenizes them."""

    name: str

    def __call__(self, caption: str) -> Sequence[str]:
        from cidery.text.normalization import clean_caption

        return FUNCTIONS[self.name](clean_caption(caption))
