"""Metrics by name, from a list of imports of which only those needed are made.

Importing all metrics takes as long as scoring some hundred captions with one of them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module

from cidery.metrics.base import Metric


def read_imports(source: bytes) -> dict[str, str]:
    """Return `{name: module}` of the lines `from module import name as name`, in order."""
    return {
        alias.name: node.module
        for node in ast.parse(source).body
        if isinstance(node, ast.ImportFrom) and node.module is not None
        for alias in node.names
        if alias.name == alias.asname
    }


class Metrics(Mapping[str, Metric]):
    """Metrics by name; modules are imported in their order until one has the name."""

    def __init__(self, classes: Mapping[str, str]) -> None:
        self._classes = dict(classes)
        self._modules: dict[str, list[str]] = {}
        for name, module in classes.items():
            self._modules.setdefault(module, []).append(name)
        self._read_variants = cache(lambda name: {m.name: m for m in self.load(name).variants()})

    def load(self, name: str) -> type[Metric]:
        """Return the class of that name."""
        kind: type[Metric] = getattr(import_module(self._classes[name]), name)
        return kind

    def find_members(self, name: str) -> tuple[str, ...]:
        """Return the metrics that a name means: itself, or those of a family.

        The members of a family are defined in one module.
        """
        for names in self._modules.values():
            metrics = {k: m for one in names for k, m in self._read_variants(one).items()}
            if name in metrics:
                return (name,)
            members = tuple(k for k, metric in metrics.items() if metric.family == name)
            if members:
                return members
        return (name,)

    def __getitem__(self, name: str) -> Metric:
        for names in self._modules.values():
            for kind in names:
                variants = self._read_variants(kind)
                if name in variants:
                    return variants[name]
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        for kind in self._classes:
            yield from self._read_variants(kind)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class Families(Mapping[str, tuple[str, ...]]):
    """Names that mean several metrics."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def __getitem__(self, name: str) -> tuple[str, ...]:
        members = self._metrics.find_members(name)
        if members == (name,):
            raise KeyError(name)
        return members

    def __iter__(self) -> Iterator[str]:
        families = (metric.family for metric in self._metrics.values())
        return iter(dict.fromkeys(family for family in families if family is not None))

    def __len__(self) -> int:
        return sum(1 for _ in self)
