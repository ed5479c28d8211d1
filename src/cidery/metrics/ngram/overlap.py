"""What BLEU and ROUGE share: references prepared for word overlap."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cidery import _native
from cidery.captions.tokenizers import TokenizedCaptions
from cidery.metrics.base import Images, ReferenceSet
from cidery.statistics import Floats


@dataclass(frozen=True, eq=False)
class PreparedOverlap:
    """References ready for one kernel of the native `Overlap`."""

    native: _native.Overlap
    form: str
    kernel: str
    arguments: tuple[Any, ...]
    finish: Callable[[Floats], Floats] | None
    """From the kernel's rows to the metric's; None: they are the same."""

    def translate(self, candidates: TokenizedCaptions) -> _native.Translation:
        """Return the candidates' words in the references' ids, for calls with that vocabulary."""
        return self.native.translate(candidates.form(self.form))

    def measure(
        self,
        candidates: TokenizedCaptions,
        images: Images,
        threads: int = 0,
        translation: _native.Translation | None = None,
    ) -> Floats:
        """Return rows, float64[captions, k]."""
        rows: Floats = getattr(self.native, self.kernel)(
            candidates.form(self.form),
            images,
            translation or self.translate(candidates),
            *self.arguments,
            threads,
        )
        return rows if self.finish is None else self.finish(rows)


def prepare_overlap(
    references: ReferenceSet,
    kernel: str,
    *arguments: Any,
    form: str = "split",
    order: int = 1,
    finish: Callable[[Floats], Floats] | None = None,
) -> PreparedOverlap:
    """Make references ready for a kernel: `bleu`, `rouge_n`, `rouge_l`, `rouge_w` or `rouge_s`."""
    native = _native.Overlap(references.index(form, order))
    return PreparedOverlap(native, form, kernel, arguments, finish)
