"""Contributions of n-grams to a caption's reward."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from cidery.metrics.base import TokenizedCandidates
from cidery.metrics.explanations import reconcile_values
from cidery.metrics.ngram.cider import PreparedCider
from cidery.runtime import Workspace


@dataclass(frozen=True)
class NgramCredit:
    """One n-gram's part in a caption's reward."""

    words: tuple[str, ...]
    """Words of the n-gram, stemmed if the metric stems."""
    count: int
    """Number of occurrences in the caption."""
    earned: float
    """Share of the similarity to the references if the caption had no other n-grams; >= 0."""
    cost: float
    """Share of the loss through n-grams that a reference does not have; <= 0."""
    value: float
    """earned + cost; a caption's values sum to its reward."""


@dataclass(frozen=True)
class Credit:
    """A caption's reward split over its n-grams, shorter ones first.

    ```python
    [credit] = reward.credit(["a"], ["a dog runs"])
    math.fsum(ngram.value for ngram in credit.ngrams) == credit.reward   # True
    ```
    """

    reward: float
    ngrams: tuple[NgramCredit, ...]

    def ranked(self) -> list[NgramCredit]:
        """Return the n-grams from the largest to the smallest value."""
        return sorted(self.ngrams, key=lambda ngram: -ngram.value)


def measure_credit(
    prepared: PreparedCider, candidates: TokenizedCandidates, weight: float, work: Workspace
) -> list[list[NgramCredit]]:
    """Return each caption's n-grams with their credit, times the metric's weight."""
    return [
        [
            NgramCredit(words, count, weight * earned, weight * cost, weight * (earned + cost))
            for words, count, earned, cost in ngrams
        ]
        for ngrams in prepared.credit(candidates, work)
    ]


def merge_credit(reward: float, ngrams: Iterable[NgramCredit]) -> Credit:
    """Merge the credit of several metrics so that it sums to the reward exactly."""
    merged: dict[tuple[str, ...], NgramCredit] = {}
    for ngram in ngrams:
        known = merged.get(ngram.words)
        merged[ngram.words] = ngram if known is None else _add(known, ngram)
    ngrams = list(merged.values())
    values = reconcile_values(reward, [ngram.value for ngram in ngrams])
    return Credit(
        reward,
        tuple(
            ngram if ngram.value == value else replace(ngram, value=value)
            for ngram, value in zip(ngrams, values, strict=True)
        ),
    )


def _add(one: NgramCredit, other: NgramCredit) -> NgramCredit:
    return replace(
        one,
        earned=one.earned + other.earned,
        cost=one.cost + other.cost,
        value=one.value + other.value,
    )
