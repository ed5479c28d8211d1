"""Explanations: contributions of words to the score of a caption."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cidery.markup import escape, mark_text
from cidery.tables import Column, Table, Tabular

if TYPE_CHECKING:
    from cidery.text import TokenSpan


@dataclass(frozen=True, slots=True, init=False)
class Span:
    """A range of characters of a caption, with its contribution to a score."""

    start: int
    end: int
    """Characters [start, end)."""
    value: float
    """Contribution in units of the metric's score; negative if it lowers the score."""
    note: str = ""
    """Reason, such as `in 3 of 5 references`."""

    def __init__(self, start: int, end: int, value: float, note: str = "") -> None:
        # Half the time of a generated __init__: there are millions of spans.
        _set_start(self, start)
        _set_end(self, end)
        _set_value(self, value)
        _set_note(self, note)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, for JSON."""
        return {"start": self.start, "end": self.end, "value": self.value, "note": self.note}


_set_start, _set_end, _set_value, _set_note = (
    vars(Span)[name].__set__ for name in ("start", "end", "value", "note")
)


@dataclass(frozen=True)
class Contributions:
    """A caption's score and the contributions of words; with the caption, an `Explanation`."""

    score: float
    spans: Sequence[Span] = ()
    reference_spans: Sequence[Sequence[Span]] = ()
    parts: Mapping[str, float] = field(default_factory=dict)
    exact: bool = True
    """True if the spans sum to the score except for rounding, which is added to one of them."""


@dataclass(frozen=True)
class Explanation(Tabular):
    """A caption's score, split over the caption's words.

    `math.fsum([*(span.value for span in spans), rest])` is the score, bit for bit.

    ```python
    found = cidery.explain("a dog runs", ["a dog is running", "the dog runs"])["cider-d"]
    found.spans[1].note   # "in 2 of 2 references"
    ```
    """

    metric: str
    """Label of the metric."""
    score: float
    """Score of the caption, bit for bit that of `score`."""
    candidate: str
    references: tuple[str, ...]
    spans: tuple[Span, ...]
    """Spans of the candidate, in order, without overlaps."""
    reference_spans: tuple[tuple[Span, ...], ...]
    """Spans of each reference that the candidate lacks, with values <= 0."""
    parts: Mapping[str, float] = field(default_factory=dict)
    """Quantities that the score is computed from, such as precision and recall."""
    rest: float = 0.0
    """Part of the score that belongs to no span, such as a length penalty."""

    @classmethod
    def build(
        cls, metric: str, candidate: str, references: tuple[str, ...], found: Contributions
    ) -> Explanation:
        """Join a caption and the contributions of its words."""
        spans, rest = reconcile_spans(found.score, found.spans, found.exact)
        return cls(
            metric,
            found.score,
            candidate,
            references,
            spans,
            tuple(map(tuple, found.reference_spans)),
            found.parts,
            rest,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return all fields, for JSON."""
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

    def table(self, digits: int = 4) -> Table:
        """Return a row per word of the caption, and one for the rest."""
        rows: list[tuple[str, float, str]] = [
            (self.candidate[span.start : span.end], span.value, span.note) for span in self.spans
        ]
        if round(self.rest, digits):
            rows.append(("(rest)", self.rest, "belongs to no word"))
        columns = [Column("word"), Column("value", f"+.{digits}f"), Column("reason")]
        title = f"{self.metric} {self.score:.{digits}f}"
        return Table.of(columns, rows, title=title, notes=self.notes(digits))

    def notes(self, digits: int = 4) -> list[str]:
        """Return the words of references that the caption lacks, and the parts of the score."""
        notes = []
        for number, (text, spans) in enumerate(
            zip(self.references, self.reference_spans, strict=True), 1
        ):
            if spans:
                words = ", ".join(
                    text[s.start : s.end] + (f" ({s.value:.{digits}f})" if s.value else "")
                    for s in spans
                )
                notes.append(f"only in reference {number}: {words}")
        if self.parts:
            notes.append(", ".join(f"{name} {value:.4g}" for name, value in self.parts.items()))
        return notes

    def to_html(self) -> str:
        """Return the captions as HTML, with words colored by their contributions.

        Text is escaped, and the page loads nothing.
        """
        lost = max((abs(s.value) for spans in self.reference_spans for s in spans), default=0.0)
        listed = "".join(
            f'<li dir="auto">{mark_text(text, spans, lost or 1.0)}</li>'
            for text, spans in zip(self.references, self.reference_spans, strict=True)
        )
        parts = dict(self.parts) | ({"rest": self.rest} if round(self.rest, 4) else {})
        small = ", ".join(f"{escape(name)} {value:.4g}" for name, value in parts.items())
        return (
            f"<div><b>{escape(self.metric)}</b> {self.score:.4f}"
            f'<div dir="auto" style="margin:.3em 0">{mark_text(self.candidate, self.spans)}</div>'
            f'<ol style="margin:.3em 0;opacity:.85">{listed}</ol>'
            f'<div style="opacity:.7">{small}</div></div>'
        )


def reconcile_spans(
    score: float, spans: Sequence[Span], exact: bool = True
) -> tuple[tuple[Span, ...], float]:
    """Return spans and a rest that sum to the score exactly.

    With `exact`, the values sum to the score except for rounding (about 1e-16 of it), which is
    added to one of them, so that the rest is 0.
    """
    values = [span.value for span in spans]
    if exact and math.fsum(values) != score:
        values = reconcile_values(score, values)
        spans = [
            span if span.value == value else Span(span.start, span.end, value, span.note)
            for span, value in zip(spans, values, strict=True)
        ]
    if math.fsum(values) == score:
        return tuple(spans), 0.0
    return tuple(spans), math.fsum([score, *(-value for value in values)])


def reconcile_values(score: float, values: Sequence[float]) -> list[float]:
    """Add the rounding error to one of the values, so that they sum to the score exactly.

    That value must have enough precision: it is the largest below half the score or, where its
    precision does not suffice, the smallest of all.
    """
    balanced = list(values)
    for attempt in range(4):
        if not balanced or math.fsum(balanced) == score:
            break
        rest = math.fsum([score, *(-value for value in balanced)])
        sizes = list(map(abs, balanced))
        fine = [size for size in sizes if 0 < size < abs(score) / 2 and attempt < 2]
        balanced[sizes.index(max(fine) if fine else min(sizes))] += rest
    return balanced


def make_spans(words: Iterable[tuple[TokenSpan | None, float, str]]) -> list[Span]:
    """Return the spans of words, given as (position, value, note); without a position, none.

    Words at the same position share a span, with the note of the first.
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


def describe_count(count: int, references: int) -> str:
    """Return in how many references a word occurs, as text."""
    if not count:
        return "in no reference"
    return f"in {count} of {references} reference{'s' * (references != 1)}"


def split_score(
    score: float, ideal: float, gains: Sequence[float], losses: Sequence[float]
) -> list[float]:
    """Return the contributions of words to a score.

    `ideal` is the score if everything matched: it is split in proportion to `gains`, and the
    difference to the score in proportion to `losses`.

    ```python
    split_score(0.6, 1.0, [1, 1, 0], [0, 0, 1])   # [0.5, 0.5, -0.4]
    ```
    """
    gained, lost = math.fsum(gains), math.fsum(losses)
    if gained <= 0:
        return [0.0] * len(gains)
    if lost <= 0:
        ideal, lost = score, 1.0
    return [
        ideal * (gain / gained) - (ideal - score) * (loss / lost)
        for gain, loss in zip(gains, losses, strict=True)
    ]


def split_loss(score: float, ideal: float, losses: Sequence[float]) -> list[float]:
    """Split the difference of a score to `ideal` over words of a reference: values <= 0."""
    lost = math.fsum(losses)
    if lost <= 0:
        return [0.0] * len(losses)
    return [min(0.0, (score - ideal) * (loss / lost)) for loss in losses]


def combine_contributions(
    parts: Sequence[Contributions], weights: Sequence[float]
) -> Contributions:
    """Return the weighted sum of the contributions to several scores of one caption."""
    return Contributions(
        sum(weight * part.score for part, weight in zip(parts, weights, strict=True)),
        merge_spans([part.spans for part in parts], weights),
        [
            merge_spans(spans, weights)
            for spans in zip(*(part.reference_spans for part in parts), strict=True)
        ],
        exact=all(part.exact for part in parts),
    )


def merge_spans(layers: Sequence[Sequence[Span]], weights: Sequence[float]) -> list[Span]:
    """Return the weighted sum of spans of one caption; spans that overlap become one."""
    weighted = sorted(
        (span.start, span.end, weight * span.value, span.note)
        for spans, weight in zip(layers, weights, strict=True)
        for span in spans
    )
    joined: list[Span] = []
    for start, end, value, note in weighted:
        if joined and start < joined[-1].end:
            last = joined.pop()
            start, end, value = last.start, max(end, last.end), last.value + value
            note = last.note if note in ("", last.note) else f"{last.note}; {note}".strip("; ")
        joined.append(Span(start, end, value, note))
    return joined
