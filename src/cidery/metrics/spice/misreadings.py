"""What the original's parser gets wrong so often that its scores show it.

F is a ratio of small numbers, so that a score tells how many tuples matched and, nearly always, how
many there were. Each misreading brings these numbers closer to the original's on the captions that
the rules were looked at with, but for two that rest on one score each: `misread_outdoors`, and what
`lose_participle` does without articles. Each takes the tokens and changes them in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cidery.metrics.spice.edits import (
    NOMINAL_ROLES,
    Repair,
    find_child,
    find_group,
    move_children,
    take_over,
)
from cidery.metrics.spice.tree import LOST, Token
from cidery.metrics.spice.words import PEOPLE

KNOWN_PARTICIPLES = frozenset(
    ("cutting", "eating", "holding", "lying", "playing", "standing", "swinging", "walking")
)
"""Participles that are not lost after a caption's first noun."""
PREPOSITIONS = ("prep", "agent")
OUT_AND_IN = ("outdoors", "indoors")
"""Adverbs that look like nouns of several things."""
AMOUNTS = ("lot", "lots", "plenty", "ton", "tons")


def attach_participle(tokens: list[Token]) -> None:
    """`a woman at a table holding a cup`: a participle belongs to the noun before it.

    People would often take the farther noun. Groups still act as one: `a group of people playing`.
    """
    nearest = None
    for place, token in enumerate(tokens):
        if token.is_noun and token.role in NOMINAL_ROLES:
            group = find_group(tokens, token)
            nearest = place if group is None else group
        elif token.tag == "VBG" and token.role in ("acl", "advcl") and nearest is not None:
            tokens[place] = replace(token, role="acl", head=nearest)


def lose_participle(tokens: list[Token]) -> None:
    """`a man sitting on a bench`: a man and a bench, and no word of what is between them.

    So it is with most participles right after the first noun. What `with` names belongs to the noun
    before it, but in captions without any article, `cat looking into distance with remote control`,
    it is lost as well.
    """
    nouns = [p for p, token in enumerate(tokens) if token.is_noun and token.role in NOMINAL_ROLES]
    if not nouns or nouns[0] + 1 == len(tokens):
        return
    verb = tokens[nouns[0] + 1]
    if verb.tag != "VBG" or verb.role != "acl" or verb.head != nouns[0]:
        return
    if verb.word in KNOWN_PARTICIPLES:
        return
    if any(token.tag == "DT" for token in tokens):
        _lose(tokens, nouns[0] + 1, (*PREPOSITIONS, "dobj"), nouns)
        return
    _lose(tokens, nouns[0] + 1, (*PREPOSITIONS, "dobj"))
    for place, token in enumerate(tokens):
        noun = tokens[token.head]
        if token.word == "with" and noun.role == "pobj" and tokens[noun.head].role == LOST:
            tokens[place] = replace(token, role=LOST)


def lose_passive(tokens: list[Token]) -> None:
    """`two cars are parked on the street`: cars and a street."""
    for place, token in enumerate(tokens):
        if token.tag == "VBN" and find_child(tokens, place, "auxpass") is not None:
            _lose(tokens, place)


def lose_close_up(tokens: list[Token]) -> None:
    """`a close up of a zebra`: a close and a zebra."""
    for place, token in enumerate(tokens):
        if token.word == "of" and token.role == "prep" and tokens[token.head].word == "up":
            tokens[place] = replace(token, role=LOST)


def misread_amount(tokens: list[Token]) -> None:
    """`lots of boats`: boats and, besides, a lot."""
    for place, token in enumerate(tokens):
        if token.role == "nummod" and token.word in AMOUNTS:
            tag = "NNS" if token.word.endswith("s") else "NN"
            tokens[place] = replace(token, tag=tag, role=LOST)


def misread_outdoors(tokens: list[Token]) -> None:
    """`a dog with two birds outdoors`: a dog with outdoors, which are bird and two."""
    for place in range(1, len(tokens)):
        noun, adverb = tokens[place - 1], tokens[place]
        if adverb.word in OUT_AND_IN and noun.is_noun and noun.role == "pobj":
            _join_noun(tokens, place, tag="NNS")


def misread_participle(tokens: list[Token]) -> None:
    """`a man holding a racquet`: (holding, man) and a racquet."""
    if len(tokens) < 4 or tokens[2].tag != "VBG":
        return
    noun, verb = tokens[1], tokens[2]
    thing = find_child(tokens, 2, "dobj")
    if not noun.is_noun or verb.role != "acl" or verb.head != 1 or tokens[3].tag != "DT":
        return
    if thing is None or noun.role not in NOMINAL_ROLES:
        return
    for place, token in enumerate(tokens):
        if place > thing and token.head == 2 and token.role == "prep":
            tokens[place] = replace(token, head=thing)
    move_children(tokens, 1, 2)
    tokens[2] = replace(take_over(noun, 1, verb, 2), tag="NN")
    tokens[1] = replace(noun, role="compound", head=2)
    tokens[thing] = replace(tokens[thing], role="appos", head=2)


def misread_standing(tokens: list[Token]) -> None:
    """`a cow standing by a dog on grass`: (standing, cow) by a dog, and on grass.

    What follows tells where it stands, not where the dog is. People who stand are read right.
    """
    for place in range(1, len(tokens)):
        verb, noun = tokens[place], tokens[place - 1]
        if verb.word != "standing" or verb.tag != "VBG" or verb.role not in ("acl", "advcl"):
            continue
        if noun.tag != "NN" or noun.role not in NOMINAL_ROLES or noun.word in PEOPLE:
            continue
        if find_group(tokens, noun) is None and not _has_auxiliary(tokens, place):
            _join_noun(tokens, place)
            _gather_places(tokens, place)


def _gather_places(tokens: list[Token], noun: int) -> None:
    """Let a noun's prepositions take those of what they lead to."""
    for place, token in enumerate(tokens):
        thing = tokens[token.head]
        if token.role != "prep" or token.word in ("of", "with") or thing.role != "pobj":
            continue
        if tokens[thing.head].head in (noun, noun + 1):  # `next`, of `next to`, may come between
            tokens[place] = replace(token, head=noun)


def _join_noun(tokens: list[Token], place: int, tag: str = "NN") -> None:
    """Make one noun of a word and what is before it: `a dog`, or `a dog and bird`."""
    noun = tokens[place - 1]
    bare = find_child(tokens, place - 1, "det") is None
    pair = bare and noun.role == "conj" and tokens[noun.head].is_noun
    first = noun.head if pair and tokens[place - 2].tag == "CC" else place - 1
    for part in {first, place - 1}:
        move_children(tokens, part, place)
    tokens[place] = replace(take_over(tokens[first], first, tokens[place], place), tag=tag)
    for part in {first, place - 1}:
        tokens[part] = replace(tokens[part], role="compound", head=place)


def _lose(
    tokens: list[Token],
    verb: int,
    roles: tuple[str, ...] = PREPOSITIONS,
    nouns: Sequence[int] = (),
) -> None:
    """Let a verb lead to nothing; given nouns, `with` goes to the last one before it."""
    for place, token in enumerate(tokens):
        if token.head != verb or token.role not in roles:
            continue
        before = [noun for noun in nouns if verb < noun < place]
        if token.word == "with" and before:
            tokens[place] = replace(token, head=before[-1])
        else:
            tokens[place] = replace(token, role=LOST)


def _has_auxiliary(tokens: list[Token], verb: int) -> bool:
    return any(find_child(tokens, verb, role) is not None for role in ("aux", "auxpass"))


MISREADINGS: tuple[Repair, ...] = (
    attach_participle,
    lose_participle,
    lose_passive,
    lose_close_up,
    misread_amount,
    misread_outdoors,
    misread_participle,
    misread_standing,
)
