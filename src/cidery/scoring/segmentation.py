"""Scores with several tokenizers, which show how far scores depend on the segmentation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np

from cidery.corpus import Corpus
from cidery.errors import DataError, SettingError
from cidery.scoring.pipeline import Pipeline
from cidery.text import SEGMENTERS, Tokenizer, TokenizerLike, choose_tokenizer, get_language

SegmentersLike: TypeAlias = Literal["all"] | Sequence[TokenizerLike]
BySegmenter: TypeAlias = Mapping[str, Mapping[str, float]]
"""tokenizer -> metric -> score"""


def choose_segmenters(
    segmenters: SegmentersLike | None, language: str | None, by: object = None
) -> list[Tokenizer]:
    """Return the tokenizers to score with beside the main one; none by default.

    `"all"` are those of the language that are installed. Slices (`by`) are refused.

    ```python
    choose_segmenters(["words", "char"], "zh")
    ```
    """
    if segmenters is None:
        return []
    if by is not None:
        raise SettingError("segmenters are compared on all images; remove by (--by)")
    if segmenters == "all":
        if language is None:
            raise SettingError(
                'segmenters="all" are those of a language: pass it too, such as language="zh" '
                "(--language zh), or name them"
            )
        found = [_open_if_there(name, language) for name in get_language(language).segmenters]
        return [tokenizer for tokenizer in found if tokenizer is not None]
    names = [segmenters] if isinstance(segmenters, str) else list(segmenters)
    if not names:
        raise SettingError("no segmenters were named")
    return [choose_tokenizer(name, language) for name in names]


def find_flips(
    scores: Mapping[str, Mapping[str, float]],
    by_segmenter: Mapping[str, BySegmenter],
    metric: str,
    pair: tuple[str, str],
) -> list[str]:
    """Return the tokenizers under which a pair of systems is not ranked as by the main one.

    `scores` are system -> metric -> score, `by_segmenter` system -> tokenizer -> metric -> score.
    """
    one, other = pair
    sign = np.sign(scores[one][metric] - scores[other][metric])
    return [
        tokenizer
        for tokenizer in by_segmenter[one]
        if np.sign(by_segmenter[one][tokenizer][metric] - by_segmenter[other][tokenizer][metric])
        != sign
    ]


def _open_if_there(name: str, language: str) -> Tokenizer | None:
    if name in SEGMENTERS and not SEGMENTERS[name].is_installed:
        return None
    try:
        return choose_tokenizer(name, language)
    except DataError:  # the package is there, its model is not
        return None


def score_segmenters(
    tokenizers: Sequence[Tokenizer], corpora: Mapping[str, Corpus], pipeline: Pipeline
) -> dict[str, BySegmenter]:
    """Return the corpus scores of each system under each tokenizer."""
    found: dict[str, dict[str, Mapping[str, float]]] = {name: {} for name in corpora}
    for tokenizer in tokenizers:
        scorer = replace(pipeline, tokenizer=tokenizer).prepare(next(iter(corpora.values())))
        for name, corpus in corpora.items():
            found[name][tokenizer.id] = dict(scorer.score_corpus(corpus).corpus)
    return dict(found)
