"""Dependency trees of captions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

NOUNS = ("NN", "NNS", "NNP", "NNPS")
VERBS = ("VB", "VBD", "VBG", "VBN", "VBP", "VBZ")
PRONOUNS = ("PRP", "PRP$")
DROPPED = "dropped"
"""Role of a token that was merged into another."""
LOST = "lost"
"""Role of a token that is detached from its head."""


@dataclass(frozen=True)
class Token:
    """A word with its tag, role and head."""

    word: str
    """Lower-cased word."""
    tag: str
    """Penn Treebank tag."""
    role: str
    """Dependency label, as in spaCy's English pipelines."""
    head: int
    """Position of its head; a root is its own head."""

    @property
    def is_noun(self) -> bool:
        """True for common and proper nouns."""
        return self.tag in NOUNS

    @property
    def is_verb(self) -> bool:
        """True for all verb forms."""
        return self.tag in VERBS


@dataclass(frozen=True, eq=False)
class Tree:
    """Tokens with their lemmas, addressed by position."""

    tokens: Sequence[Token]
    lemmatize: Callable[[str, str], str] = field(repr=False)
    """(word, tag) -> lemma"""

    def __len__(self) -> int:
        return len(self.tokens)

    @cached_property
    def _children(self) -> list[list[int]]:
        children: list[list[int]] = [[] for _ in self.tokens]
        for place, token in enumerate(self.tokens):
            if token.head != place:
                children[token.head].append(place)
        return children

    @cached_property
    def lemmas(self) -> list[str]:
        """Lemma of each token."""
        return [self.lemmatize(token.word, token.tag) for token in self.tokens]

    def children(self, place: int, *roles: str) -> list[int]:
        """Return the children, optionally those with one of the roles, from left to right."""
        found = self._children[place]
        return [child for child in found if self.tokens[child].role in roles] if roles else found

    def conjuncts(self, place: int) -> list[int]:
        """Return a token and its conjuncts: `cats and dogs`."""
        found = [place]
        for token in found:  # grows during iteration; parser errors may form cycles
            found += [child for child in self.children(token, "conj") if child not in found]
        return found
