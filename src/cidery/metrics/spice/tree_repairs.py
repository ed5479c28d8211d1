"""Repairs of common parser errors in captions.

Captions are mostly noun phrases in lower case without punctuation, while parsers are trained on
newspapers. Each repair changes the tokens in place.
"""

from __future__ import annotations

from dataclasses import replace

from cidery.metrics.spice.lexicon import LEADING, NOUNS_IN_ING, PATHS, QUANTIFIERS
from cidery.metrics.spice.parser_errors import PARSER_ERRORS
from cidery.metrics.spice.tree import DROPPED, NOUNS, Token
from cidery.metrics.spice.tree_edits import (
    NOMINAL_ROLES,
    Repair,
    find_child,
    find_group,
    find_last_child,
    inherit_position,
    move_children,
)

NOUN_PREPOSITIONS = ("on top of",)
"""As in Anderson et al. 2016; by the original's scores, `in front of` is not included."""

CONTINUED = ("pobj", "dobj", "conj")
"""Roles of nouns to which a conjunct is attached, rather than to one farther left."""


def repair(tokens: list[Token], *, as_original: bool = False) -> list[Token]:
    """Return the repaired tokens; the order of repairs matters.

    With `as_original`, errors of the original parser are reproduced, as its scores show them.
    """
    repaired = list(tokens)
    for step in (*REPAIRS, *(PARSER_ERRORS if as_original else ()), *JOININGS):
        step(repaired)
    return repaired


def restore_possessive(tokens: list[Token]) -> None:
    """`a frisbee in it 's mouth`: a possessive, not a verb."""
    for place in range(1, len(tokens) - 1):
        before, token, after = tokens[place - 1 : place + 2]
        if token.word != "'s" or before.word != "it" or after.tag not in (*NOUNS, "JJ"):
            continue
        if after.head == place:
            tokens[place + 1] = inherit_position(token, place, after, place + 1)
        move_children(tokens, place, place + 1)
        tokens[place - 1] = replace(before, tag="PRP$", role="poss", head=place + 1)
        tokens[place] = replace(token, tag="POS", role="case", head=place - 1)


def restore_phrase(tokens: list[Token]) -> None:
    """`a brown bear walking across a field`: a noun phrase, not a sentence."""
    for place, token in enumerate(tokens):
        if token.role != "ROOT" or token.tag != "VBG":
            continue
        named = (find_child(tokens, place, role) for role in ("nsubj", "npadvmod"))
        noun = next((child for child in named if child is not None), None)
        if noun is None or noun > place or not tokens[noun].is_noun:
            continue
        if all(find_child(tokens, place, role) is None for role in ("aux", "auxpass", "expl")):
            tokens[noun] = inherit_position(token, place, tokens[noun], noun)
            tokens[place] = replace(token, role="acl", head=noun)


def restore_bare_noun(tokens: list[Token]) -> None:
    """`cake with a candle`: a leading noun, not an imperative."""
    for place, token in enumerate(tokens[:2]):
        if token.role != "ROOT" or token.tag not in ("VB", "VBZ"):
            continue
        if any(t.head == place and t.role in ("nsubj", "expl") for t in tokens):
            continue
        if place + 1 == len(tokens) or tokens[place + 1].tag in ("IN", "CC"):
            tokens[place] = replace(token, tag="NNS" if token.tag == "VBZ" else "NN")


def restore_modifier(tokens: list[Token]) -> None:
    """`sliced fruit with bananas`: a modifier of `fruit`, not a verb in the past tense."""
    if not tokens or tokens[0].role != "ROOT" or tokens[0].tag not in ("VBD", "VBN"):
        return
    noun = find_child(tokens, 0, "dobj")
    if noun is not None and tokens[noun].is_noun and not tokens[1].tag.startswith("DT"):
        tokens[noun] = inherit_position(tokens[0], 0, tokens[noun], noun)
        move_children(tokens, 0, noun)
        tokens[0] = replace(tokens[0], tag="VBN", role="amod", head=noun)


def restore_clause(tokens: list[Token]) -> None:
    """`a white plate holding broccoli`: `plate` is the subject, `broccoli` the object."""
    for place in range(1, len(tokens) - 1):
        verb, noun = tokens[place], tokens[place - 1]
        thing = verb.head
        if verb.tag != "VBG" or verb.role not in ("amod", "compound") or thing < place:
            continue
        if not noun.is_noun or noun.role not in ("npadvmod", "nmod", "amod"):
            continue
        if noun.head in (place, thing):
            for head in (place, thing):
                move_children(tokens, head, place - 1, before=place - 1)
            tokens[place - 1] = inherit_position(tokens[thing], thing, noun, place - 1)
            tokens[place] = replace(verb, role="acl", head=place - 1)
            tokens[thing] = replace(tokens[thing], role="dobj", head=place)


def restore_root(tokens: list[Token]) -> None:
    """`a cat in a bathroom sink`, `a plate with meat and rice`: the first noun is the root."""
    for place, token in enumerate(tokens):
        if token.role != "ROOT" or not token.is_noun:
            continue
        noun, before = find_child(tokens, place, "nsubj"), tokens[place - 1]
        if noun is None or noun >= place - 1 or not tokens[noun].is_noun:
            continue
        if find_child(tokens, place, "aux") is not None:
            continue
        if token.tag == "NN" and before.is_noun and before.role in CONTINUED:
            tokens[place] = inherit_position(before, place - 1, token, place)
            move_children(tokens, place - 1, place)
            tokens[place - 1] = replace(before, role="compound", head=place)
        elif before.tag == "CC" and tokens[before.head].role in CONTINUED:
            tokens[place] = replace(token, role="conj", head=before.head)
        else:
            continue
        tokens[noun] = replace(tokens[noun], role="ROOT", head=noun)


def join_nouns(tokens: list[Token]) -> None:
    """`a yellow fire hydrant`: adjacent nouns without article form a compound."""
    for place in range(1, len(tokens)):
        token, before = tokens[place], tokens[place - 1]
        if before.role == "npadvmod" and before.head == place and token.is_noun and before.is_noun:
            move_children(tokens, place - 1, place)  # `a bath tub`
            tokens[place - 1] = replace(before, role="compound")
            continue
        if not token.is_noun or not before.is_noun or before.role not in NOMINAL_ROLES:
            continue
        if any(t.head == place for t in tokens[: place - 1]):
            continue
        if token.role in ("appos", "npadvmod", "amod", "advmod"):
            tokens[place] = inherit_position(before, place - 1, token, place)
        elif before.role != "nsubj" or before.head != place:
            continue
        move_children(tokens, place - 1, place)
        tokens[place - 1] = replace(before, role="compound", head=place)


def restore_preposition(tokens: list[Token]) -> None:
    """`skiing down a slope`: `slope` is the object of `down`, not of `skiing`."""
    for place, token in enumerate(tokens):
        if token.role != "prt" or token.word not in PATHS:
            continue
        noun = find_child(tokens, token.head, "dobj")
        if noun is not None and noun > place:
            tokens[place] = replace(token, tag="IN", role="prep")
            tokens[noun] = replace(tokens[noun], role="pobj", head=place)


def restore_list(tokens: list[Token]) -> None:
    """`walls a mirror and a sink`: a list without commas; a noun with article is no modifier."""
    for place, token in enumerate(tokens):
        listed = token.role in ("appos", "npadvmod") and token.is_noun and token.head < place
        if listed and tokens[token.head].is_noun:
            article = find_child(tokens, place, "det")
            if article is not None and tokens[article].word in ("a", "an"):
                tokens[place] = replace(token, role="conj")


def restore_object(tokens: list[Token]) -> None:
    """`a cake with candles burning`: `candles` is the object of `with`."""
    for place, token in enumerate(tokens):
        if token.role != "pcomp" or token.tag not in ("VBG", "VBN"):
            continue
        noun = find_child(tokens, place, "nsubj")
        if noun is None:
            noun = find_child(tokens, token.head, "pobj")
        if noun is not None and noun < place and tokens[noun].is_noun:
            tokens[noun] = replace(tokens[noun], role="pobj", head=token.head)
            tokens[place] = replace(token, role="acl", head=noun)


def restore_noun(tokens: list[Token]) -> None:
    """`sitting in a bath tub`: a word in a noun's role after an article or noun is a noun."""
    for place, token in enumerate(tokens):
        if token.role not in NOMINAL_ROLES or not token.tag.startswith(("JJ", "VB", "RB")):
            continue
        if token.word == "other" or token.tag == "VBG":
            continue
        roles = {t.role for t in tokens if t.head == place and t is not token}
        left = {t.role for t in tokens[:place] if t.head == place}
        if left & {"det", "compound", "poss"} and not roles & {"dobj", "nsubj", "aux", "auxpass"}:
            plural = token.word.endswith("s") and not token.word.endswith("ss")
            tokens[place] = replace(token, tag="NNS" if plural else "NN")


def restore_conjunct(tokens: list[Token]) -> None:
    """`a man in a suit and tie`: `tie` is a noun, not a verb."""
    for place, token in enumerate(tokens):
        if token.role != "conj" or token.tag not in ("VB", "VBP", "VBZ"):
            continue
        if not tokens[token.head].is_noun or tokens[place - 1].tag not in ("CC", "JJ", "NN"):
            continue
        below = [p for p, t in enumerate(tokens) if t.head == place and p != place]
        if place + 1 in below and tokens[place + 1].tag == "VBG":  # `in a suit and tie standing`
            _release_participle(tokens, place)
            below = [p for p in below if p < place]
        if not {tokens[p].role for p in below} & {"dobj", "nsubj", "aux", "xcomp", "prt"}:
            tokens[place] = replace(token, tag="NNS" if token.tag == "VBZ" else "NN")


def _release_participle(tokens: list[Token], place: int) -> None:
    """Attach later children of a word to the participle after it, and that to the word's head."""
    for child in range(place + 2, len(tokens)):
        if tokens[child].head == place:
            tokens[child] = replace(tokens[child], head=place + 1)
    tokens[place + 1] = replace(tokens[place + 1], role="acl", head=tokens[place].head)


def restore_verb(tokens: list[Token]) -> None:
    """`a bus waits by a curb`, `the dog chases cats`: verbs, though they look like plurals.

    A plural noun has neither the article `a` nor a subject and an object.
    """
    for place in range(1, len(tokens)):
        token, noun = tokens[place], tokens[place - 1]
        if token.tag != "NNS" or noun.tag != "NN" or noun.head != place:
            continue
        acts = noun.role == "nsubj" and find_child(tokens, place, "dobj") is not None
        one = any(t.word in ("a", "an") and t.head in (place - 1, place) for t in tokens[:place])
        if acts or (one and noun.role in ("nsubj", "compound")):
            move_children(tokens, place, place - 1, before=place - 1)
            tokens[place - 1] = replace(noun, role="nsubj")
            tokens[place] = replace(token, tag="VBZ")


def restore_participle(tokens: list[Token]) -> None:
    """`a herd of zebra standing on grass`: `standing` is a participle, not a noun."""
    for place in range(1, len(tokens)):
        token, noun = tokens[place], tokens[place - 1]
        if not token.word.endswith("ing") or token.word in NOUNS_IN_ING:
            continue
        if token.tag not in ("NN", "VBG") or token.role not in NOMINAL_ROLES:
            continue
        if noun.head != place or noun.role not in ("compound", "amod"):
            continue
        if noun.is_noun or (noun.tag == "JJ" and token.tag == "VBG"):
            move_children(tokens, place, place - 1, before=place - 1)
            named = replace(noun, tag=noun.tag if noun.is_noun else "NN")
            tokens[place - 1] = inherit_position(token, place, named, place - 1)
            tokens[place] = replace(token, tag="VBG", role="acl", head=place - 1)


def attach_to_group(tokens: list[Token]) -> None:
    """`a group of people playing`: `group` is the subject, as in `a group of people play`."""
    for place, token in enumerate(tokens):
        if token.tag == "VBG" and token.role == "acl":
            group = find_group(tokens, tokens[token.head])
            if group is not None:
                tokens[place] = replace(token, head=group)


def attach_with(tokens: list[Token]) -> None:
    """`a man sits at a table with a pizza`: `with` is attached to the noun before it."""
    for place, token in enumerate(tokens):
        if token.role != "prep" or token.word != "with" or not tokens[token.head].is_verb:
            continue
        before = find_last_child(tokens[:place], token.head, "prep")
        noun = find_last_child(tokens[:place], before, "pobj") if before is not None else None
        if noun is not None:
            tokens[place] = replace(token, head=noun)


def attach_conjunct(tokens: list[Token]) -> None:
    """`a bathroom with a sink and a toilet`: `and` joins the nouns next to it."""
    nouns = [p for p, token in enumerate(tokens) if token.is_noun and token.role in NOMINAL_ROLES]
    for place in nouns:
        token = tokens[place]
        if token.role != "conj":
            continue
        befores = [p - 1 for p in range(token.head + 2, place) if tokens[p].role == "cc"]
        if befores and befores[-1] in nouns and tokens[befores[-1]].role in CONTINUED:
            tokens[place] = replace(token, head=befores[-1])


def collapse_quantifier(tokens: list[Token]) -> None:
    """`lots of boats`, `one of the benches`: boats and a bench, with a quantity."""
    for place, token in enumerate(tokens):
        if token.tag != "CD" and token.word not in QUANTIFIERS:
            continue
        of = find_child(tokens, place, "prep", "of")
        noun = find_child(tokens, of, "pobj") if of is not None else None
        if of is None or noun is None or not tokens[noun].is_noun:
            continue
        tokens[noun] = inherit_position(token, place, tokens[noun], noun)
        move_children(tokens, place, noun)
        tokens[of] = replace(tokens[of], role=DROPPED)
        tokens[place] = replace(token, tag="CD", role="nummod", head=noun)


def join_prepositions(tokens: list[Token]) -> None:
    """`on top of a car`, `next to a tree`, `out of a window`: one preposition each."""
    for place in reversed(range(len(tokens))):
        token = tokens[place]
        if token.role not in ("prep", "advmod", "prt"):
            continue
        noun = find_child(tokens, place, "pobj")
        if noun is None:
            _lead(tokens, place, find_child(tokens, place, "prep"))
            continue
        tokens[place] = replace(token, role="prep")
        of = find_child(tokens, noun, "prep", "of")
        if of is not None and f"{token.word} {tokens[noun].word} of" in NOUN_PREPOSITIONS:
            _absorb(tokens, place, noun)
            _absorb(tokens, place, of)


def _lead(tokens: list[Token], place: int, preposition: int | None) -> None:
    """Join a word with the preposition below it, or attach the preposition to the word's head."""
    if preposition is None:
        return
    if tokens[place].word in LEADING:
        _absorb(tokens, place, preposition)
    elif tokens[place].role == "advmod":  # `flying high in the sky`
        tokens[preposition] = replace(tokens[preposition], head=tokens[place].head)


def _absorb(tokens: list[Token], place: int, other: int) -> None:
    """Make two words one preposition."""
    word = f"{tokens[place].word} {tokens[other].word}"
    move_children(tokens, other, place)
    tokens[other] = replace(tokens[other], tag="", role=DROPPED, head=place)
    tokens[place] = replace(tokens[place], word=word, tag="IN", role="prep")


REPAIRS: tuple[Repair, ...] = (
    restore_possessive,
    restore_phrase,
    restore_bare_noun,
    restore_modifier,
    restore_clause,
    restore_conjunct,
    restore_noun,
    restore_verb,
    restore_root,
    join_nouns,
    restore_preposition,
    restore_list,
    restore_object,
    restore_participle,
    attach_to_group,
    attach_conjunct,
    collapse_quantifier,
)
JOININGS: tuple[Repair, ...] = (join_prepositions, attach_with)
"""Repairs after `PARSER_ERRORS`, some of which detach prepositions."""
