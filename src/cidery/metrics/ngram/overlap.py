"""References prepared for word overlap, for BLEU and ROUGE."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from cidery import _native
from cidery.metrics.base import (
    GroupedCaptions,
    Metric,
    Prepared,
    TokenizedCandidates,
    TokenizedReferences,
    index_ngrams,
)
from cidery.runtime import Workspace
from cidery.statistics import Floats
from cidery.text import SPLIT, TokenForm, TokenizedCaptions

if TYPE_CHECKING:
    from typing_extensions import Self

M = TypeVar("M", bound=Metric)


@dataclass(frozen=True, eq=False)
class PreparedOverlap(Prepared, Generic[M]):
    """References prepared for one kernel of the native `Overlap`.

    Kernels: `bleu`, `rouge_n`, `rouge_l`, `rouge_w`, `rouge_s`.
    """

    metric: M
    references: TokenizedReferences
    native: _native.Overlap
    form: TokenForm
    kernel: str
    arguments: tuple[Any, ...]

    @classmethod
    def build(
        cls,
        metric: M,
        references: TokenizedReferences,
        work: Workspace,
        kernel: str,
        *arguments: Any,
        form: TokenForm = SPLIT,
        order: int = 1,
        one_by_one: bool = False,
    ) -> Self:
        """Index the references' n-grams; metrics with the same form and order share the index.

        With `one_by_one`, candidates are compared with one reference at a time: `measure_each`.
        """
        groups = work.once(_split_groups, references.groups) if one_by_one else references.groups
        native = work.once(make_overlap, groups, form, order)
        return cls(metric, references, native, form, kernel, arguments)

    def read_words(self, captions: TokenizedCaptions, work: Workspace) -> None:
        """Look up the words in the references' vocabulary."""
        work.once(translate, self.native, captions.word_source, self.form, None)

    def measure(self, candidates: TokenizedCandidates, work: Workspace) -> Floats:
        """Return rows, float64[captions, k]."""
        return work.once(_measure, self.native, self.form, self.kernel, self.arguments, candidates)

    def measure_each(self, candidates: TokenizedCandidates, work: Workspace) -> Floats:
        """Return rows against each reference, float64[captions, references, k].

        Where an image has fewer references than another, its last one is repeated.
        """
        how = self.native, self.form, self.kernel, self.arguments
        return work.once(_measure_each, *how, self.references.groups, candidates)


def _split_groups(work: Workspace, groups: GroupedCaptions) -> GroupedCaptions:  # noqa: ARG001
    """Return the captions, each as a group of its own."""
    return replace(groups, offsets=np.arange(len(groups.captions) + 1, dtype=np.uint64))


def _measure_each(
    work: Workspace,
    native: _native.Overlap,
    form: TokenForm,
    kernel: str,
    arguments: tuple[Any, ...],
    groups: GroupedCaptions,
    candidates: TokenizedCandidates,
) -> Floats:
    first, end = groups.offsets[candidates.images], groups.offsets[candidates.images + 1]
    most = int((end - first).max(initial=1))
    places = [np.minimum(first + place, end - 1).astype(np.uint32) for place in range(most)]
    rows = [
        _measure(work, native, form, kernel, arguments, replace(candidates, images=images))
        for images in places
    ]
    return np.stack(rows, axis=1)


def _measure(
    work: Workspace,
    native: _native.Overlap,
    form: TokenForm,
    kernel: str,
    arguments: tuple[Any, ...],
    candidates: TokenizedCandidates,
) -> Floats:
    """Return the kernel's rows, which all metrics on this kernel share."""
    captions = candidates.captions
    rows: Floats = getattr(native, kernel)(
        captions.form(form, work),
        candidates.images,
        work.once(translate, native, captions.word_source, form, None),
        *arguments,
        work.threads,
    )
    return rows


def translate(
    work: Workspace,
    native: _native.Cider | _native.Overlap,
    source: TokenizedCaptions,
    form: TokenForm,
    parts: TokenForm | None,
) -> _native.Translation:
    """Return the captions' words as ids of the references' vocabulary."""
    words = source.form(form, work)
    if isinstance(native, _native.Overlap):
        return native.translate(words)
    return native.translate(words, source.form(parts, work) if parts else None)


def make_overlap(
    work: Workspace, groups: GroupedCaptions, form: TokenForm, order: int
) -> _native.Overlap:
    """Return the n-gram index of the references."""
    return _native.Overlap(index_ngrams(work, groups, form, order))
