"""Edits of dependency trees, used by repairs and by errors of the original parser."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from cidery.metrics.spice.lexicon import GROUPS
from cidery.metrics.spice.tree import Token

Repair: TypeAlias = Callable[[list[Token]], None]
"""Function that changes tokens in place."""

NOMINAL_ROLES = ("ROOT", "nsubj", "nsubjpass", "dobj", "pobj", "attr", "conj", "appos")


def find_child(tokens: list[Token], place: int, role: str, word: str = "") -> int | None:
    """Return the first child with that role and, if given, that word."""
    for child, token in enumerate(tokens):
        below = child != place and token.head == place
        if below and token.role == role and word in ("", token.word):
            return child
    return None


def find_last_child(tokens: list[Token], place: int, role: str) -> int | None:
    """Return the last child with that role."""
    found = (child for child, t in enumerate(tokens) if t.head == place and t.role == role)
    return max(found, default=None)


def find_group(tokens: list[Token], noun: Token) -> int | None:
    """Return the position of `group` in `a group of people`, given `people`."""
    of = tokens[noun.head]
    is_part = noun.role == "pobj" and of.word == "of"
    return of.head if is_part and tokens[of.head].word in GROUPS else None


def inherit_position(token: Token, place: int, noun: Token, noun_place: int) -> Token:
    """Return the noun with the role and head of the token."""
    head = noun_place if token.head == place else token.head
    return replace(noun, role=token.role, head=head)


def move_children(
    tokens: list[Token], place: int, new_head: int, before: int | None = None
) -> None:
    """Attach a token's children, or those left of `before`, to another token."""
    for child, token in enumerate(tokens[:before]):
        if token.head == place and child not in (place, new_head):
            tokens[child] = replace(token, head=new_head)
