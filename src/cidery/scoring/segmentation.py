"""Scores under several segmenters: how far a number depends on what cut the captions."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias

import numpy as np

from cidery.corpus import Corpus
from cidery.errors import DataError, SettingError, UnreliableWarning
from cidery.scoring.scorer import Scorer
from cidery.text import SEGMENTERS, Tokenizer, TokenizerLike, choose_tokenizer, get_language

SegmentersLike: TypeAlias = Literal["all"] | Sequence[TokenizerLike]
BySegmenter: TypeAlias = Mapping[str, Mapping[str, float]]
"""tokenizer -> metric -> score"""


def choose_segmenters(segmenters: SegmentersLike, language: str | None) -> list[Tokenizer]:
    """Return the tokenizers to score with; `"all"`: those of the language that are installed.

    ```python
    choose_segmenters(["words", "char"], "zh")
    ```
    """
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


def check_segmenters(
    segmenters: SegmentersLike | None, language: str | None, by: object
) -> list[Tokenizer]:
    """Return the tokenizers to score with beside the main one, none where none were asked for."""
    if segmenters is None:
        return []
    if by is not None:
        raise SettingError("segmenters are compared on all images: leave out by (--by)")
    return choose_segmenters(segmenters, language)


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
    tokenizers: Sequence[Tokenizer],
    corpora: Mapping[str, Corpus],
    prepare: Callable[..., Scorer],
) -> dict[str, BySegmenter]:
    """Return the corpus scores of each system under each tokenizer.

    `prepare` makes the scorer of a corpus, with `tokenizer=` as given.
    """
    found: dict[str, dict[str, Mapping[str, float]]] = {name: {} for name in corpora}
    first = next(iter(corpora.values()))
    for tokenizer in tokenizers:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnreliableWarning)  # the main run has told of it
            scorer = prepare(first, tokenizer=tokenizer)
        for name, corpus in corpora.items():
            table = scorer.score(corpus.candidates, corpus.candidate_images, corpus.candidate_ids)
            found[name][tokenizer.id] = dict(table.corpus)
    return dict(found)
