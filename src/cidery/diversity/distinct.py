"""Measures that count distinct words, bigrams and captions."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from cidery.diversity.base import Measure
from cidery.diversity.caption_sets import TokenizedSets
from cidery.errors import SettingError
from cidery.metrics.settings import require
from cidery.runtime import Workspace
from cidery.statistics import Floats
from cidery.text import SPLIT


@dataclass(frozen=True)
class Distinct(Measure):
    """Distinct-n: different n-grams of an image's captions per word; in [0, 1].

    Li et al. 2016; called Div-n by Shetty et al. 2017. Both divide by the number of words.

    ```python
    cidery.measure_diversity(sets, measures=[Distinct(2)])
    ```
    """

    n: int = 1

    paper: ClassVar[str] = "Li et al. 2016; Shetty et al. 2017"

    def __post_init__(self) -> None:
        require(self.n in (1, 2), f"n must be 1 or 2, not {self.n}")

    @property
    def name(self) -> str:
        """`distinct-1`, `distinct-2`."""
        return f"distinct-{self.n}"

    def measure(self, sets: TokenizedSets, work: Workspace) -> Floats:
        """Return one value per image."""
        positions = work.once(find_words, sets)
        words = np.bincount(positions.images, minlength=len(sets.sizes))
        different = positions.count_different(self.n)
        return np.divide(different, words, out=np.zeros(len(words)), where=words > 0)


@dataclass(frozen=True)
class Unique(Measure):
    """Share of distinct captions among an image's captions, compared as tokens; in [0, 1].

    ```python
    table = cidery.measure_diversity({"a": ["a dog", "A dog.", "a cat"]}, measures=["unique"])
    table.corpus["unique"]   # 0.666…
    ```
    """

    @property
    def name(self) -> str:
        """`unique`."""
        return "unique"

    def measure(self, sets: TokenizedSets, work: Workspace) -> Floats:
        """Return one value per image."""
        captions = list(map(tuple, sets.captions.captions.form(SPLIT, work).tokens()))
        bounds = sets.captions.image_offsets.tolist()
        different = [len(set(captions[a:b])) for a, b in pairwise(bounds)]
        return np.asarray(different) / sets.sizes


@dataclass(frozen=True)
class Novel(Measure):
    """Share of an image's captions that are not in the training set, compared as tokens; in [0, 1].

    ```python
    cidery.measure_diversity(sets, measures=["novel"], training=training_captions)
    ```
    """

    @property
    def name(self) -> str:
        """`novel`."""
        return "novel"

    def measure(self, sets: TokenizedSets, work: Workspace) -> Floats:
        """Return one value per image."""
        if sets.training is None:
            raise SettingError(
                "novel needs the captions of the training set; pass training=… (--training FILE)"
            )
        tokens = sets.captions.captions.form(SPLIT, work).tokens()
        return sets.mean(np.asarray([tuple(t) not in sets.training for t in tokens], np.float64))


@dataclass(frozen=True)
class Vocabulary(Measure):
    """Number of distinct words of an image's captions; for a corpus, of all images.

    ```python
    table = cidery.measure_diversity({"a": ["a dog", "a cat"]}, measures=["vocabulary"])
    table.corpus["vocabulary"]   # 3
    ```
    """

    range: ClassVar[tuple[float, float]] = (0.0, float("inf"))

    @property
    def name(self) -> str:
        """`vocabulary`."""
        return "vocabulary"

    def measure(self, sets: TokenizedSets, work: Workspace) -> Floats:
        """Return one value per image."""
        return work.once(find_words, sets).count_different(1).astype(np.float64)

    def whole(self, sets: TokenizedSets, work: Workspace) -> float | None:
        """Return the number of distinct words of all images."""
        return float(len(np.unique(work.once(find_words, sets).words)))


@dataclass(frozen=True, eq=False)
class WordPositions:
    """All tokens in a row, with the indices of their captions and images."""

    words: NDArray[np.uint32]
    captions: NDArray[np.int64]
    images: NDArray[np.int64]

    def _pairs(self) -> NDArray[np.uint64]:
        """uint64[words]: code of the bigram that starts at each word."""
        pairs = self.words.astype(np.uint64) << np.uint64(32)
        pairs[:-1] |= self.words[1:].astype(np.uint64)
        return pairs

    def count_different(self, n: int) -> NDArray[np.int64]:
        """Return the number of distinct words (n = 1) or bigrams (n = 2) of each image."""
        keys: NDArray[np.integer] = self.words
        images = self.images
        if n == 2:
            inside = np.flatnonzero(self.captions[:-1] == self.captions[1:])
            keys, images = self._pairs()[inside], images[inside]
        _, ids = np.unique(keys, return_inverse=True)
        count = int(ids.max(initial=0)) + 1
        seen = np.unique(images * count + ids)
        highest = int(self.images.max(initial=-1)) + 1
        return np.bincount(seen // count, minlength=highest).astype(np.int64)


def find_words(work: Workspace, sets: TokenizedSets) -> WordPositions:
    """Return all tokens with their captions and images."""
    form = sets.captions.captions.form(SPLIT, work)
    lengths = np.asarray(np.diff(form.offsets().astype(np.int64)), np.int64)
    captions = np.repeat(np.arange(len(lengths)), lengths)
    images = np.repeat(np.arange(len(sets.sizes)), sets.sizes)[captions]
    return WordPositions(form.words(), captions, images)
