"""Captions as tokens with their positions in the original text, for explanations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cidery.metrics.base import TokenizedCandidates, TokenizedReferences
from cidery.metrics.explanations import Span, make_spans
from cidery.runtime import Workspace
from cidery.text import TokenForm, TokenSpan, locate_captions


@dataclass(frozen=True, eq=False)
class LocatedCaption:
    """Tokens of a caption and their positions in its text."""

    words: Sequence[str]
    places: Sequence[TokenSpan | None]

    @property
    def is_located(self) -> bool:
        """True if every token has a position."""
        return None not in self.places

    def spans(self, values: Sequence[float], notes: Sequence[str]) -> list[Span]:
        """Return a span per token."""
        return make_spans(zip(self.places, values, notes, strict=True))

    def missing_spans(
        self, values: Sequence[float], missing: Sequence[object], note: str = "missing"
    ) -> list[Span]:
        """Return a span per token that is missing in the candidate."""
        return make_spans(
            (place, value, note)
            for place, value, is_missing in zip(self.places, values, missing, strict=True)
            if is_missing
        )


def locate_pairs(
    references: TokenizedReferences,
    candidates: TokenizedCandidates,
    form: TokenForm,
    work: Workspace,
) -> Iterator[tuple[LocatedCaption, list[LocatedCaption]]]:
    """Yield each candidate and the references of its image, with tokens of that form."""
    located = work.once(locate_candidates, candidates, form)
    by_number = work.once(locate_references, references, candidates, form)
    offsets = references.image_offsets.tolist()
    for caption, image in zip(located, candidates.images.tolist(), strict=True):
        yield caption, [by_number[number] for number in range(offsets[image], offsets[image + 1])]


def locate_candidates(
    work: Workspace, candidates: TokenizedCandidates, form: TokenForm
) -> list[LocatedCaption]:
    """Return all candidates with the positions of their tokens."""
    captions = candidates.captions
    places = locate_captions(captions, form, range(len(captions)), work)
    words = captions.form(form, work).tokens()
    return [LocatedCaption(words[number], places[number]) for number in range(len(captions))]


def locate_references(
    work: Workspace,
    references: TokenizedReferences,
    candidates: TokenizedCandidates,
    form: TokenForm,
) -> dict[int, LocatedCaption]:
    """Return the references of the candidates' images, by number, with the positions of tokens."""
    offsets = references.image_offsets.tolist()
    shown = [n for i in set(candidates.images.tolist()) for n in range(offsets[i], offsets[i + 1])]
    places = locate_captions(references.captions, form, shown, work)
    words = references.captions.form(form, work).tokens()
    return {number: LocatedCaption(words[number], place) for number, place in places.items()}
