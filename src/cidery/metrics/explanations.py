"""Explanations: which words of a caption earned its score, and which cost it something."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cidery.captions.locating import Place


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a caption, as it was given, with its part in a score."""

    start: int
    end: int
    """Characters [start, end)."""
    value: float
    """What it earned (> 0) or cost (< 0), in units of the metric's score."""
    note: str = ""
    """Why, such as `in 3 of 5 references`."""

    def to_dict(self) -> dict[str, Any]:
        """Return its fields, ready for JSON."""
        return {"start": self.start, "end": self.end, "value": self.value, "note": self.note}


@dataclass(frozen=True)
class Shares:
    """What a metric says of one caption; with the caption and its score, an `Explanation`."""

    spans: Sequence[Span] = ()
    reference_spans: Sequence[Sequence[Span]] = ()
    parts: Mapping[str, float] = field(default_factory=dict)
    exact: bool = True
    """Whether the spans sum to the score but for rounding, which is then added to one of them."""


@dataclass(frozen=True)
class Explanation:
    """A caption's score, split over the caption's words.

    `math.fsum([*(span.value for span in spans), rest])` is the score, bit for bit.

    ```python
    found = cidery.explain("a dog runs", ["a dog is running", "the dog runs"])["cider-d"]
    found.spans[1].note   # "in 2 of 2 references"
    ```
    """

    metric: str
    """The metric's label."""
    score: float
    """As `score` gives it, bit for bit."""
    candidate: str
    references: tuple[str, ...]
    spans: tuple[Span, ...]
    """Of the candidate: in order, apart from each other."""
    reference_spans: tuple[tuple[Span, ...], ...]
    """Of each reference: what the candidate lacks, with a value of at most 0."""
    parts: Mapping[str, float] = field(default_factory=dict)
    """What the metric computes its score from, such as precision and recall."""
    rest: float = 0.0
    """The part of the score that belongs to no span, such as a length penalty."""

    @classmethod
    def build(
        cls, metric: str, score: float, candidate: str, references: tuple[str, ...], shares: Shares
    ) -> Explanation:
        """Join a caption, its score and what the metric says of it."""
        spans, rest = settle(score, shares.spans, shares.exact)
        return cls(
            metric,
            score,
            candidate,
            references,
            spans,
            tuple(map(tuple, shares.reference_spans)),
            shares.parts,
            rest,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        return {
            "metric": self.metric,
            "score": self.score,
            "candidate": self.candidate,
            "references": list(self.references),
            "spans": [span.to_dict() for span in self.spans],
            "reference_spans": [[s.to_dict() for s in spans] for spans in self.reference_spans],
            "parts": dict(self.parts),
            "rest": self.rest,
        }


def settle(
    score: float, spans: Sequence[Span], exact: bool = True
) -> tuple[tuple[Span, ...], float]:
    """Return spans and a rest that sum to the score, exactly.

    Where the values sum to the score but for rounding (some 1e-16 of it), `exact`, that is added to
    one of them, and no rest is left.
    """
    values = [span.value for span in spans]
    if not exact:
        return tuple(spans), math.fsum([score, *(-value for value in values)])
    if math.fsum(values) == score:
        return tuple(spans), 0.0
    values = settle_values(score, values)
    settled = tuple(
        span if span.value == value else Span(span.start, span.end, value, span.note)
        for span, value in zip(spans, values, strict=True)
    )
    if math.fsum(values) == score:
        return settled, 0.0
    return settled, math.fsum([score, *(-value for value in values)])


def settle_values(score: float, values: Sequence[float]) -> list[float]:
    """Add what rounding left to one of some values, so that they sum to the score exactly.

    It goes to one whose digits are fine enough to take it: the largest that is smaller than the
    score, or, where that is still too coarse, the smallest of all.
    """
    settled = list(values)
    for attempt in range(4):
        if not settled or math.fsum(settled) == score:
            break
        rest = math.fsum([score, *(-value for value in settled)])
        sizes = list(map(abs, settled))
        fine = [size for size in sizes if 0 < size < abs(score) / 2 and attempt < 2]
        settled[sizes.index(max(fine) if fine else min(sizes))] += rest
    return settled


def make_spans(words: Iterable[tuple[Place | None, float, str]]) -> list[Span]:
    """Return the spans of words, given as (place, value, note); those without a place are left out.

    Words that share a place share a span, with the first one's note.
    """
    spans: list[Span] = []
    behind = 0
    for place, value, note in words:
        if place is None:
            continue
        start, end = place
        if start < behind:
            last = spans.pop()
            start, value, note = last.start, last.value + value, last.note
        spans.append(Span(start, end, value, note))
        behind = end
    return spans


def count_holders(count: int, references: int) -> str:
    """Say in how many references a word stands."""
    if not count:
        return "in no reference"
    return f"in {count} of {references} reference{'s' * (references != 1)}"
