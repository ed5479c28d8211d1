"""Protocol `corruption`: preference of intact captions over corrupted ones.

The first reference of each image is the intact caption; the others are its references.

| name        | the corrupted caption                                                     |
|-------------|---------------------------------------------------------------------------|
| `repeated`  | a run of up to three of its words is repeated until it is twice as long   |
| `truncated` | its second half is removed                                                |
| `shuffled`  | its words are shuffled                                                    |
| `stuffed`   | the most frequent words of the data set that it lacks are appended, half  |
|             | as many as it has words                                                   |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np

from cidery.errors import SettingError
from cidery.meta.judgments import Indexes, JudgedCaptions, Pairs, Ratings
from cidery.meta.protocols.base import MetricsByLabel, Verdict, count_hits, pool_rows
from cidery.meta.scoring import CaptionScorer
from cidery.meta.settings import Settings
from cidery.statistics import pool_share
from cidery.text import choose_tokenizer

Words = list[str]
Corruption = Callable[[Words, np.random.Generator, Words], Words]


def _repeat(words: Words, rng: np.random.Generator, common: Words) -> Words:  # noqa: ARG001
    start = int(rng.integers(0, max(1, len(words) - 2)))
    run = words[start : start + 3]
    return (words + run * len(words))[: 2 * len(words)]


def _truncate(words: Words, rng: np.random.Generator, common: Words) -> Words:  # noqa: ARG001
    return words[: max(1, len(words) // 2)]


def _shuffle(words: Words, rng: np.random.Generator, common: Words) -> Words:  # noqa: ARG001
    if len(set(words)) < 2:
        return words
    while (order := [words[i] for i in rng.permutation(len(words))]) == words:
        pass
    return order


def _stuff(words: Words, rng: np.random.Generator, common: Words) -> Words:  # noqa: ARG001
    new = [word for word in common if word not in words]
    return words + new[: max(1, len(words) // 2)]


CORRUPTIONS: dict[str, Corruption] = {
    "repeated": _repeat,
    "truncated": _truncate,
    "shuffled": _shuffle,
    "stuffed": _stuff,
}
"""Corruptions of a caption, by name."""
_COMMON_WORDS = 50
"""Number of frequent words that `stuffed` chooses from."""


def corrupt_captions(captions: list[Words], common: Words, seed: int) -> dict[str, list[Words]]:
    """Return all captions corrupted in each way; the result depends on the seed.

    ```python
    corrupt_captions([["a", "dog", "runs"]], ["man", "in"], seed=0)["truncated"]   # [["a"]]
    ```
    """
    return {
        name: [
            change(words, np.random.default_rng([seed, place]), common)
            for place, words in enumerate(captions)
        ]
        for name, change in CORRUPTIONS.items()
    }


def judge_corruption(
    dataset: Pairs | Ratings,
    metrics: MetricsByLabel,
    settings: Settings,
    scorer: CaptionScorer,
) -> dict[str, Verdict]:
    """Return the share of pairs in which the intact caption is preferred, by corruption."""
    judged, names = _corrupt_references(dataset.judged, settings)
    scored = scorer.score(judged, metrics)
    images = judged.images
    verdicts = {}
    for label, scores in scored.each.items():
        table = scores.reshape(1 + len(names), len(images))
        preferred = table[0] - table[1:]
        votes = np.ones(preferred.shape, np.int64)
        hits, trials = count_hits(preferred, votes, settings.undecided)
        rows = np.stack([hits, trials], axis=2)  # by corruption and image
        summed = rows.sum(axis=0)
        statistics = pool_rows("accuracy", summed, settings)
        for place, name in enumerate(names):
            statistics |= pool_rows(f"accuracy_{name}", rows[place], settings)
        statistics |= {
            "captions": len(images),
            "undecided": int(np.count_nonzero(preferred == 0)),
        }
        verdicts[label] = Verdict(
            statistics, scored.signatures[label], summed, pool_share, "accuracy"
        )
    return verdicts


def _corrupt_references(
    judged: JudgedCaptions, settings: Settings
) -> tuple[JudgedCaptions, list[str]]:
    """Return intact captions, then corrupted ones, and the names of the corruptions."""
    intact, references, images = _hold_out(judged)
    tokenize = choose_tokenizer(settings.tokenizer, settings.language)
    words = tokenize(intact).tokens()
    joined = [" ".join(group) for group in references]
    counts = Counter(word for group in tokenize(joined).tokens() for word in group)
    common = [word for word, _ in counts.most_common(_COMMON_WORDS)]
    corrupted = corrupt_captions(words, common, settings.seed)
    captions = [" ".join(group) for found in (words, *corrupted.values()) for group in found]
    documents = np.tile(np.arange(len(intact)), 1 + len(corrupted))
    return JudgedCaptions(captions, documents, references, images), list(corrupted)


def _hold_out(judged: JudgedCaptions) -> tuple[list[str], list[list[str]], Indexes]:
    """Return one reference of each image, the others, and the images."""
    document_of: dict[int, int] = {}
    for document, image in enumerate(judged.images.tolist()):
        if len(judged.references[document]) > 1:
            document_of.setdefault(image, document)
    if not document_of:
        raise SettingError(
            "the protocol corruption needs images with two references or more: one is the caption"
        )
    groups = [judged.references[document] for document in document_of.values()]
    images = np.arange(len(groups))
    return [group[0] for group in groups], [list(group[1:]) for group in groups], images
