"""Scene: objects, verbs, subjects and antecedents in a dependency tree."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from cidery.metrics.spice.lexicon import GROUPS, PEOPLE
from cidery.metrics.spice.tree import DROPPED, PRONOUNS, Tree

MODIFYING_ROLES = ("compound", "npadvmod", "amod", "nmod", "nummod", "quantmod", DROPPED)
RELATIVE = ("that", "which", "who", "whom")
RELATIVE_TAGS = ("WDT", "WP", "WP$")
SEVERAL = ("they", "them", "their", "theirs", "themselves")
ONE_PERSON = ("he", "him", "his", "himself", "she", "her", "hers", "herself")


@dataclass(frozen=True, eq=False)
class Scene:
    """Queries on a tree; tokens are addressed by position."""

    tree: Tree
    as_original: bool = False
    """Reproduce errors of the original tool."""
    _subjects: dict[int, list[int]] = field(default_factory=dict, init=False)

    def name(self, place: int) -> str:
        """Return the lemma, as used in tuples."""
        return self.tree.lemmas[place]

    def is_word(self, place: int, *tags: str) -> bool:
        """Return True if a token has one of these tags."""
        return self.tree.tokens[place].tag in tags

    @cached_property
    def objects(self) -> dict[int, None]:
        """Positions of nouns that do not modify other nouns."""
        return {
            place: None
            for place, token in enumerate(self.tree.tokens)
            if token.is_noun
            and (token.role not in MODIFYING_ROLES or self._has_article(place, token.role))
        }

    def _has_article(self, place: int, role: str) -> bool:
        """Return True for adverbial nouns with an article: `a man tying a tie`."""
        return role == "npadvmod" and bool(self.tree.children(place, "det"))

    @cached_property
    def verbs(self) -> list[int]:
        """Positions of verbs, without auxiliaries and modifiers of nouns."""
        return [
            place
            for place, token in enumerate(self.tree.tokens)
            if token.is_verb and token.role not in ("aux", "auxpass", "amod", "compound")
        ]

    def modifiers(self, noun: int, *roles: str) -> list[int]:
        """Return the modifiers of a noun and their conjuncts."""
        found = [
            conjunct
            for child in self.tree.children(noun, *roles)
            for conjunct in self.tree.conjuncts(child)
        ]
        return [place for place in found if place not in self.objects]

    def things(self, place: int, role: str) -> list[int]:
        """Return the objects below a token with that role; pronouns are resolved."""
        found: list[int] = []
        for child in self.tree.children(place, role):
            for conjunct in self.tree.conjuncts(child):
                found += [conjunct] if conjunct in self.objects else self.resolve(conjunct)
        return found

    def prepositions(self, head: int) -> list[tuple[str, list[int]]]:
        """Return the prepositions below a token and their objects.

        In the original, `of` has one object: `the back of a cow and a dog`.
        """
        found = []
        parts = not self.as_original or self.tree.tokens[head].word in GROUPS
        for child in self.tree.children(head, "prep", "agent", "dative"):
            for place in self.tree.conjuncts(child):  # `in and around the house`
                word, things = self.tree.tokens[place].word, self.things(place, "pobj")
                found.append((word, things if parts or word != "of" else things[:1]))
        return found

    def resolve(self, place: int) -> list[int]:
        """Return the antecedent of a pronoun: the first possible object before it.

        `their` may have several: `a man and a woman walk their dogs`.
        """
        token = self.tree.tokens[place]
        if token.tag in RELATIVE_TAGS:
            return self._find_described(place)
        if token.tag not in PRONOUNS:
            return []
        before = [noun for noun in self.objects if noun < place]
        if token.word in ("it", "its", "itself"):
            before = [noun for noun in before if self.is_word(noun, "NN", "NNP")]
        elif token.word in ONE_PERSON:
            people = [noun for noun in before if self.name(noun) in PEOPLE]
            before = people or before  # `a dog with her puppies`
        elif token.word not in SEVERAL:
            return []  # `a cat looking at you`
        elif before:
            return [noun for noun in self.tree.conjuncts(before[0]) if noun in before]
        return before[:1]

    def _find_described(self, place: int) -> list[int]:
        """Return the noun that a token's relative clause modifies: `a dog that he walks`."""
        for _ in range(len(self.tree)):  # parser errors may form cycles
            token = self.tree.tokens[place]
            if token.role == "relcl":
                return [token.head] if token.head in self.objects else []
            place = token.head
        return []

    def is_passive(self, verb: int) -> bool:
        """Return True for passive verbs."""
        return self.is_word(verb, "VBN") and not any(
            self.tree.tokens[child].word in ("has", "have", "had")
            for child in self.tree.children(verb, "aux")
        )

    def subjects(self, verb: int) -> list[int]:
        """Return the subjects of a verb."""
        if verb not in self._subjects:
            self._subjects[verb] = []  # ends cycles
            self._subjects[verb] = self._find_subjects(verb)
        return self._subjects[verb]

    def _find_subjects(self, verb: int) -> list[int]:
        token, head = self.tree.tokens[verb], self.tree.tokens[verb].head
        own = self.tree.children(verb, "nsubj", "nsubjpass")
        relative = [place for place in own if self.tree.tokens[place].word in RELATIVE]
        if own and not relative:
            return [*self.things(verb, "nsubj"), *self.things(verb, "nsubjpass")]
        if self.tree.children(verb, "expl"):  # `there is a dog`
            return self.things(verb, "attr")
        if token.role in ("acl", "relcl") and head in self.objects:
            return self._modified(head)
        roles = ("conj", "xcomp", *(("advcl", "dobj") if token.tag == "VBG" else ()))
        if token.role in roles and self.tree.tokens[head].is_verb:  # `sits reading a book`
            return self.subjects(head)
        if (
            token.role == "xcomp"
            and self.tree.tokens[head].role == "acomp"
            and not self.as_original
        ):
            return self.subjects(self.tree.tokens[head].head)  # `a man is ready to ride a horse`
        if token.role == "conj" and head in self.objects and token.tag in ("VBG", "VBN"):
            return [head]
        return []

    def _modified(self, noun: int) -> list[int]:
        """Return the nouns that a clause after the last of them modifies.

        In the original, only the last: of `a group of people playing a game`, people play.
        """
        head = self.tree.tokens[noun].head
        if self.tree.tokens[noun].word in GROUPS:  # `a group of people playing a game`
            members = [
                thing
                for preposition, things in self.prepositions(noun)
                if preposition == "of"
                for thing in things
            ]
            return members if self.as_original and members else [noun, *members]
        if self.tree.tokens[noun].role == "conj" and head in self.objects and not self.as_original:
            return [head, noun]  # `a man and a woman riding horses`
        return [noun]
