"""`gaming`: does a metric prefer an intact caption to the same caption spoilt on purpose?

Each image's first reference is taken out and serves as the intact caption; the others stay its
references. What is done to it:

| name        | the spoilt caption                                                        |
|-------------|---------------------------------------------------------------------------|
| `repeated`  | a run of up to three of its words is said again until it is twice as long |
| `truncated` | its second half is missing                                                |
| `shuffled`  | its words are in another order                                            |
| `stuffed`   | the commonest words of the data set that it lacks are added, half as many |
|             | as it has words                                                           |
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
Spoil = Callable[[Words, np.random.Generator, Words], Words]


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


SPOILINGS: dict[str, Spoil] = {
    "repeated": _repeat,
    "truncated": _truncate,
    "shuffled": _shuffle,
    "stuffed": _stuff,
}
"""Ways to spoil a caption, by name."""
_COMMON = 50
"""How many of the commonest words `stuffed` chooses from."""


def spoil(captions: list[Words], common: Words, seed: int) -> dict[str, list[Words]]:
    """Return every caption in each way of spoiling it; the same seed spoils the same.

    ```python
    spoil([["a", "dog", "runs"]], ["man", "in"], seed=0)["truncated"]   # [["a"]]
    ```
    """
    return {
        name: [
            change(words, np.random.default_rng([seed, place]), common)
            for place, words in enumerate(captions)
        ]
        for name, change in SPOILINGS.items()
    }


def judge_gaming(
    dataset: Pairs | Ratings,
    metrics: MetricsByLabel,
    settings: Settings,
    scorer: CaptionScorer,
) -> dict[str, Verdict]:
    """Share of spoilt captions to which the intact one is preferred, by way of spoiling."""
    judged, names = _spoil_references(dataset.judged, settings)
    scored = scorer.score(judged, metrics)
    images = judged.images
    verdicts = {}
    for label, scores in scored.each.items():
        table = scores.reshape(1 + len(names), len(images))
        preferred = table[0] - table[1:]
        votes = np.ones(preferred.shape, np.int64)
        hits, trials = count_hits(preferred, votes, settings.undecided)
        rows = np.stack([hits, trials], axis=2)  # by way of spoiling and image
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


def _spoil_references(
    judged: JudgedCaptions, settings: Settings
) -> tuple[JudgedCaptions, list[str]]:
    """Return intact captions, then all captions spoilt in each way, and the names of the ways."""
    intact, references, images = _take_out(judged)
    cut = choose_tokenizer(settings.tokenizer, settings.language)
    words = cut(intact).tokens()
    joined = [" ".join(group) for group in references]
    counts = Counter(word for group in cut(joined).tokens() for word in group)
    common = [word for word, _ in counts.most_common(_COMMON)]
    spoilt = spoil(words, common, settings.seed)
    captions = [" ".join(group) for found in (words, *spoilt.values()) for group in found]
    documents = np.tile(np.arange(len(intact)), 1 + len(spoilt))
    return JudgedCaptions(captions, documents, references, images), list(spoilt)


def _take_out(judged: JudgedCaptions) -> tuple[list[str], list[list[str]], Indexes]:
    """Return one reference of each image, the others, and the images."""
    kept: dict[int, int] = {}
    for document, image in enumerate(judged.images.tolist()):
        if len(judged.references[document]) > 1:
            kept.setdefault(image, document)
    if not kept:
        raise SettingError(
            "the protocol gaming takes a reference of each image as a caption, but no image has two"
        )
    groups = [judged.references[document] for document in kept.values()]
    images = np.arange(len(groups))
    return [group[0] for group in groups], [list(group[1:]) for group in groups], images
