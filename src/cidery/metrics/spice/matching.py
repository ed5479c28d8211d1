"""Matching of a candidate's tuples with its references' by lemmas and WordNet synonym sets.

Objects and attributes match if their words are equal or share a synonym set, relations if their
words are equal. Attributes and relations match only together with their objects. Synonyms are
merged, in references as in captions: `a bathroom with a toilet` names one object.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeAlias

from cidery.metrics.spice.graph import (
    CATEGORIES,
    Category,
    SceneGraph,
    SceneTuple,
    categories_of,
    format_tuple,
)
from cidery.tables import UNDEFINED, Table, Tabular

Synsets: TypeAlias = Callable[[str], frozenset[int]]
"""Function from a word to the ids of its synonym sets."""
Key: TypeAlias = tuple[int | str, ...]
"""A tuple with synonym groups in place of words."""


@dataclass(frozen=True, eq=False)
class WordGroups:
    """Groups of words connected by shared synonym sets."""

    group_of: dict[str, int]
    by_synset: dict[int, int]

    @classmethod
    def build(cls, words: Iterable[str], synsets: Synsets) -> WordGroups:
        """Group words, in any order."""
        parent: dict[int | str, int | str] = {}

        def find(item: int | str) -> int | str:
            while parent.setdefault(item, item) != item:
                parent[item] = item = parent[parent[item]]
            return item

        for word in dict.fromkeys(words):
            find(word)
            for synset in synsets(word):
                parent[find(synset)] = find(word)
        roots = {root: place for place, root in enumerate(dict.fromkeys(map(find, list(parent))))}
        places = {item: roots[find(item)] for item in list(parent)}
        return cls(
            {item: place for item, place in places.items() if isinstance(item, str)},
            {item: place for item, place in places.items() if isinstance(item, int)},
        )

    def find(self, word: str, synsets: Synsets) -> list[int]:
        """Return the groups of a known or unknown word."""
        found = {self.by_synset[s] for s in synsets(word) if s in self.by_synset}
        return sorted(found | {self.group_of[word]} if word in self.group_of else found)


@dataclass(frozen=True, eq=False)
class ReferenceScene:
    """United scene graphs of an image's references, with synonyms merged."""

    objects: WordGroups
    attributes: WordGroups
    stated: dict[Key, SceneTuple]
    """Tuples by key; of synonyms, the alphabetically first."""

    @classmethod
    def build(cls, graphs: Sequence[SceneGraph], synsets: Synsets) -> ReferenceScene:
        """Unite graphs, in any order."""
        found = sorted({t for graph in graphs for t in graph.tuples})
        objects = (word for t in found for word in t[::2])
        attributes = (t[1] for t in found if len(t) == 2)
        scene = cls(WordGroups.build(objects, synsets), WordGroups.build(attributes, synsets), {})
        for known in found:
            for key in scene.keys(known, synsets):
                scene.stated.setdefault(key, known)
        return scene

    def keys(self, found: SceneTuple, synsets: Synsets) -> Iterable[Key]:
        """Return the possible keys of a tuple."""
        objects = [self.objects.find(word, synsets) for word in found[::2]]
        if len(found) == 1:
            return product(objects[0])
        if len(found) == 2:
            return product(objects[0], self.attributes.find(found[1], synsets))
        return product(objects[0], (found[1],), objects[1])

    def find_stated(self, graph: SceneGraph, synsets: Synsets) -> dict[SceneTuple, SceneTuple]:
        """Map the tuples of one reference to the united tuples."""
        return {
            found: self.stated[key]
            for found in graph.tuples
            for key in self.keys(found, synsets)
            if key in self.stated
        }

    def compare(self, graph: SceneGraph, synsets: Synsets) -> SceneComparison:
        """Compare a candidate's graph with the references."""
        tuples = _unite_synonyms(graph, synsets)
        matched: dict[SceneTuple, SceneTuple] = {}
        covered: set[Key] = set()
        for found in tuples:
            hits = [key for key in self.keys(found, synsets) if key in self.stated]
            if hits:
                matched[found] = self.stated[hits[0]]
                covered.update(hits)
        return SceneComparison(
            matched,
            tuple(found for found in tuples if found not in matched),
            tuple(known for key, known in self.stated.items() if key not in covered),
            tuple(self.stated[key] for key in sorted(covered, key=str)),
        )


def _unite_synonyms(graph: SceneGraph, synsets: Synsets) -> list[SceneTuple]:
    """Return a candidate's tuples in order; of synonymous tuples, the first."""
    scene = ReferenceScene.build([graph], synsets)
    first: dict[Key, SceneTuple] = {}
    for found in graph.tuples:
        for key in scene.keys(found, synsets):
            first.setdefault(key, found)
    return list(first.values())


@dataclass(frozen=True)
class SceneComparison(Tabular):
    """Matched, extra and missing tuples of a candidate."""

    matched: dict[SceneTuple, SceneTuple]
    """Matched tuples: the candidate's to the references'."""
    extra: tuple[SceneTuple, ...]
    """Tuples of the candidate only."""
    missing: tuple[SceneTuple, ...]
    """Tuples of the references only."""
    covered: tuple[SceneTuple, ...]
    """Tuples of the references that the candidate matches."""

    def count(self, category: Category = "all") -> SceneCounts:
        """Return the numbers of tuples of a category."""
        counted = [
            sum(category in categories_of(found) for found in tuples)
            for tuples in (self.matched, self.extra, self.covered, self.missing)
        ]
        matched, extra, covered, missing = counted
        return SceneCounts(matched, matched + extra, covered, covered + missing)

    def table(self) -> Table:
        """Return a row per tuple: matched, extra, missing; notes have the scores by category."""
        rows = [
            *(("matched", format_tuple(t), format_tuple(r)) for t, r in self.matched.items()),
            *(("extra", format_tuple(t), "") for t in self.extra),
            *(("missing", "", format_tuple(t)) for t in self.missing),
        ]
        counted = {category: self.count(category) for category in CATEGORIES}
        notes = [
            f"{category}: precision {_spell(c.precision)}, recall {_spell(c.recall)}, F {c.f:.4f}"
            for category, c in counted.items()
            if c.candidate or c.reference
        ]
        return Table.of(["", "caption", "references"], rows, notes=notes)

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON; null where there is no score."""
        return {
            "matched": [{"caption": t, "references": r} for t, r in self.matched.items()],
            "extra": self.extra,
            "missing": self.missing,
            "scores": {category: self.count(category).to_dict() for category in CATEGORIES},
        }


@dataclass(frozen=True)
class SceneCounts:
    """Numbers of tuples and the resulting scores; nan without tuples."""

    matched: int
    """Number of the candidate's matched tuples."""
    candidate: int
    """Number of the candidate's tuples."""
    covered: int
    """Number of the references' matched tuples; several of a candidate may match the same."""
    reference: int
    """Number of the references' tuples."""

    @property
    def precision(self) -> float:
        """Share of the candidate's tuples that match."""
        return self.matched / self.candidate if self.candidate else float("nan")

    @property
    def recall(self) -> float:
        """Share of the references' tuples that match."""
        return self.covered / self.reference if self.reference else float("nan")

    @property
    def f(self) -> float:
        """Harmonic mean of precision and recall; 0 if only one side has tuples."""
        if not self.candidate and not self.reference:
            return float("nan")
        if not self.matched:
            return 0.0
        return 2 * self.precision * self.recall / (self.precision + self.recall)

    def to_dict(self) -> dict[str, float | None]:
        """Return the scores, ready for JSON."""
        scores = {"precision": self.precision, "recall": self.recall, "f": self.f}
        return {name: None if math.isnan(score) else score for name, score in scores.items()}


def _spell(score: float) -> str:
    return UNDEFINED if math.isnan(score) else f"{score:.4f}"
