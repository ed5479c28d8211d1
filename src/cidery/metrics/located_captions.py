"""Captions as words with their places, as explanations go through them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cidery.metrics.base import TokenizedCandidates, TokenizedReferences
from cidery.metrics.explanations import Span, make_spans
from cidery.runtime.workspace import Workspace
from cidery.text import TokenForm, TokenSpan, locate_captions


@dataclass(frozen=True, eq=False)
class LocatedCaption:
    """The words of a caption, and where each stands in it."""

    words: Sequence[str]
    places: Sequence[TokenSpan | None]

    @property
    def is_whole(self) -> bool:
        """Whether every word has a place."""
        return None not in self.places

    def spans(self, values: Sequence[float], notes: Sequence[str]) -> list[Span]:
        """Return a span per word."""
        return make_spans(zip(self.places, values, notes, strict=True))

    def lacks(
        self, values: Sequence[float], lacking: Sequence[object], note: str = "missing"
    ) -> list[Span]:
        """Return a span per word that is lacking."""
        return make_spans(
            (place, value, note)
            for place, value, lacks in zip(self.places, values, lacking, strict=True)
            if lacks
        )


def locate_pairs(
    references: TokenizedReferences,
    candidates: TokenizedCandidates,
    form: TokenForm,
    work: Workspace,
) -> Iterator[tuple[LocatedCaption, list[LocatedCaption]]]:
    """Yield each candidate with the references of its image, cut as that form has them."""
    said = work.once(locate_candidates, candidates, form)
    told = work.once(locate_references, references, candidates, form)
    offsets = references.image_offsets.tolist()
    for caption, image in zip(said, candidates.images.tolist(), strict=True):
        yield caption, [told[number] for number in range(offsets[image], offsets[image + 1])]


def locate_candidates(
    work: Workspace, candidates: TokenizedCandidates, form: TokenForm
) -> list[LocatedCaption]:
    """Locate all candidates."""
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
    """Locate the references of the images that candidates describe, by their number."""
    offsets = references.image_offsets.tolist()
    shown = [n for i in set(candidates.images.tolist()) for n in range(offsets[i], offsets[i + 1])]
    places = locate_captions(references.captions, form, shown, work)
    words = references.captions.form(form, work).tokens()
    return {number: LocatedCaption(words[number], place) for number, place in places.items()}
