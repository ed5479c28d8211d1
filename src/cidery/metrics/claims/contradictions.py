"""Rules that find a reference's claim that contradicts a candidate's.

Each rule takes a claim and the references' claims, and returns the contradicting claim or None.
Rules are applied only if no reference states the claim itself.
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
SynonymCheck: TypeAlias = Callable[[str, str], bool]
"""Function that returns True for synonyms."""


@dataclass(frozen=True)
class StatedClaim:
    """A claim of a reference."""

    claim: Claim
    reference: int


Rule: TypeAlias = Callable[[Claim, Sequence[StatedClaim], SynonymCheck], StatedClaim | None]


def is_exact(claim: Claim) -> bool:
    """Return True for colors and numbers, which encoders hardly distinguish."""
    return claim.kind == "count" or (len(claim.parts) == 2 and claim.parts[1] in PLAIN_COLORS)


def states(known: Claim, claim: Claim, same: SynonymCheck) -> bool:
    """Return True if two claims are equal up to synonyms and negation."""
    if len(known.parts) != len(claim.parts):
        return False
    if claim.kind == "count" and known.kind == "count":
        alike = to_number(known.parts[1]) == to_number(claim.parts[1])
        return alike and same(known.parts[0], claim.parts[0])
    return all(map(same, known.parts, claim.parts))


def find_negation(
    claim: Claim, stated: Sequence[StatedClaim], same: SynonymCheck
) -> StatedClaim | None:
    """`no dog` against `a dog`, or `a dog` against `no dog`."""
    anybody = claim.negated and claim.parts == ("person",)
    for known in stated:
        if known.claim.negated == claim.negated:
            continue
        people = anybody and known.claim.kind == "object" and known.claim.parts[0] in PEOPLE
        if people or states(known.claim, claim, same):
            return known
    return None


def find_other_count(
    claim: Claim, stated: Sequence[StatedClaim], same: SynonymCheck
) -> StatedClaim | None:
    """`five dogs` against `two dogs` or `a dog`."""
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


def find_other_color(
    claim: Claim, stated: Sequence[StatedClaim], same: SynonymCheck
) -> StatedClaim | None:
    """`a red dog` against `a black dog`."""
    if claim.kind != "attribute" or claim.parts[1] not in PLAIN_COLORS:
        return None
    for known in _describe(claim, stated, same):
        if known.claim.parts[1] in PLAIN_COLORS:
            return known
    return None


def find_opposite(
    claim: Claim, stated: Sequence[StatedClaim], same: SynonymCheck
) -> StatedClaim | None:
    """`an old man` against `a young man`, `a cup under a table` against `a cup on a table`."""
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
        verb = known.claim.parts
        if len(verb) != 3 or not _is_opposite(claim.parts[1], verb[1]):
            continue
        if same(claim.parts[0], verb[0]) and same(claim.parts[2], verb[2]):
            return known
    return None


def find_swapped_roles(
    claim: Claim, stated: Sequence[StatedClaim], same: SynonymCheck
) -> StatedClaim | None:
    """`a horse rides a man` against `a man rides a horse`, or against any verb from man to horse.

    The second holds for verbs only: `a hat on a man` and `a man wears a hat` agree.
    """
    if len(claim.parts) != 3 or claim.parts[1] in SYMMETRIC:
        return None
    subject, relation, thing = claim.parts
    related = [k for k in stated if len(k.claim.parts) == 3 and not k.claim.negated]

    def plays(one: str, other: str) -> bool:  # `a man` and `people` play the same role
        return same(one, other) or (one in PEOPLE and other in PEOPLE)

    rests = relation.split()[-1] in RESTING and not (subject in PEOPLE and thing in PEOPLE)
    for known in related:
        one, verb, other = known.claim.parts
        alike = relation.split()[0] == verb.split()[0] and verb not in SYMMETRIC
        if alike and same(subject, other) and same(thing, one):
            return known
        at = verb == "ride" or verb.split()[-1] in RESTING
        if rests and at and plays(subject, other) and plays(thing, one):
            return known
    if claim.has_verb and thing in BEINGS and subject not in BEINGS:
        # `a kite flies a boy` against `a woman flies …`
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
    "denied": find_negation,
    "other count": find_other_count,
    "other color": find_other_color,
    "opposite": find_opposite,
    "roles swapped": find_swapped_roles,
}
"""Rules by the reason that a ledger shows."""


def to_number(word: str) -> int:
    """Return the value of a numeral; 0 for other words."""
    return NUMBERS.get(word, int(word[:9]) if word.isdecimal() else 0)


def _describe(claim: Claim, stated: Sequence[StatedClaim], same: SynonymCheck) -> list[StatedClaim]:
    """Return the references' positive claims of the same kind about the same object."""
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


def _count(stated: Sequence[StatedClaim]) -> int:
    return len({known.reference for known in stated})
