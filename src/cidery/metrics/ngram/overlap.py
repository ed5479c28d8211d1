"""What BLEU and ROUGE share: references prepared for word overlap."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cidery import _native
from cidery.metrics.base import (
    GroupedCaptions,
    Prepared,
    TokenizedCandidates,
    TokenizedReferences,
    index_ngrams,
)
from cidery.runtime.workspace import Workspace
from cidery.statistics import Floats
from cidery.text.tokenizers import TokenizedCaptions


@dataclass(frozen=True, eq=False)
class PreparedOverlap(Prepared):
    """References ready for one kernel of the native `Overlap`."""

    native: _native.Overlap
    form: str
    kernel: str
    arguments: tuple[Any, ...]
    finish: Callable[[Floats], Floats] | None
    """From the kernel's rows to the metric's; None: they are the same."""

    def read_words(self, captions: TokenizedCaptions, work: Workspace) -> None:
        """Look the words up in the references."""
        work.once(translate, self.native, captions.word_source, self.form, None)

    def measure(self, candidates: TokenizedCandidates, work: Workspace) -> Floats:
        """Return rows, float64[captions, k]."""
        captions = candidates.captions
        rows: Floats = getattr(self.native, self.kernel)(
            captions.form(self.form, work),
            candidates.images,
            work.once(translate, self.native, captions.word_source, self.form, None),
            *self.arguments,
            work.threads,
        )
        return rows if self.finish is None else self.finish(rows)


def translate(
    work: Workspace,
    native: _native.Cider | _native.Overlap,
    source: TokenizedCaptions,
    form: str,
    parts: str | None,
) -> _native.Translation:
    """Return the words of captions in the references' numbers."""
    words = source.form(form, work)
    if isinstance(native, _native.Overlap):
        return native.translate(words)
    return native.translate(words, source.form(parts, work) if parts else None)


def prepare_overlap(
    references: TokenizedReferences,
    work: Workspace,
    kernel: str,
    *arguments: Any,
    form: str = "split",
    order: int = 1,
    finish: Callable[[Floats], Floats] | None = None,
) -> PreparedOverlap:
    """Make references ready for a kernel: `bleu`, `rouge_n`, `rouge_l`, `rouge_w` or `rouge_s`."""
    native = work.once(make_overlap, references.groups, form, order)
    return PreparedOverlap(native, form, kernel, arguments, finish)


def make_overlap(
    work: Workspace, groups: GroupedCaptions, form: str, order: int
) -> _native.Overlap:
    """Return the references' n-grams, ready to be compared with candidates'."""
    return _native.Overlap(index_ngrams(work, groups, form, order))
