"""Word vectors of the training captions, and nearest words as synonyms.

Positive pointwise mutual information of nearby words, reduced to its first directions: the matrix
that word2vec factorizes (Levy and Goldberg, NIPS 2014).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cidery.statistics import Floats
from cidery_lab.data import SPECIAL, LabData

MAX_WORDS = 3000
"""Maximum number of words with a vector."""
WINDOW = 2
DIRECTIONS = 100


@dataclass(frozen=True, eq=False)
class Synonyms:
    """Nearest words of each frequent word."""

    words: tuple[str, ...]
    nearest: Sequence[Sequence[int]]
    weights: Floats
    """float64[words, count]: probabilities, proportional to the cosine."""

    def switch(self, caption: str, probability: float, rng: np.random.Generator) -> str:
        """Replace each word by one of its synonyms with this probability."""
        places = {word: place for place, word in enumerate(self.words)}
        written = []
        for word in caption.split():
            place = places.get(word)
            if place is not None and rng.random() < probability:
                chosen = rng.choice(self.nearest[place], p=self.weights[place])
                word = self.words[int(chosen)]
            written.append(word)
        return " ".join(written)


def find_synonyms(data: LabData, count: int = 10) -> Synonyms:
    """Return the nearest words of each frequent word of the training captions.

    ```python
    find_synonyms(data).switch("a dog is waiting", 0.3, np.random.default_rng(0))
    ```
    """
    words = data.vocabulary.words[len(SPECIAL) :][:MAX_WORDS]
    places = {word: place for place, word in enumerate(words)}
    near = np.zeros((len(words), len(words)))
    for group in data.train.captions:
        for caption in group:
            ids = [places.get(word, -1) for word in caption]
            for left, first in enumerate(ids):
                for second in ids[left + 1 : left + 1 + WINDOW]:
                    if first >= 0 and second >= 0:
                        near[first, second] += 1
                        near[second, first] += 1
    totals = near.sum(1)
    with np.errstate(divide="ignore", invalid="ignore"):
        information = np.log(near * near.sum() / np.outer(totals, totals))
    information[~np.isfinite(information)] = 0
    values, directions = np.linalg.eigh(np.maximum(information, 0))
    largest = np.argsort(-np.abs(values))[:DIRECTIONS]
    vectors = directions[:, largest] * np.sqrt(np.abs(values[largest]))
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    similarity = vectors @ vectors.T
    np.fill_diagonal(similarity, -np.inf)
    count = min(count, len(words) - 1)
    nearest = np.argsort(-similarity, axis=1, kind="stable")[:, :count]
    weights = np.maximum(np.take_along_axis(similarity, nearest, 1), 1e-6)
    return Synonyms(words, nearest.tolist(), weights / weights.sum(1, keepdims=True))
