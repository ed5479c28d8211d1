"""METEOR as NLTK's `meteor_score` computes it: Lavie and Agarwal 2007 with older parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np

from cidery.metrics.base import Metric, Prepared, TokenizedCandidates, TokenizedReferences
from cidery.runtime import Workspace
from cidery.statistics import Floats
from cidery.storage import METEOR_WORDS, load
from cidery.text import SPLIT, get_stemmer

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ALPHA, _BETA, _GAMMA = 0.9, 3.0, 0.5


@dataclass(frozen=True)
class NltkMeteor(Metric):
    """METEOR with greedy matches from the end, as NLTK has it; in [0, 1]."""

    stages: Literal["exact", "stems", "synonyms"] = "synonyms"

    @property
    def name(self) -> str:
        """`nltk-meteor`."""
        return "nltk-meteor"

    def prepare(self, references: TokenizedReferences, work: Workspace) -> Prepared:
        """Make references ready."""
        tokens = references.captions.form(SPLIT, work).tokens()
        return _PreparedNltkMeteor(self, tokens, references.image_offsets.astype(np.int64))


@dataclass(frozen=True, eq=False)
class _PreparedNltkMeteor(Prepared):
    metric: NltkMeteor
    references: list[list[str]]
    offsets: NDArray[np.int64]

    def measure(self, candidates: TokenizedCandidates, work: Workspace) -> Floats:
        """Return each caption's score against its best reference, float64[captions, 1]."""
        tokens = candidates.captions.form(SPLIT, work).tokens()
        bounds = self.offsets.tolist()
        stems = _Stems([*self.references, *tokens]) if self.metric.stages != "exact" else None
        synonyms = self.metric.stages == "synonyms"
        scores = [
            max(
                (
                    _score(words, reference, stems, synonyms)
                    for reference in self.references[bounds[image] : bounds[image + 1]]
                ),
                default=0.0,
            )
            for words, image in zip(tokens, candidates.images.tolist(), strict=True)
        ]
        return np.asarray(scores, np.float64)[:, None]


class _Stems:
    """The stems of all words."""

    def __init__(self, captions: Sequence[Sequence[str]]) -> None:
        words = sorted({word for caption in captions for word in caption})
        self.of = dict(zip(words, get_stemmer("porter")(words), strict=True))


def _score(
    candidate: list[str], reference: list[str], stems: _Stems | None, synonyms: bool
) -> float:
    pairs = _match(candidate, reference, stems, synonyms)
    if not pairs:
        return 0.0
    matches = len(pairs)
    precision, recall = matches / len(candidate), matches / len(reference)
    mean = precision * recall / (_ALPHA * precision + (1 - _ALPHA) * recall)
    pairs.sort()
    chunks = 1 + sum(second != (first[0] + 1, first[1] + 1) for first, second in pairwise(pairs))
    penalty: float = _GAMMA * (chunks / matches) ** _BETA
    return mean * (1 - penalty)


def _match(
    candidate: list[str], reference: list[str], stems: _Stems | None, synonyms: bool
) -> list[tuple[int, int]]:
    """Match words from the end, each with the last free equal one; then by stem and synonym."""
    left, free = list(range(len(candidate))), list(range(len(reference)))
    pairs: list[tuple[int, int]] = []
    left, free = _match_equal(candidate, reference, left, free, pairs)
    if stems is not None and left and free:
        cut = [stems.of[word] for word in candidate], [stems.of[word] for word in reference]
        left, free = _match_equal(*cut, left, free, pairs)
    if synonyms:
        for place in reversed(left):
            meanings = _synsets(candidate[place])
            for other in reversed(free) if meanings else ():
                if not meanings.isdisjoint(_synsets(reference[other])):
                    pairs.append((place, other))
                    free.remove(other)
                    break
    return pairs


def _match_equal(
    candidate: list[str],
    reference: list[str],
    left: list[int],
    free: list[int],
    pairs: list[tuple[int, int]],
) -> tuple[list[int], list[int]]:
    places: dict[str, list[int]] = {}
    for place in free:
        places.setdefault(reference[place], []).append(place)
    unmatched, used = [], set()
    for place in reversed(left):
        found = places.get(candidate[place])
        if found:
            other = found.pop()
            pairs.append((place, other))
            used.add(other)
        else:
            unmatched.append(place)
    return unmatched[::-1], [place for place in free if place not in used]


@lru_cache(maxsize=1 << 16)
def _synsets(word: str) -> frozenset[int]:
    return frozenset(load(METEOR_WORDS).synsets(word))
