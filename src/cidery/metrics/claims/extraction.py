"""Extraction of claims from captions: sentences, parse trees, pronouns."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
from sys import intern
from typing import TYPE_CHECKING, Any, TypeAlias

from cidery.metrics.claims.claim import MANY, Claim, Kind
from cidery.metrics.claims.word_lists import (
    EMPTY_MODIFIERS,
    FRAME_VERBS,
    FRAMES,
    HUBS,
    MANY_WORDS,
    NUMBERS,
    PICTURES,
    PLACES,
)
from cidery.metrics.spice.lexicon import COLORS, GROUPS, PEOPLE
from cidery.metrics.spice.scene import ONE_PERSON, SEVERAL, Scene
from cidery.metrics.spice.tree import PRONOUNS, Tree
from cidery.runtime import current_progress, share_work
from cidery.text import TokenSpan

if TYPE_CHECKING:
    from cidery.metrics.spice.parser import Parser

MAX_SENTENCE_LENGTH = 120
"""Maximum number of words of a sentence; longer ones are split."""
BATCH = 256
"""Number of sentences per batch of a worker process."""
MAX_COLOR_DISTANCE = 5
"""Maximum distance in words between a color and its object."""
MAX_TOPICS = 32
"""Number of latest objects that a pronoun may refer to."""
_STEP = "extracting claims"
_SENTENCE = re.compile(r"[^\n]*?(?:[.!?;]+[\"'”’)]*(?=\s|$)|\n|$)")
_WORD = re.compile(r"[^\W_](?:[\w'’./-]*[^\W_])?|,")
_SUFFIX = re.compile(r"(?i)(?:n['’]t|['’](?:s|re|ve|ll|d|m))$")
_QUOTED = re.compile(r"[\"“”]([^\"“”]{1,60})[\"“”]")
_SPELLED = {"n't": "not", "'re": "are", "'ve": "have", "'ll": "will", "'m": "am"}
_STEMS = {"ca": "can", "wo": "will"}
_RESOLVED_PRONOUNS = ("it", "its", *ONE_PERSON, *SEVERAL)
_NEGATIONS = ("no", "not", "never", "neither", "nor", "cannot")
_NEGATIVE_PRONOUNS = ("nobody", "noone", "none")
_INDEFINITE_PRONOUNS = (
    "anybody",
    "anyone",
    "everybody",
    "everyone",
    "somebody",
    "someone",
    "nobody",
    "noone",
)
VAGUE_COLORS = frozenset(["colored", "colorful", "colourful", "dark", "light", "plaid", "bright"])
PLAIN_COLORS = COLORS - VAGUE_COLORS

Sentence: TypeAlias = tuple[str, ...]
ClaimsBySentence: TypeAlias = Mapping[Sentence, tuple[Claim, ...]]
"""Claims by sentence."""


@dataclass(frozen=True)
class Description:
    """A caption as tokenized sentences with character positions."""

    sentences: tuple[Sentence, ...]
    places: tuple[TokenSpan, ...]
    """Character spans of the words of all sentences."""
    quotes: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """Quoted texts and the positions of their words."""


def split_sentences(text: str) -> Description:
    """Split a text into sentences and words; `'s` and `n't` are words.

    ```python
    split_sentences("A dog. It isn't.").sentences   # (("a", "dog"), ("it", "is", "not"))
    ```
    """
    sentences: list[Sentence] = []
    places: list[TokenSpan] = []
    for found in _SENTENCE.finditer(text):
        words = [piece for match in _WORD.finditer(text, *found.span()) for piece in _split(match)]
        for start in range(0, len(words), MAX_SENTENCE_LENGTH):
            piece = words[start : start + MAX_SENTENCE_LENGTH]
            sentences.append(tuple(intern(word) for word, _ in piece))
            places += [place for _, place in piece]
    quotes = []
    starts = [start for start, _ in places]
    for found in _QUOTED.finditer(text):
        inside = range(bisect(starts, found.start()), bisect(starts, found.end()))
        if inside:
            quotes.append((" ".join(found[1].lower().split()).strip(".,!?"), tuple(inside)))
    return Description(tuple(sentences), tuple(places), tuple(quotes))


def _split(match: re.Match[str]) -> Iterator[tuple[str, TokenSpan]]:
    word, start, end = match[0], match.start(), match.end()
    suffix = _SUFFIX.search(word)
    if suffix is None or not suffix.start():
        yield word.lower(), (start, end)
        return
    middle = start + suffix.start()
    stem, ending = word[: suffix.start()].lower(), suffix[0].lower().replace("’", "'")
    yield (_STEMS.get(stem, stem) if ending == "n't" else stem), (start, middle)
    yield _SPELLED.get(ending, ending), (middle, end)


def extract_claims(
    parser: Parser, sentences: Iterable[Sentence], threads: int
) -> dict[Sentence, tuple[Claim, ...]]:
    """Return the claims of each distinct sentence; thousands are parsed by several processes."""
    distinct = list(dict.fromkeys(sentences))
    chunks = [distinct[start : start + BATCH] for start in range(0, len(distinct), BATCH)]
    helpers = parser.count_helpers(len(distinct), threads)
    progress = current_progress()
    read: list[tuple[Claim, ...]] = []
    seen: dict[tuple[object, ...], tuple[Any, ...]] = {}  # most parts and positions repeat
    here, there = partial(_read_chunk, parser), partial(_read_in_worker, parser.package)
    for number, claims in enumerate(share_work(chunks, here, there, helpers), 1):
        read += [tuple(_share_parts(claim, seen) for claim in found) for found in claims]
        progress(_STEP, number / len(chunks))
    return dict(zip(distinct, read, strict=True))


def _share_parts(claim: Claim, seen: dict[tuple[object, ...], tuple[Any, ...]]) -> Claim:
    """Return a claim that shares equal tuples with earlier claims, to save memory."""
    parts, words = (
        seen.setdefault(claim.parts, claim.parts),
        seen.setdefault(claim.words, claim.words),
    )
    return Claim(claim.kind, parts, words, claim.negated, claim.number)


def _read_chunk(parser: Parser, sentences: Sequence[Sentence]) -> list[tuple[Claim, ...]]:
    return [read_claims(tree) for tree in parser.read_trees(sentences)]


def _read_in_worker(package: str, sentences: Sequence[Sentence]) -> list[tuple[Claim, ...]]:
    from cidery.metrics.spice.parser import load_parser

    return _read_chunk(load_parser(package), sentences)


def read_claims(tree: Tree) -> tuple[Claim, ...]:
    """Return the claims of a sentence; pronouns without antecedent in it are not resolved."""
    scene = _ClaimScene(tree)
    first: dict[tuple[tuple[str, ...], bool], Claim] = {}
    for rule in RULES:
        for claim in rule(scene):
            first.setdefault((claim.parts, claim.negated), claim)
    used = {place for claim in first.values() for part in claim.words for place in part}
    for claim in attach_colors(scene, used):
        first.setdefault((claim.parts, claim.negated), claim)
    return tuple(first.values())


class _ClaimScene(Scene):
    """A scene in which pronouns that refer to an earlier sentence are objects."""

    def name(self, place: int) -> str:
        word = self.tree.tokens[place].word
        if word in _INDEFINITE_PRONOUNS or (word == "one" and self._has_negation(place)):
            return "person"
        return super().name(place)

    @cached_property
    def objects(self) -> dict[int, None]:
        named = {
            p: None for p in super().objects if self.name(p) not in FRAMES and not self._is_hub(p)
        }
        things = [place for place in named if self.name(place) not in PEOPLE]
        places = []
        for place, token in enumerate(self.tree.tokens):
            before = things if token.word in ("it", "its") else named
            refers = token.tag in PRONOUNS and token.word in _RESOLVED_PRONOUNS
            if place in named or (refers and place < min(before, default=len(self.tree))):
                places.append(place)
        return dict.fromkeys(places)

    def _is_hub(self, noun: int) -> bool:
        of = self.tree.children(noun, "prep")
        return self.name(noun) in HUBS and (not of or self.tree.tokens[of[0]].word == "of")

    def resolve(self, place: int) -> list[int]:
        if place in self.objects:
            return [place]
        first = next(iter(self.objects), place)
        if self.tree.tokens[first].tag in PRONOUNS and self.tree.tokens[place].tag in PRONOUNS:
            return [first]  # `it holds a ball in its mouth`
        return super().resolve(place)

    def reach(self, preposition: int) -> tuple[list[int], tuple[int, ...]]:
        """Return the objects of a preposition and the words in between: `in front of a house`."""
        for hub in self.tree.children(preposition, "pobj"):
            if hub not in self.objects and self.name(hub) in HUBS:
                for of in self.tree.children(hub, "prep"):
                    return self.things(of, "pobj"), (hub, of)
        return self.things(preposition, "pobj"), ()

    def is_negated(self, place: int) -> bool:
        """Return True for a negated verb or noun: `not riding`, `no dog`, `without a dog`."""
        token = self.tree.tokens[place]
        if self._has_negation(place):
            return token.word not in ("sign", "signs")  # `a no parking sign`
        if token.is_verb:
            return False
        head = self.tree.tokens[token.head]
        if token.word in _NEGATIVE_PRONOUNS or (
            head.word == "without" and token.role in ("pobj", "conj")
        ):
            return True
        if token.role == "conj" and head.is_noun and not self.tree.children(place, "det"):
            return self._has_negation(token.head)  # `no dogs or cats`
        denied = token.role == "dobj" and self.name(token.head) == "lack"
        there = token.role == "attr" and bool(self.tree.children(token.head, "expl"))
        return denied or (there and self._has_negation(token.head))  # `there is not a dog`

    def _has_negation(self, place: int) -> bool:
        return any(
            self.tree.tokens[child].word in _NEGATIONS for child in self.tree.children(place)
        )

    def number(self, noun: int) -> int:
        """Return the number of an object; `MANY` for plurals, 0 if unknown."""
        words = [self.tree.tokens[c].word for c in self.tree.children(noun)]
        if "other" in words:  # `two other men`, beside those named before
            return MANY
        for word in words:
            if word in NUMBERS or word.isdecimal():
                return NUMBERS[word] if word in NUMBERS else int(word[:9])
        if self.is_word(noun, "NNS", "NNPS") or any(word in MANY_WORDS for word in words):
            return MANY
        return 1 if any(word in ("a", "an", "another") for word in words) else 0

    def claim(self, kind: Kind, *parts: int | tuple[int, ...], negated: bool = False) -> Claim:
        """Return the claim of the words at these positions."""
        words = tuple((part,) if isinstance(part, int) else part for part in parts)
        named = tuple(" ".join(self.name(place) for place in part) for part in words)
        negated = negated or any(map(self.is_negated, self.objects.keys() & {*chain(*words)}))
        return Claim(kind, named, words, negated)


def extract_objects(scene: _ClaimScene) -> Iterator[Claim]:
    """`a dog and two cats` -> dog, cat."""
    for noun in scene.objects:
        if scene.tree.tokens[noun].tag not in PRONOUNS:
            claim = scene.claim("object", noun)
            yield replace(claim, number=scene.number(noun))


def extract_counts(scene: _ClaimScene) -> Iterator[Claim]:
    """`three cats` -> (cat, three)."""
    for noun in scene.objects:
        for numeral in scene.tree.children(noun, "nummod"):
            if scene.number(noun) > 0:
                yield scene.claim("count", noun, numeral)


def extract_attributes(scene: _ClaimScene) -> Iterator[Claim]:
    """`a brown dog`, `a tennis court`, `the bench is empty` -> (dog, brown), (court, tennis), …."""
    for noun in scene.objects:
        for modifier in scene.modifiers(noun, "amod", "compound", "nmod"):
            kind: Kind = "count" if scene.name(modifier) in NUMBERS else "attribute"
            if scene.name(modifier) not in EMPTY_MODIFIERS:
                yield scene.claim(kind, noun, modifier)
    for noun in range(len(scene.tree)):
        if noun not in scene.objects and scene.name(noun) in PICTURES:
            for modifier in scene.modifiers(noun, "amod", "compound", "nmod"):
                if scene.name(modifier) in PLAIN_COLORS:
                    yield scene.claim("attribute", noun, modifier)
    for verb in scene.verbs:
        subjects, negated = scene.subjects(verb), scene.is_negated(verb)
        for first in scene.tree.children(verb, "acomp", "attr", "oprd"):
            for complement in scene.tree.conjuncts(first):
                for subject in subjects:
                    if complement in scene.objects and complement != subject:
                        yield scene.claim("relation", subject, verb, complement, negated=negated)
                    elif scene.is_word(complement, "JJ", "JJR", "JJS", "VBN", "VBG"):
                        yield scene.claim("attribute", subject, complement, negated=negated)


def extract_actions(scene: _ClaimScene) -> Iterator[Claim]:
    """`a man rides a horse`, `a woman smiling` -> (man, ride, horse), (woman, smile)."""
    for verb in scene.verbs:
        negated, things = scene.is_negated(verb), scene.things(verb, "dobj")
        for subject in scene.subjects(verb):
            for thing in things:
                if thing != subject:
                    yield scene.claim("relation", subject, verb, thing, negated=negated)
            done_by = scene.is_passive(verb) and scene.tree.children(verb, "agent")
            if not things and not done_by and scene.name(verb) not in FRAME_VERBS:
                yield scene.claim("attribute", subject, verb, negated=negated)


def extract_relations(scene: _ClaimScene) -> Iterator[Claim]:
    """`a cat on a mat`, `a girl stands on a court`, `a ball held by a dog`."""
    for noun in scene.objects:
        yield from _relate(scene, noun, (), noun)
        for modifier in scene.tree.children(noun, "amod"):
            yield from _relate(scene, noun, (modifier,), modifier)
    for verb in scene.verbs:
        for subject in scene.subjects(verb):
            yield from _relate(scene, subject, (verb,) if scene.name(verb) != "be" else (), verb)
        for complement in scene.tree.children(verb, "acomp"):
            for subject in scene.subjects(verb):
                yield from _relate(scene, subject, (complement,), complement)
    for noun in scene.objects:
        for owner in scene.things(noun, "poss"):
            if owner != noun:
                claim = scene.claim("relation", owner, noun, noun)
                yield replace(claim, parts=(claim.parts[0], "have", claim.parts[2]))


def _relate(scene: _ClaimScene, subject: int, label: tuple[int, ...], head: int) -> Iterator[Claim]:
    negated = scene.is_negated(head)
    for child in scene.tree.children(head, "prep", "agent", "dative"):
        for preposition in scene.tree.conjuncts(child):
            word = scene.tree.tokens[preposition].word
            things, inner = scene.reach(preposition)
            for thing in things:
                if thing == subject:
                    continue
                if word == "by" and label and scene.is_passive(label[0]):
                    yield scene.claim("relation", thing, label, subject, negated=negated)
                    continue
                kind: Kind = "place" if word.split()[0] in PLACES or " " in word else "relation"
                out = negated or word == "without"
                yield scene.claim(kind, subject, (*label, preposition, *inner), thing, negated=out)


def attach_colors(scene: _ClaimScene, used: Collection[int]) -> Iterator[Claim]:
    """`an orange teddy bear`: attach colors parsed as objects to the next object."""
    for place, token in enumerate(scene.tree.tokens):
        if token.word not in PLAIN_COLORS or place in used:
            continue
        following = (noun for noun in scene.objects if 0 < noun - place <= MAX_COLOR_DISTANCE)
        for noun in following:
            yield scene.claim("attribute", noun, place)
            break


RULES = (extract_objects, extract_counts, extract_attributes, extract_actions, extract_relations)


@dataclass(frozen=True)
class Statement:
    """A claim of a description and its relation to earlier ones."""

    claim: Claim
    repeated: bool = False
    """True in a sentence that only repeats earlier claims."""
    varied: bool = False
    """True if such a sentence changes a number, a color or a negation."""


def collect_statements(description: Description, known: ClaimsBySentence) -> tuple[Statement, ...]:
    """Return the distinct claims of a description, with pronouns resolved.

    A sentence without claims is a claim of the kind `nothing`. Earlier claims are left out of a
    sentence that adds new ones; in a sentence that adds none they are `repeated`, or `varied` if
    it changes numbers or colors: `Two dogs run. Five dogs run.`
    """
    statements: list[Statement] = []
    stated: dict[tuple[tuple[str, ...], bool], None] = {}
    topical: set[tuple[str, ...]] = set()
    topics: list[tuple[str, int]] = []  # objects and their numbers, latest first
    first = 0
    for sentence in description.sentences:
        own = [_resolve(_shift(claim, first), topics) for claim in known[sentence]]
        fresh = [claim for claim in own if (claim.parts, claim.negated) not in stated]
        if all(_find_topical(claim) in topical for claim in own):
            statements += [Statement(c, c not in fresh, c in fresh) for c in own]
        else:
            statements += [Statement(claim) for claim in fresh]
        stated |= dict.fromkeys((claim.parts, claim.negated) for claim in fresh)
        topical.update(map(_find_topical, own))
        if not own and sentence:
            words = tuple(range(first, first + len(sentence)))
            statements.append(Statement(Claim("nothing", ("",), (words,))))
        named = [(c.parts[0], c.number) for c in own if c.kind == "object"]
        topics = [*named, *(topic for topic in topics if topic not in named)][:MAX_TOPICS]
        first += len(sentence)
    for text, words in description.quotes:
        statements.append(Statement(Claim("text", (text,), (words,))))
    return tuple(statements)


def _find_topical(claim: Claim) -> tuple[str, ...]:
    """Return a claim without its number, color or negation."""
    if claim.kind == "count" or claim.parts[-1] in PLAIN_COLORS:
        return claim.parts[0], claim.kind
    return claim.parts


def _shift(claim: Claim, first: int) -> Claim:
    if not first:
        return claim
    return replace(claim, words=tuple(tuple(p + first for p in part) for part in claim.words))


def _resolve(claim: Claim, topics: Sequence[tuple[str, int]]) -> Claim:
    """Replace pronouns by the latest matching object."""
    parts = tuple(
        _find_topic(part, topics) if place != 1 or len(claim.parts) == 1 else part
        for place, part in enumerate(claim.parts)
    )
    return claim if parts == claim.parts else replace(claim, parts=parts)


def _find_topic(word: str, topics: Sequence[tuple[str, int]]) -> str:
    if word in ONE_PERSON:
        fitting = [name for name, _ in topics if name in PEOPLE]
        return (fitting or [name for name, _ in topics] or [word])[0]
    if word in SEVERAL:
        fitting = [name for name, number in topics if number not in (0, 1) or name in GROUPS]
        return (fitting or [name for name, _ in topics] or [word])[0]
    if word in ("it", "its", "itself"):
        fitting = [name for name, number in topics if number in (0, 1) and name not in PEOPLE]
        return (fitting or [word])[0]
    return word
