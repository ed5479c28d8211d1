r"""Captions as tokens, in the forms that metrics compare.

| form                | tokens                                                                    |
|---------------------|---------------------------------------------------------------------------|
| `TOKENS`            | those of the tokenizer                                                    |
| `SPLIT`             | split again at spaces: PTB tokens may have U+00A0 inside ("5 1/2"), where |
|                     | `str.split()`, and so BLEU and CIDEr, splits                              |
| `WITHOUT_BARS`      | without `|||`, which separates captions in METEOR's protocol              |
| `WORD_RUNS`         | split into runs of `\w`                                                   |
| `Stems("english")`  | split at spaces, each replaced by its stem                                |
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from cidery._native import Captions, Expansion
from cidery.runtime import Workspace
from cidery.text.columns import TextColumn
from cidery.text.stemming import get_stemmer


class TokenForm(ABC):
    """Form of tokens; equal forms give equal tokens."""

    @abstractmethod
    def expand(self, captions: Captions) -> Expansion | None:
        """Return the replacement of each distinct token; None if all stay."""


@dataclass(frozen=True)
class _Tokens(TokenForm):
    def expand(self, captions: Captions) -> Expansion | None:  # noqa: ARG002
        return None


@dataclass(frozen=True)
class _Split(TokenForm):
    def expand(self, captions: Captions) -> Expansion | None:
        return Expansion.at_blanks(captions) if captions.has_blank_words() else None


@dataclass(frozen=True)
class _WithoutBars(TokenForm):
    def expand(self, captions: Captions) -> Expansion | None:
        words = captions.vocabulary()
        if not any("|||" in word for word in words):
            return None
        return Expansion([[left] if (left := word.replace("|||", "")) else [] for word in words])


@dataclass(frozen=True)
class _WordRuns(TokenForm):
    def expand(self, captions: Captions) -> Expansion | None:
        ids, words = captions.unusual_words()
        return Expansion.replacing(captions, ids, [re.findall(r"\w+", word) for word in words])


@dataclass(frozen=True)
class Stems(TokenForm):
    """Stems of a language of `get_stemmer`."""

    stemmer: str

    def expand(self, captions: Captions) -> Expansion | None:
        """Return the stems of each distinct token."""
        stem = get_stemmer(self.stemmer)
        return Expansion([stem(word.split()) for word in captions.vocabulary()])


TOKENS: TokenForm = _Tokens()
"""Tokens of the tokenizer."""
SPLIT: TokenForm = _Split()
"""Tokens split at spaces."""
WITHOUT_BARS: TokenForm = _WithoutBars()
"""Tokens without `|||`."""
WORD_RUNS: TokenForm = _WordRuns()
"""Tokens split into runs of word characters."""


def stem_form(stemmer: str | None) -> TokenForm:
    """Return the form with stems, or `SPLIT` without a stemmer."""
    return SPLIT if stemmer is None else Stems(stemmer)


@dataclass(frozen=True, eq=False)
class TokenizedCaptions:
    """Captions as tokens."""

    captions: Captions
    source: Sequence[str] | None = None
    """The captions before tokenization, where they came as text."""
    same_words_as: TokenizedCaptions | None = None
    """Captions with the same list of distinct words, if there are others."""

    @property
    def word_source(self) -> TokenizedCaptions:
        """The captions whose list numbers the words; results per word belong to them."""
        return self if self.same_words_as is None else self.same_words_as

    def __len__(self) -> int:
        return len(self.captions)

    def tokens(self) -> list[list[str]]:
        """Return the tokens of each caption."""
        return self.captions.tokens()

    def form(self, form: TokenForm, work: Workspace | None = None) -> Captions:
        """Return the captions in a form; a run's workspace makes each form once."""
        return (Workspace() if work is None else work).once(_make_form, self, form)

    @property
    def texts(self) -> Sequence[str]:
        """The captions before tokenization, or else their tokens joined by spaces."""
        if isinstance(self.source, TextColumn):
            return self.source.texts
        if self.source is not None:
            return self.source
        return [" ".join(tokens) for tokens in self.tokens()]


def _expand(work: Workspace, source: TokenizedCaptions, form: TokenForm) -> Expansion | None:  # noqa: ARG001
    return form.expand(source.captions)


def _make_form(work: Workspace, captions: TokenizedCaptions, form: TokenForm) -> Captions:
    expansion = work.once(_expand, captions.word_source, form)
    return captions.captions if expansion is None else captions.captions.expand(expansion)
