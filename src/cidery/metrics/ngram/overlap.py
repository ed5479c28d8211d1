"""References prepared for word overlap, for BLEU and ROUGE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

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
    ) -> Self:
        """Index the references' n-grams; metrics with the same form and order share the index."""
        native = work.once(make_overlap, references.groups, form, order)
        return cls(metric, references, native, form, kernel, arguments)

    def read_words(self, captions: TokenizedCaptions, work: Workspace) -> None:
        """Look up the words in the references' vocabulary."""
        work.once(translate, self.native, captions.word_source, self.form, None)

    def measure(self, candidates: TokenizedCandidates, work: Workspace) -> Floats:
        """Return rows, float64[captions, k]."""
        return work.once(_measure, self.native, self.form, self.kernel, self.arguments, candidates)


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
