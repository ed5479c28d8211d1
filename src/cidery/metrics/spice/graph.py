"""SceneGraph: what a caption says, as objects, attributes and relations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from cidery.metrics.spice.lexicon import COLORS, COUNTS, SIZES

SceneTuple: TypeAlias = tuple[str, ...]
"""(object,), (object, attribute) or (object, relation, object)."""
Category: TypeAlias = Literal["all", "object", "attribute", "relation", "color", "count", "size"]
CATEGORIES: tuple[Category, ...] = get_args(Category)


def categories_of(found: SceneTuple) -> tuple[Category, ...]:
    """Return the categories in which a tuple counts; all tuples count in `all`.

    ```python
    categories_of(("dog", "brown"))   # ("all", "attribute", "color")
    ```
    """
    if len(found) == 1:
        return "all", "object"
    if len(found) == 3:
        return "all", "relation"
    word = found[1]
    if word in COLORS:
        return "all", "attribute", "color"
    if word in COUNTS or word.isdigit():
        return "all", "attribute", "count"
    if word in SIZES:
        return "all", "attribute", "size"
    return "all", "attribute"


@dataclass(frozen=True)
class SceneGraph:
    """The objects of a caption, what they are like and how they relate; words are lemmas.

    Objects of the same name are one object, as in SPICE, whose numerals are attributes.

    ```python
    graph = Spice().parse("a brown dog chases two cats on the grass")
    graph.relations     # (("dog", "chase", "cat"), ("cat", "on", "grass"))
    print(graph)
    ```
    """

    objects: tuple[str, ...] = ()
    attributes: tuple[tuple[str, str], ...] = ()
    """(object, attribute)"""
    relations: tuple[tuple[str, str, str], ...] = ()
    """(object, relation, object)"""

    @classmethod
    def from_tuples(cls, found: Iterable[SceneTuple]) -> SceneGraph:
        """Return the graph of these tuples, each kept once, in their order."""
        kept = dict.fromkeys(found)
        return cls(
            tuple(t[0] for t in kept if len(t) == 1),
            tuple((t[0], t[1]) for t in kept if len(t) == 2),
            tuple((t[0], t[1], t[2]) for t in kept if len(t) == 3),
        )

    @property
    def tuples(self) -> tuple[SceneTuple, ...]:
        """Objects as tuples of one, then attributes, then relations."""
        return (*((name,) for name in self.objects), *self.attributes, *self.relations)

    def branches(self) -> list[tuple[str, list[str]]]:
        """Return each object with what is said of it: `two`, `chase → cat`."""
        said: dict[str, list[str]] = {name: [] for name in self.objects}
        for name, attribute in self.attributes:
            said[name].append(attribute)
        for subject, relation, name in self.relations:
            said[subject].append(f"{relation} → {name}")
        return list(said.items())

    def __str__(self) -> str:
        lines = []
        for name, said in self.branches():
            lines.append(name)
            lines += [f"├─ {text}" for text in said[:-1]]
            lines += [f"└─ {text}" for text in said[-1:]]
        return "\n".join(lines)


def format_tuple(found: SceneTuple) -> str:
    """Write a tuple for people.

    ```python
    format_tuple(("dog", "chase", "cat"))   # "(dog, chase, cat)"
    ```
    """
    return f"({', '.join(found)})"
