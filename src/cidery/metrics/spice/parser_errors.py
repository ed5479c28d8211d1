"""Parser errors of the original tool, reproduced to match its scores.

F is a ratio of small numbers, so that a score shows the numbers of matched tuples and, nearly
always, of all tuples. Each function brings these numbers closer to the original's;
docs/metrics/spice.md says by how much, and `benchmarks/run.py spice_original` measures it. The
evidence for `misparse_outdoors`, and for `drop_participle` without articles, is one score each.
Most of the errors look alike: an -ing form after a noun is parsed as a noun. The tokens are changed
in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cidery.metrics.spice.lexicon import PEOPLE
from cidery.metrics.spice.tree import LOST, Token
from cidery.metrics.spice.tree_edits import (
    NOMINAL_ROLES,
    Repair,
    find_child,
    find_group,
    find_last_child,
    inherit_position,
    move_children,
)

KNOWN_PARTICIPLES = frozenset(
    ("cutting", "eating", "holding", "lying", "playing", "standing", "swinging", "walking")
)
"""Participles that are parsed correctly after a caption's first noun."""
PREPOSITIONS = ("prep", "agent")
PLACES = ("at", "by", "in", "near", "next", "on")
"""Prepositions of place, not of direction."""
OUT_AND_IN = ("outdoors", "indoors")
"""Adverbs that look like plural nouns."""
AMOUNTS = ("lot", "lots", "plenty", "ton", "tons")


def misparse_covered(tokens: list[Token]) -> None:
    """`a man on a snow covered slope`: (man, on, snow), (snow, cover, slope)."""
    for place in range(1, len(tokens) - 1):
        verb, noun = tokens[place], tokens[place - 1]
        if verb.tag not in ("VBN", "VBD") or verb.role not in ("amod", "compound"):
            continue
        thing = verb.head
        if noun.tag not in ("NN", "NNS") or thing < place or noun.head not in (place, thing):
            continue
        move_children(tokens, thing, place - 1, before=place - 1)
        tokens[place - 1] = inherit_position(tokens[thing], thing, noun, place - 1)
        tokens[place] = replace(verb, tag="VBN", role="acl", head=place - 1)
        tokens[thing] = replace(tokens[thing], role="dobj", head=place)


def attach_participle(tokens: list[Token]) -> None:
    """`a woman at a table holding a cup`: a participle is attached to the noun before it."""
    nearest = None
    for place, token in enumerate(tokens):
        if token.is_noun and token.role in NOMINAL_ROLES:
            nearest = place
        elif token.tag == "VBG" and token.role in ("acl", "advcl") and nearest is not None:
            tokens[place] = replace(token, role="acl", head=nearest)


def drop_relative(tokens: list[Token]) -> None:
    """`a truck that is parked by a tree`: truck, tree, no relation."""
    for place, token in enumerate(tokens):
        if token.role == "relcl":
            tokens[place] = replace(token, role=LOST)


def drop_participle(tokens: list[Token]) -> None:
    """`a man sitting on a bench`: man, bench, no relation.

    This holds for most participles right after the first noun, if it is singular. `with` is
    attached to the noun before it; in captions without any article (`cat looking into distance
    with remote control`), its relation is dropped as well.
    """
    nouns = [p for p, token in enumerate(tokens) if token.is_noun and token.role in NOMINAL_ROLES]
    if not nouns or nouns[0] + 1 == len(tokens):
        return
    noun, place = tokens[nouns[0]], nouns[0] + 1
    verb = tokens[place]
    if verb.tag != "VBG" or verb.role != "acl" or verb.head != nouns[0]:
        return
    if verb.word in KNOWN_PARTICIPLES or noun.tag in ("NNS", "NNPS") or _rides(tokens, place):
        return
    if any(token.tag == "DT" for token in tokens):
        _drop(tokens, place, (*PREPOSITIONS, "dobj"), nouns)
        return
    _drop(tokens, place, (*PREPOSITIONS, "dobj"))
    for with_place, token in enumerate(tokens):
        noun = tokens[token.head]
        if token.word == "with" and noun.role == "pobj" and tokens[noun.head].role == LOST:
            tokens[with_place] = replace(token, role=LOST)


def _rides(tokens: list[Token], verb: int) -> bool:
    """Return True for `riding` with a place: `riding a wave on a board`."""
    preposition = find_child(tokens, verb, "prep")
    places = preposition is not None and tokens[preposition].word in PLACES
    return tokens[verb].word == "riding" and places


def drop_close_up(tokens: list[Token]) -> None:
    """`a close up of a zebra on grass`: (close), (zebra, on, grass)."""
    for place, token in enumerate(tokens):
        if token.role != "prep" or tokens[token.head].word not in ("close", "up"):
            continue
        if token.word == "of" and tokens[token.head].word == "up":
            tokens[place] = replace(token, role=LOST)
        elif token.word != "of" and tokens[place - 1].is_noun:
            tokens[place] = replace(token, head=place - 1)


def misparse_amount(tokens: list[Token]) -> None:
    """`lots of boats`: (boat), (lot)."""
    for place, token in enumerate(tokens):
        if token.role == "nummod" and token.word in AMOUNTS:
            tag = "NNS" if token.word.endswith("s") else "NN"
            tokens[place] = replace(token, tag=tag, role=LOST)


def misparse_outdoors(tokens: list[Token]) -> None:
    """`a dog with two birds outdoors`: (dog, with, outdoors), (outdoors, bird), (outdoors, two)."""
    for place in range(1, len(tokens)):
        noun, adverb = tokens[place - 1], tokens[place]
        if adverb.word in OUT_AND_IN and noun.is_noun and noun.role == "pobj":
            _join_noun(tokens, place, tag="NNS")


def misparse_participle(tokens: list[Token]) -> None:
    """`a young man holding a racquet`: (holding, man), (holding, young), (racquet).

    This holds if the noun is the caption's first, or the last of `a man and a woman`.
    """
    nouns = [p for p, token in enumerate(tokens) if token.is_noun and token.role in NOMINAL_ROLES]
    for noun in nouns:
        place, token = noun + 1, tokens[noun]
        if place + 1 >= len(tokens) or token.tag in ("NNS", "NNPS"):
            continue
        verb, thing = tokens[place], find_child(tokens, place, "dobj")
        if verb.tag != "VBG" or verb.role != "acl" or tokens[place + 1].tag != "DT":
            continue
        first = noun == nouns[0] and verb.head == noun
        last = token.role == "conj" and verb.word in KNOWN_PARTICIPLES
        if thing is None or not (first or last):
            continue
        for below, child in enumerate(tokens):
            if below > thing and child.head == place and child.role == "prep":
                tokens[below] = replace(child, head=thing)
        move_children(tokens, noun, place)
        tokens[place] = replace(inherit_position(token, noun, verb, place), tag="NN")
        tokens[noun] = replace(token, role="compound", head=place)
        tokens[thing] = replace(tokens[thing], role="appos", head=place)


def misparse_standing(tokens: list[Token]) -> None:
    """`a cow standing by a dog on grass`: (standing, cow), (standing, by, dog), (standing, on, …).

    People who stand are parsed correctly, except those who stand next to something.
    """
    for place in range(1, len(tokens)):
        verb, noun = tokens[place], tokens[place - 1]
        if verb.word != "standing" or verb.tag != "VBG" or verb.role not in ("acl", "advcl"):
            continue
        if noun.tag != "NN" or noun.role not in NOMINAL_ROLES:
            continue
        if noun.word in PEOPLE and [t.word for t in tokens[place + 1 : place + 2]] != ["next"]:
            continue
        if find_group(tokens, noun) is None and not _has_auxiliary(tokens, place):
            _join_noun(tokens, place)
            _gather_places(tokens, place)


def drop_top(tokens: list[Token]) -> None:
    """`a cat on top of a car`: (cat, on, top), (car).

    After a dropped participle, `in front of` is dropped, too.
    """
    for place, token in enumerate(tokens):
        noun = tokens[token.head]
        if token.word != "of" or token.role != "prep" or noun.role != "pobj":
            continue
        if noun.word == "top" or (noun.word == "front" and tokens[noun.head].role == LOST):
            tokens[place] = replace(token, role=LOST)


def attach_low(tokens: list[Token]) -> None:
    """`a man eats a pizza on a plate in a room`: (pizza, on, plate), (plate, in, room)."""
    for place, token in enumerate(tokens):
        if token.role != "prep" or not tokens[token.head].is_verb:
            continue
        thing = find_child(tokens, token.head, "dobj")
        before = find_last_child(tokens[:place], token.head, "prep")
        if before is not None and (thing is None or thing > place):
            thing = find_child(tokens, before, "pobj")
        if thing is not None and thing < place and tokens[thing].is_noun:
            tokens[place] = replace(token, head=thing)


def _gather_places(tokens: list[Token], noun: int) -> None:
    """Attach to a noun the prepositions below its prepositions' objects."""
    for place, token in enumerate(tokens):
        thing = tokens[token.head]
        if token.role != "prep" or token.word in ("of", "with") or thing.role != "pobj":
            continue
        if tokens[thing.head].head in (noun, noun + 1):  # `next`, of `next to`, may come between
            tokens[place] = replace(token, head=noun)


def _join_noun(tokens: list[Token], place: int, tag: str = "NN") -> None:
    """Merge a word with the noun, or the two nouns, before it."""
    noun = tokens[place - 1]
    bare = find_child(tokens, place - 1, "det") is None
    pair = bare and noun.role == "conj" and tokens[noun.head].is_noun
    first = noun.head if pair and tokens[place - 2].tag == "CC" else place - 1
    for part in {first, place - 1}:
        move_children(tokens, part, place)
    tokens[place] = replace(inherit_position(tokens[first], first, tokens[place], place), tag=tag)
    for part in {first, place - 1}:
        tokens[part] = replace(tokens[part], role="compound", head=place)


def _drop(
    tokens: list[Token],
    verb: int,
    roles: tuple[str, ...] = PREPOSITIONS,
    nouns: Sequence[int] = (),
) -> None:
    """Detach a verb's children; given nouns, attach `with` to the last one before it."""
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


PARSER_ERRORS: tuple[Repair, ...] = (
    misparse_covered,
    attach_participle,
    drop_relative,
    drop_participle,
    drop_close_up,
    misparse_amount,
    misparse_outdoors,
    misparse_participle,
    misparse_standing,
    drop_top,
    attach_low,
)
