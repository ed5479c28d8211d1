"""Agreement of rankings within groups, with ties, and clusters of tied metrics."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from cidery.errors import SettingError
from cidery.statistics.paired_tests import holm
from cidery.statistics.resampling import Floats

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class PairsWithin:
    """All pairs of items of the same group.

    ```python
    PairsWithin.build(np.array([0, 0, 1, 1, 1]))
    ```
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    groups: NDArray[np.int64]
    """int64[pairs]"""
    group_count: int

    @classmethod
    def build(cls, groups: NDArray[np.integer]) -> PairsWithin:
        """Return all pairs within groups."""
        order = np.argsort(groups, kind="stable")
        edges = np.flatnonzero(np.diff(groups[order])) + 1
        places: dict[int, tuple[NDArray[np.int64], NDArray[np.int64]]] = {}
        firsts, seconds = [], []
        for members in np.split(order, edges):
            size = len(members)
            if size not in places:
                one, other = np.triu_indices(size, 1)
                places[size] = (one.astype(np.int64), other.astype(np.int64))
            one, other = places[size]
            firsts.append(members[one])
            seconds.append(members[other])
        first = np.concatenate(firsts).astype(np.int64)
        count = int(groups.max()) + 1 if len(groups) else 0
        return cls(
            first,
            np.concatenate(seconds).astype(np.int64),
            np.asarray(groups)[first].astype(np.int64),
            count,
        )

    def calibrate(self, scores: Floats, human: Floats) -> Calibration:
        """Return the accuracy at the best tie threshold: closer scores count as equal.

        Deutsch, Foster and Freitag (EMNLP 2023): humans tie items, metrics rarely do, so each
        metric gets the threshold that maximizes its accuracy.
        """
        ours = scores[self.first] - scores[self.second]
        theirs = human[self.first] - human[self.second]
        tied = theirs == 0
        agree = (np.sign(ours) == np.sign(theirs)) & ~tied
        distance = np.abs(ours)
        order = np.argsort(distance, kind="stable")
        # With the threshold at the k-th distance, the first k pairs are ties.
        gained = np.cumsum(tied[order])
        lost = np.cumsum(agree[order])
        hits = int(agree.sum()) - lost + gained
        ends = np.append(np.diff(distance[order]) > 0, True) if len(order) else np.zeros(0, bool)
        best = int(np.argmax(np.where(ends, hits, -1))) if len(order) else 0
        threshold, most = (float(distance[order][best]), int(hits[best])) if len(order) else (0, 0)
        if len(order) and most <= int(agree.sum()):  # no ties
            threshold = -1.0
        right = np.where(distance <= threshold, tied, agree)
        rows = np.stack(
            [
                np.bincount(self.groups, right, self.group_count),
                np.bincount(self.groups, minlength=self.group_count).astype(np.float64),
            ],
            axis=1,
        )
        return Calibration(max(threshold, 0.0), rows)

    def rank(self, scores: Floats, human: Floats) -> Floats:
        """Return rows, float64[groups, 2]: pairs ordered as in the human ratings, and all pairs.

        Pairs with equal ratings do not count; equal scores count half.
        """
        ours = np.sign(scores[self.first] - scores[self.second])
        theirs = np.sign(human[self.first] - human[self.second])
        right = np.where(theirs == 0, 0.0, (ours * theirs + 1) / 2)
        rows = [np.bincount(self.groups, each, self.group_count) for each in (right, theirs != 0)]
        return np.stack(rows, axis=1).astype(np.float64)

    def correlate(self, scores: Floats, human: Floats) -> Floats:
        """Return rows, float64[groups, 2]: Kendall's τ-b of each group and 1, or zeros.

        A group whose scores or ratings are constant has no τ-b.
        """
        ours = np.sign(scores[self.first] - scores[self.second])
        theirs = np.sign(human[self.first] - human[self.second])

        def total(values: Floats) -> Floats:
            return np.asarray(np.bincount(self.groups, values, self.group_count), np.float64)

        spread = np.sqrt(total(ours**2) * total(theirs**2))
        known = spread > 0
        tau = np.divide(total(ours * theirs), spread, out=np.zeros(len(spread)), where=known)
        return np.stack([tau, known.astype(np.float64)], axis=1)


@dataclass(frozen=True, eq=False)
class Calibration:
    """Accuracy on pairs, with ties."""

    threshold: float
    """Maximum difference of scores that count as equal."""
    rows: Floats
    """float64[groups, 2]: correct pairs and all pairs, pooled by `pool_share`."""


def compare_samples(first: Floats, second: Floats) -> float:
    """Return the two-sided p-value of a paired bootstrap of two statistics.

    The mean difference divided by its standard error is assumed to be normal: counting samples with
    the other sign (Koehn 2004) gives no p-value below two over their number, too large to be
    corrected for many pairs. That count is used where the difference is constant.
    """
    if len(first) != len(second) or not len(first):
        raise SettingError("both statistics need the same number of bootstrap samples, at least 1")
    difference = first - second
    known = difference[np.isfinite(difference)]
    if not len(known) or not np.ptp(known):
        return 1.0 if not known.any() else 2.0 / (len(known) + 1)
    return math.erfc(abs(float(known.mean())) / float(known.std(ddof=1)) / math.sqrt(2))


def rank_metrics(
    values: Mapping[str, float], samples: Mapping[str, Floats], *, alpha: float = 0.05
) -> dict[str, int]:
    """Return each metric's rank: one plus the number of metrics that are significantly better.

    Metrics without a significant difference have tied ranks. p-values of the paired bootstrap are
    Holm-corrected for all pairs of metrics.

    ```python
    drawn = np.random.default_rng(0).normal(size=500)
    rank_metrics(
        {"a": 0.5, "b": 0.49, "c": 0.1},
        {"a": 0.5 + drawn / 100, "b": 0.49 + drawn[::-1] / 100, "c": 0.1 + drawn / 100},
    )  # {"a": 1, "b": 1, "c": 3}
    ```
    """
    names: Sequence[str] = list(values)
    pairs = list(combinations(names, 2))
    adjusted = holm([compare_samples(samples[one], samples[other]) for one, other in pairs])
    places = dict.fromkeys(names, 1)
    for (one, other), p in zip(pairs, adjusted, strict=True):
        if p <= alpha and values[one] != values[other]:
            places[min(one, other, key=values.__getitem__)] += 1
    return places
