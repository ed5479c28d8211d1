"""filter_references(): subsets of a data set by the length of its captions."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from cidery.corpus.corpus import Corpus, ImageId, References
from cidery.errors import InputError, SettingError
from cidery.text import SPLIT, TokenizerLike, choose_tokenizer

Single: TypeAlias = Literal["longest", "first"]


def filter_references(
    references: References,
    *,
    max_words: int | None = None,
    outer_quartiles: bool = False,
    single: Single | None = None,
    tokenizer: TokenizerLike | None = None,
    language: str | None = None,
    references_name: str = "references",
) -> dict[ImageId, list[str]]:
    """Return the references of images whose longest caption has a certain length.

    As the subsets of Santos, Colombini, Avila 2021, section 6.2. Settings apply in the order of
    the parameters.

    Args:
        references: id -> captions, or a list of lists.
        max_words: keep images whose longest reference has at most so many words
            (#PraCegoVer 10 Words, 20 Words).
        outer_quartiles: exclude images whose longest reference is between the first and the
            third quartile of such lengths, both included (MS COCO - Subset): lengths vary more.
        single: keep one reference of each image: the longest, of equally long ones the first
            (MS COCO - Subset, single reference), or the first.
        tokenizer: as for `score`.
        language: as for `score`.
        references_name: name of the references in messages.

    ```python
    cidery.filter_references({"a": ["a dog", "a big dog runs"]}, single="longest")
    ```
    """
    if max_words is not None and max_words < 1:
        raise SettingError(f"max_words (--max-words) must be at least 1, not {max_words}")
    if single not in (None, "longest", "first"):
        raise SettingError(f"single (--single) must be 'longest' or 'first', not {single!r}")
    corpus = Corpus.from_references(references, references_name=references_name)
    tokenize = choose_tokenizer(tokenizer, language)
    bounds = tokenize(corpus.references).form(SPLIT).offsets().astype(np.int64)
    words = np.diff(bounds)
    starts = corpus.reference_offsets[:-1]
    longest = np.maximum.reduceat(words, starts)
    selected = np.ones(len(corpus.images), bool)
    if max_words is not None:
        selected &= longest <= max_words
    if outer_quartiles and selected.any():
        low, high = np.quantile(longest[selected], (0.25, 0.75))
        selected &= (longest < low) | (longest > high)
    if not selected.any():
        raise InputError(
            f"{references_name}: none of {len(selected)} images match; relax the conditions"
        )
    ends = corpus.reference_offsets[1:]
    found: dict[ImageId, list[str]] = {}
    for place in np.flatnonzero(selected).tolist():
        start, end = int(starts[place]), int(ends[place])
        if single is not None:
            start += int(words[start:end].argmax()) if single == "longest" else 0
            end = start + 1
        found[corpus.images[place]] = corpus.references[start:end]
    return found
