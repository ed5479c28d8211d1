"""Contradictions: what references state that cannot be true together with a claim.

Each rule takes a claim and what the references state, and returns the statement that decides, or
None. A rule is only asked where no reference states the claim itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from cidery.metrics.claims.claim import MANY, Claim
from cidery.metrics.claims.extraction import PLAIN_COLORS
from cidery.metrics.claims.word_lists import (
    ANIMALS,
    NUMBERS,
    OPPOSITES,
    POSTURES,
    RESTING,
    SYMMETRIC,
)
from cidery.metrics.spice.lexicon import PEOPLE

BEINGS = PEOPLE | ANIMALS
Same: TypeAlias = Callable[[str, str], bool]
"""Whether two words mean the same thing."""


@dataclass(frozen=True)
class Stated:
    """A claim of a reference."""

    claim: Claim
    reference: int


Rule: TypeAlias = Callable[[Claim, Sequence[Stated], Same], Stated | None]


def is_exact(claim: Claim) -> bool:
    """Tell whether a claim is of a color or a number, which encoders hardly tell from others."""
    return claim.kind == "count" or (len(claim.parts) == 2 and claim.parts[1] in PLAIN_COLORS)


def states(known: Claim, claim: Claim, same: Same) -> bool:
    """Tell whether one claim says what another does, negation aside."""
    if len(known.parts) != len(claim.parts):
        return False
    if claim.kind == "count" and known.kind == "count":
        alike = to_number(known.parts[1]) == to_number(claim.parts[1])
        return alike and same(known.parts[0], claim.parts[0])
    return all(map(same, known.parts, claim.parts))


def deny(claim: Claim, stated: Sequence[Stated], same: Same) -> Stated | None:
    """`no dog`, where references see one; `a dog`, where they say that there is none."""
    anybody = claim.negated and claim.parts == ("person",)
    for known in stated:
        if known.claim.negated == claim.negated:
            continue
        people = anybody and known.claim.kind == "object" and known.claim.parts[0] in PEOPLE
        if people or states(known.claim, claim, same):
            return known
    return None


def count_otherwise(claim: Claim, stated: Sequence[Stated], same: Same) -> Stated | None:
    """`five dogs`, where references see two, or one."""
    if claim.kind != "count":
        return None
    number = to_number(claim.parts[1])
    about = [
        known
        for known in stated
        if known.claim.number and same(known.claim.parts[0], claim.parts[0])
    ]
    against = [
        known
        for known in about
        if known.claim.number not in (number, MANY) or (known.claim.number == MANY and number == 1)
    ]
    if not number or 2 * len(against) <= len(about):
        return None
    return min(against, key=lambda k: abs(k.claim.number - number) if k.claim.number > 0 else 99)


def color_otherwise(claim: Claim, stated: Sequence[Stated], same: Same) -> Stated | None:
    """`a red dog`, where references see a black one."""
    if claim.kind != "attribute" or claim.parts[1] not in PLAIN_COLORS:
        return None
    for known in _describe(claim, stated, same):
        if known.claim.parts[1] in PLAIN_COLORS:
            return known
    return None


def say_opposite(claim: Claim, stated: Sequence[Stated], same: Same) -> Stated | None:
    """`an old man`, `a cup under a table`, where references see a young one, and a cup on it."""
    opposites = OPPOSITES.get(claim.parts[claim.own], frozenset())
    if claim.kind == "object":
        against = [k for k in stated if k.claim.kind == "object" and k.claim.parts[0] in opposites]
        return against[0] if 2 * len({k.reference for k in against}) > _count(stated) else None
    if len(claim.parts) == 2:
        if claim.parts[0] in BEINGS:
            opposites |= POSTURES.get(claim.parts[1], frozenset())
        found = (k for k in _describe(claim, stated, same) if k.claim.parts[1] in opposites)
        return next(found, None)
    for known in stated if len(claim.parts) == 3 else ():
        told = known.claim.parts
        if len(told) != 3 or not _is_opposite(claim.parts[1], told[1]):
            continue
        if same(claim.parts[0], told[0]) and same(claim.parts[2], told[2]):
            return known
    return None


def swap_roles(claim: Claim, stated: Sequence[Stated], same: Same) -> Stated | None:
    """`a horse rides a man`, where references see a man ride it, or do anything to it.

    The second holds for verbs only: `a hat on a man` and `a man wears a hat` say the same.
    """
    if len(claim.parts) != 3 or claim.parts[1] in SYMMETRIC:
        return None
    subject, relation, thing = claim.parts
    related = [k for k in stated if len(k.claim.parts) == 3 and not k.claim.negated]

    def plays(one: str, other: str) -> bool:  # `a man` and `people` play the same role
        return same(one, other) or (one in PEOPLE and other in PEOPLE)

    rests = relation.split()[-1] in RESTING and not (subject in PEOPLE and thing in PEOPLE)
    for known in related:
        one, told, other = known.claim.parts
        alike = relation.split()[0] == told.split()[0] and told not in SYMMETRIC
        if alike and same(subject, other) and same(thing, one):
            return known
        at = told == "ride" or told.split()[-1] in RESTING
        if rests and at and plays(subject, other) and plays(thing, one):
            return known
    if claim.has_verb and thing in BEINGS and subject not in BEINGS:
        # `a kite flies a boy`, where references see a woman fly anything
        for known in stated:
            parts = known.claim.parts
            if len(parts) > 1 and parts[0] in BEINGS and parts[1] == relation:
                return known
    if claim.has_verb:
        acting = [k for k in related if k.claim.has_verb]
        doing = [k for k in acting if same(thing, k.claim.parts[0])]
        done_to = [k for k in acting if same(subject, k.claim.parts[2])]
        others = any(
            same(subject, k.claim.parts[0]) or same(thing, k.claim.parts[2]) for k in acting
        )
        return doing[0] if doing and done_to and not others else None
    return None


RULES: dict[str, Rule] = {
    "denied": deny,
    "other count": count_otherwise,
    "other color": color_otherwise,
    "opposite": say_opposite,
    "roles swapped": swap_roles,
}
"""By the reason that a ledger names."""


def to_number(word: str) -> int:
    """Return what a numeral means; 0 for what is none."""
    return NUMBERS.get(word, int(word[:9]) if word.isdecimal() else 0)


def _describe(claim: Claim, stated: Sequence[Stated], same: Same) -> list[Stated]:
    """Return what references say of the same thing in the same way, unless they deny it."""
    return [
        k
        for k in stated
        if k.claim.kind == claim.kind
        and not k.claim.negated
        and same(k.claim.parts[0], claim.parts[0])
    ]


def _is_opposite(one: str, other: str) -> bool:
    words, others = one.split(" "), other.split(" ")
    if other in OPPOSITES.get(one, ()):
        return True
    return words[:-1] == others[:-1] and others[-1] in OPPOSITES.get(words[-1], ())


def _count(stated: Sequence[Stated]) -> int:
    return len({known.reference for known in stated})
