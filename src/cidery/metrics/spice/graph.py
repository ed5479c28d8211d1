"""SceneGraph: objects, attributes and relations of a caption."""

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
    """Return the categories of a tuple; every tuple belongs to `all`.

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
    """Objects, attributes and relations of a caption, as lemmas.

    Objects of the same name are one object and numerals are attributes, as in SPICE.

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
        """Return the graph of the distinct tuples, in their order."""
        distinct = dict.fromkeys(found)
        return cls(
            tuple(t[0] for t in distinct if len(t) == 1),
            tuple((t[0], t[1]) for t in distinct if len(t) == 2),
            tuple((t[0], t[1], t[2]) for t in distinct if len(t) == 3),
        )

    @property
    def tuples(self) -> tuple[SceneTuple, ...]:
        """Objects as tuples of one, then attributes, then relations."""
        return (*((name,) for name in self.objects), *self.attributes, *self.relations)

    def branches(self) -> list[tuple[str, list[str]]]:
        """Return each object with its attributes and relations: `two`, `chase → cat`."""
        branches: dict[str, list[str]] = {name: [] for name in self.objects}
        for name, attribute in self.attributes:
            branches[name].append(attribute)
        for subject, relation, name in self.relations:
            branches[subject].append(f"{relation} → {name}")
        return list(branches.items())

    def __str__(self) -> str:
        lines = []
        for name, branches in self.branches():
            lines.append(name)
            lines += [f"├─ {text}" for text in branches[:-1]]
            lines += [f"└─ {text}" for text in branches[-1:]]
        return "\n".join(lines)


def format_tuple(found: SceneTuple) -> str:
    """Return a tuple as text.

    ```python
    format_tuple(("dog", "chase", "cat"))   # "(dog, chase, cat)"
    ```
    """
    return f"({', '.join(found)})"
