"""FunctionMetric: a plain Python function as a metric."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from cidery.errors import InputError
from cidery.metrics.base import Metric, Prepared, TokenizedCandidates, TokenizedReferences
from cidery.runtime import Workspace, current_progress
from cidery.statistics import Floats

CaptionFunction: TypeAlias = Callable[[str, list[str]], float]
"""`f(candidate, references) -> score`, higher is better."""


@dataclass(frozen=True)
class FunctionMetric(Metric):
    """A function of a caption and its references; the corpus score is the mean.

    The function is called with the original captions, once for equal captions of one image.

    ```python
    def shared_words(candidate, references):
        words = set(candidate.split())
        return max(len(words & set(reference.split())) for reference in references)

    cidery.score(candidates, references, [FunctionMetric(shared_words)])   # or [shared_words]
    ```
    """

    function: CaptionFunction
    called: str = field(default="", compare=False)
    """Name of the metric; by default that of the function."""

    range = -math.inf, math.inf

    @property
    def name(self) -> str:
        """Name that was passed, or that of the function."""
        return self.called or _name_function(self.function)

    def __hash__(self) -> int:
        # Not of the function: an object that can be called need not have a hash.
        return hash(_name_function(self.function))

    def settings(self) -> dict[str, str]:
        """Return the module and name of the function."""
        qualname = getattr(self.function, "__qualname__", type(self.function).__qualname__)
        return {"function": f"{find_module(self.function)}.{qualname}"}

    def prepare(self, references: TokenizedReferences, work: Workspace) -> Prepared:  # noqa: ARG002
        """Prepare the references."""
        texts = references.captions.texts
        bounds = references.image_offsets.tolist()
        groups = [texts[a:b] for a, b in pairwise(bounds)]
        return _PreparedFunction(self, groups)


def _name_function(function: CaptionFunction) -> str:
    name: str = getattr(function, "__name__", type(function).__name__)
    return name


def find_module(function: CaptionFunction) -> str:
    """Return the module that defines a function, or the class of a callable object."""
    return getattr(function, "__module__", None) or type(function).__module__


@dataclass(frozen=True, eq=False)
class _PreparedFunction(Prepared):
    metric: FunctionMetric
    references: Sequence[Sequence[str]]

    def measure(self, candidates: TokenizedCandidates, work: Workspace) -> Floats:  # noqa: ARG002
        """Return rows, float64[captions, 1]."""
        report = current_progress()
        known: dict[tuple[str, int], float] = {}
        pairs = list(zip(candidates.captions.texts, candidates.images.tolist(), strict=True))
        rows = np.empty((len(pairs), 1))
        for row, (caption, image) in enumerate(pairs):
            if (caption, image) not in known:
                known[caption, image] = self._call(caption, image)
            rows[row] = known[caption, image]
            report(f"scoring by {self.metric.name}", (row + 1) / len(pairs))
        return rows

    def _call(self, caption: str, image: int) -> float:
        name = self.metric.name
        try:
            given = self.metric.function(caption, list(self.references[image]))
        except Exception as error:
            raise InputError(
                f"{name} failed on the caption {caption!r}: {type(error).__name__}: {error}"
            ) from error
        try:
            value = float(given)
        except (TypeError, ValueError):
            raise InputError(
                f"{name} returned {given!r} for the caption {caption!r}, expected a number"
            ) from None
        if not math.isfinite(value):
            raise InputError(
                f"{name} returned {value} for the caption {caption!r}, expected a finite number"
            )
        return value
