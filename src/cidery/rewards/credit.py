"""Which n-grams of a caption earned or cost how much."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from cidery import _native
from cidery.captions.workspace import Workspace
from cidery.metrics.base import TokenizedCandidates
from cidery.metrics.ngram.cider import PreparedCider


@dataclass(frozen=True)
class NgramCredit:
    """One n-gram's part in a caption's reward."""

    words: tuple[str, ...]
    """As the metric compares them, so perhaps stemmed."""
    count: int
    """How often the caption has it."""
    earned: float
    """At least 0: its share of the similarity to the references, had the caption nothing else."""
    cost: float
    """At most 0: its share of what is lost because the caption has more than a reference has."""
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
        """Return the n-grams from the one that brought most to the one that cost most."""
        return sorted(self.ngrams, key=lambda ngram: -ngram.value)


def measure_credit(
    prepared: PreparedCider, candidates: TokenizedCandidates, weight: float, work: Workspace
) -> list[list[NgramCredit]]:
    """Return each caption's n-grams with their credit, times the metric's weight."""
    captions = candidates.captions
    form = captions.form(prepared.form, work)
    parts = captions.form(prepared.parts, work) if prepared.parts else None
    translation = prepared.translate(captions, work)
    credits = _native.credit(prepared.native, form, candidates.images, translation, parts)
    return [
        [
            NgramCredit(
                tuple(words[start : start + n]),
                count,
                weight * earned,
                weight * cost,
                weight * (earned + cost),
            )
            for n, start, count, earned, cost in ngrams
        ]
        for words, ngrams in zip(form.tokens(), credits, strict=True)
    ]


def merge_credit(reward: float, ngrams: Iterable[NgramCredit]) -> Credit:
    """Join the credit that several metrics gave, and make it sum to the reward exactly."""
    merged: dict[tuple[str, ...], NgramCredit] = {}
    for ngram in ngrams:
        known = merged.get(ngram.words)
        merged[ngram.words] = ngram if known is None else _add(known, ngram)
    return Credit(reward, _settle(reward, list(merged.values())))


def _add(one: NgramCredit, other: NgramCredit) -> NgramCredit:
    return replace(
        one,
        earned=one.earned + other.earned,
        cost=one.cost + other.cost,
        value=one.value + other.value,
    )


def _settle(reward: float, ngrams: list[NgramCredit]) -> tuple[NgramCredit, ...]:
    """Add what rounding left (some 1e-16 of the reward) to one n-gram, so that nothing is left.

    It goes to one whose digits are fine enough to take it: the largest that is smaller than the
    reward, or the smallest of all.
    """
    for _ in range(4):
        if math.fsum(ngram.value for ngram in ngrams) == reward:
            break
        rest = math.fsum([reward, *(-ngram.value for ngram in ngrams)])
        sizes = [abs(ngram.value) for ngram in ngrams]
        fine = [size for size in sizes if 0 < size < abs(reward) / 2]
        place = sizes.index(max(fine) if fine else min(sizes))
        ngrams[place] = replace(ngrams[place], value=ngrams[place].value + rest)
    return tuple(ngrams)
