"""A caption's dependency tree, in the form that repairs and rules read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

NOUNS = ("NN", "NNS", "NNP", "NNPS")
VERBS = ("VB", "VBD", "VBG", "VBN", "VBP", "VBZ")
PRONOUNS = ("PRP", "PRP$")
DROPPED = "dropped"
"""The role of a token that became part of another one."""
LOST = "lost"
"""The role of a token that nothing is said to lead to."""


@dataclass(frozen=True)
class Token:
    """A word and its place in the tree."""

    word: str
    """In lower case."""
    tag: str
    """Of the Penn Treebank."""
    role: str
    """The dependency on its head, as spaCy's English pipelines name it."""
    head: int
    """The place of its head; a root is its own."""

    @property
    def is_noun(self) -> bool:
        """Whether it is a common or proper noun."""
        return self.tag in NOUNS

    @property
    def is_verb(self) -> bool:
        """Whether it is a verb of any form."""
        return self.tag in VERBS


@dataclass(frozen=True, eq=False)
class Tree:
    """Tokens with their lemmas; tokens go by their places."""

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
        """The lemma of each token."""
        return [self.lemmatize(token.word, token.tag) for token in self.tokens]

    def children(self, place: int, *roles: str) -> list[int]:
        """Return the children, or those with one of these roles, from left to right."""
        found = self._children[place]
        return [child for child in found if self.tokens[child].role in roles] if roles else found

    def conjuncts(self, place: int) -> list[int]:
        """Return a token and what is coordinated with it: `cats and dogs`."""
        found = [place]
        for token in found:  # grows while it is read; what is misread may be a circle
            found += [child for child in self.children(token, "conj") if child not in found]
        return found
