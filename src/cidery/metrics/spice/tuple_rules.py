"""Rules that extract a scene graph from a dependency tree.

They follow Schuster et al. 2015 (section 4) and Anderson et al. 2016 (section 3.1). Each rule in
`RULES` is a generator of tuples; its docstring is an example.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from cidery.metrics.spice.graph import SceneGraph, SceneTuple
from cidery.metrics.spice.scene import Scene
from cidery.metrics.spice.tree import Tree

Rule: TypeAlias = Callable[[Scene], Iterator[SceneTuple]]


def name_objects(scene: Scene) -> Iterator[SceneTuple]:
    """`a dog and two cats` -> (dog), (cat)."""
    for noun in scene.objects:
        yield (scene.name(noun),)


def describe_by_modifiers(scene: Scene) -> Iterator[SceneTuple]:
    """`a black and white dog`, `a parked car` -> (dog, black), (dog, white), (car, park)."""
    for noun in scene.objects:
        for modifier in scene.modifiers(noun, "amod"):
            yield from _describe(scene, noun, modifier)


def describe_by_compounds(scene: Scene) -> Iterator[SceneTuple]:
    """`a tennis court` -> (court, tennis)."""
    for noun in scene.objects:
        for modifier in scene.modifiers(noun, "compound", "nmod"):
            yield from _describe(scene, noun, modifier)


def count(scene: Scene) -> Iterator[SceneTuple]:
    """`three cats`, `lots of boats` -> (cat, three), (boat, lots)."""
    for noun in scene.objects:
        for numeral in scene.tree.children(noun, "nummod"):
            yield scene.name(noun), scene.name(numeral)


def describe_by_copulas(scene: Scene) -> Iterator[SceneTuple]:
    """`the bench is empty`, `the man is a surfer` -> (bench, empty), (man, be, surfer)."""
    for verb in scene.verbs:
        complements = scene.tree.children(verb, "acomp", "attr", "oprd")
        subjects = scene.subjects(verb)
        for subject in subjects:
            for complement in (c for first in complements for c in scene.tree.conjuncts(first)):
                if scene.is_word(complement, "JJ", "JJR", "JJS", "VBN", "VBG"):
                    yield scene.name(subject), scene.name(complement)
                    yield from _relate(scene, subject, complement)
                elif complement in scene.objects and complement not in subjects:
                    yield scene.name(subject), scene.name(verb), scene.name(complement)


def describe_by_participles(scene: Scene) -> Iterator[SceneTuple]:
    """`the car is parked` -> (car, park), if the participle has no object.

    Intransitive verbs are ignored, as in the original's scores: `a woman smiling`. The original
    has `two cars parked side by side` only, without an auxiliary.
    """
    for verb in scene.verbs:
        if not scene.is_word(verb, "VBN") or scene.things(verb, "dobj"):
            continue
        if scene.as_original and scene.tree.tokens[verb].role != "acl":
            continue
        if scene.tree.children(verb, "xcomp", "ccomp", "acomp", "attr", "oprd"):
            continue
        if any(things for _, things in scene.prepositions(verb)):
            continue
        for subject in scene.subjects(verb):
            yield scene.name(subject), scene.name(verb)


def relate_by_verbs(scene: Scene) -> Iterator[SceneTuple]:
    """`a man riding a wave`, `a dog that chases cats` -> (man, ride, wave), (dog, chase, cat)."""
    for verb in scene.verbs:
        for subject in scene.subjects(verb):
            for thing in scene.things(verb, "dobj"):
                if thing != subject:
                    yield scene.name(subject), scene.name(verb), scene.name(thing)


def relate_by_prepositions(scene: Scene) -> Iterator[SceneTuple]:
    """`a cat on a mat`, `a bowl full of soup` -> (cat, on, mat), (bowl, of, soup)."""
    for noun in scene.objects:
        yield from _relate(scene, noun, noun)
        for modifier in scene.tree.children(noun, "amod"):
            yield from _relate(scene, noun, modifier)


def relate_by_verbs_and_prepositions(scene: Scene) -> Iterator[SceneTuple]:
    """`a girl stands on a court`, `a cup is in the sink` -> (girl, stand on, court), (cup, in, …).

    Passive: `a ball held by a dog` -> (dog, hold, ball). Without subject, the object is related:
    `to blow out a candle on a cake` -> (candle, on, cake).
    """
    for verb in scene.verbs:
        name = scene.name(verb)
        if not scene.subjects(verb):
            for thing in scene.things(verb, "dobj"):
                yield from _relate(scene, thing, verb)
        for subject in scene.subjects(verb):
            for preposition, things in scene.prepositions(verb):
                for thing in things:
                    if thing == subject:
                        continue
                    if preposition == "by" and scene.is_passive(verb):
                        yield scene.name(thing), name, scene.name(subject)
                    else:
                        label = preposition if name == "be" else f"{name} {preposition}"
                        yield scene.name(subject), label, scene.name(thing)


def relate_by_possession(scene: Scene) -> Iterator[SceneTuple]:
    """`the man's hat`, `a girl in her room` -> (man, have, hat), (girl, have, room)."""
    for noun in scene.objects:
        for owner in scene.things(noun, "poss"):
            if owner != noun:
                yield scene.name(owner), "have", scene.name(noun)


def _describe(scene: Scene, noun: int, modifier: int) -> Iterator[SceneTuple]:
    """Yield a noun's modifier and the modifiers of that: `a snow covered slope`."""
    yield scene.name(noun), scene.name(modifier)
    for inner in scene.tree.children(modifier, "npadvmod", "compound", "amod", "nummod"):
        if scene.is_word(inner, "NN", "NNS", "JJ", "CD"):
            yield scene.name(noun), scene.name(inner)


def _relate(scene: Scene, subject: int, head: int) -> Iterator[SceneTuple]:
    """Yield the relations of a subject by the prepositions below a word."""
    for preposition, things in scene.prepositions(head):
        for thing in things:
            if thing != subject:
                yield scene.name(subject), preposition, scene.name(thing)


RULES: tuple[Rule, ...] = (
    name_objects,
    describe_by_modifiers,
    describe_by_compounds,
    count,
    describe_by_copulas,
    describe_by_participles,
    relate_by_verbs,
    relate_by_prepositions,
    relate_by_verbs_and_prepositions,
    relate_by_possession,
)


def read_graph(tree: Tree, *, as_original: bool = False) -> SceneGraph:
    """Return the tuples of all rules; `as_original` reproduces errors of the original tool."""
    scene = Scene(tree, as_original)
    return SceneGraph.from_tuples(found for rule in RULES for found in rule(scene))
