"""Statistics on arrays: bootstrap intervals and paired tests. Arrays in, numbers out.

Everything works on *rows*, one per image, that are summed before a corpus score is taken from them:
so pooled scores such as BLEU are resampled exactly, not approximated by a mean.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from cidery._native import permute_sums, resample_sums
from cidery.errors import SettingError

if TYPE_CHECKING:
    from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float64]"
Pool: TypeAlias = "Callable[[Floats], Floats]"
"""Summed rows, float64[..., k] -> scores, float64[...]."""

RESAMPLES = 1000


@dataclass(frozen=True)
class Interval:
    """A score with a confidence interval."""

    score: float
    low: float
    high: float
    confidence: float

    def __str__(self) -> str:
        return f"{self.score:.4f} [{self.low:.4f}, {self.high:.4f}]"


@dataclass(frozen=True)
class PairedTest:
    """How one system differs from another on the same images."""

    difference: float
    """Score of the first minus score of the second."""
    low: float
    high: float
    """Bootstrap interval of the difference."""
    p_bootstrap: float
    """Two-sided: twice the share of samples in which the sign turns (Koehn 2004)."""
    p_permutation: float
    """Two-sided: the share of random exchanges of outputs with at least this difference."""
    effect: float
    """Mean over standard deviation of the images' differences (Cohen's d_z); 0.2 is small."""
    wins: float
    """Share of images on which the first is better, ties counted half."""
    confidence: float
    adjusted_p: float
    """p_permutation after Holm's correction for all comparisons made together."""


def _check(confidence: float, resamples: int) -> None:
    if not 0 < confidence < 1:
        raise SettingError(f"the confidence must lie between 0 and 1, not {confidence}")
    _check_resamples(resamples)


def _check_resamples(resamples: int) -> None:
    if resamples < 2:
        raise SettingError(f"at least 2 resamples are needed, not {resamples}")


def _check_seed(seed: int) -> None:
    if not 0 <= seed < 1 << 64:
        raise SettingError(f"the seed must lie between 0 and 2^64, not {seed}")


def draw_sums(rows: Floats, resamples: int, seed: int) -> Floats:
    """Draw as many rows as there are, with replacement, and sum: float64[resamples, k]."""
    _check_resamples(resamples)
    _check_seed(seed)
    return resample_sums(rows, resamples, seed)


def bootstrap_interval(
    rows: Floats,
    pool: Pool,
    *,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
    sums: Floats | None = None,
) -> Interval:
    """Percentile bootstrap over rows (Efron 1979): images are drawn again, scores pooled again.

    Args:
        rows: float64[images, k], whatever `pool` wants summed.
        pool: from summed rows to a score.
        confidence: the share of samples inside.
        resamples: how many samples; the same seed and height give the same ones.
        seed: of the generator.
        sums: what `draw_sums` returned for the same rows, where several scores are pooled from it.
    """
    _check(confidence, resamples)
    samples = pool(draw_sums(rows, resamples, seed) if sums is None else sums)
    low, high = np.quantile(samples, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(pool(rows.sum(axis=0))), float(low), float(high), confidence)


def paired_test(
    first: Floats,
    second: Floats,
    pool: Pool,
    values: tuple[Floats, Floats],
    *,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> PairedTest:
    """Compare two systems on the same images by paired bootstrap and paired permutation.

    Args:
        first: float64[images, k].
        second: the same images' rows for the other system.
        pool: from summed rows to a score.
        values: each image's own score for both systems, for the effect size.
        confidence: of the interval.
        resamples: how many samples, and how many permutations.
        seed: of the generator.
    """
    _check(confidence, resamples)
    difference = float(pool(first.sum(axis=0)) - pool(second.sum(axis=0)))
    samples = pool(resample_sums(first, resamples, seed)) - pool(
        resample_sums(second, resamples, seed)
    )
    low, high = np.quantile(samples, [(1 - confidence) / 2, (1 + confidence) / 2])
    turned = np.count_nonzero(samples <= 0 if difference > 0 else samples >= 0)
    exchanged = permute_sums(first, second, resamples, seed).reshape(resamples, 2, -1)
    permuted = np.abs(pool(exchanged[:, 0]) - pool(exchanged[:, 1]))
    # The observed assignment is one of the permutations, so p is never 0 (Phipson and Smyth 2010);
    # the slack keeps equal sums that were added in another order equal.
    extreme = np.count_nonzero(permuted >= abs(difference) * (1 - 1e-9))
    deltas = values[0] - values[1]
    spread = float(deltas.std(ddof=1)) if len(deltas) > 1 else 0.0
    p_permutation = float(extreme + 1) / (resamples + 1)
    return PairedTest(
        difference=difference,
        low=float(low),
        high=float(high),
        p_bootstrap=min(1.0, 2.0 * float(turned + 1) / (resamples + 1)),
        p_permutation=p_permutation,
        effect=float(deltas.mean()) / spread if spread > 0 else 0.0,
        wins=float(np.mean((deltas > 0) + 0.5 * (deltas == 0))),
        confidence=confidence,
        adjusted_p=p_permutation,
    )


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values of several comparisons (Holm 1979), in the order given."""
    order = np.argsort(p_values, kind="stable")
    adjusted = [0.0] * len(p_values)
    running = 0.0
    for rank, index in enumerate(order):
        running = max(running, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[int(index)] = running
    return adjusted


def sum_by_group(rows: Floats, groups: NDArray[np.integer], count: int) -> Floats:
    """Sum rows of the same group: float64[rows, k] -> float64[count, k]."""
    if len(groups) == count and np.array_equal(groups, np.arange(count)):
        return rows
    summed = np.zeros((count, rows.shape[1]))
    np.add.at(summed, groups, rows)
    return summed


COEFFICIENTS = ("tau_b", "tau_c", "spearman", "pearson")
_FEW_LEVELS = 64


@dataclass(frozen=True, eq=False)
class Correlation:
    """How scores go with human ratings: Kendall's τ-b and τ-c, Spearman's ρ, Pearson's r.

    Rows are gathered once into a table of distinct scores by distinct ratings, so that every
    bootstrap sample only weighs its cells: 1000 samples of 50,000 ratings take seconds.

    ```python
    Correlation.build(scores, ratings)()                  # {"tau_b": 0.5, "tau_c": …}
    Correlation.build(scores, ratings)(weights=counts)    # as if row i came counts[i] times
    ```
    """

    scores: Floats
    """Distinct scores, rising."""
    ratings: Floats
    """Distinct ratings, rising."""
    cells: NDArray[np.int64]
    """int64[rows]: rating index · number of scores + score index."""

    @classmethod
    def build(cls, scores: Floats, ratings: Floats) -> Correlation:
        """Sort both sides; they must be of one length and hold numbers only."""
        if len(scores) != len(ratings):
            raise SettingError(f"{len(scores)} scores cannot go with {len(ratings)} ratings")
        if not (np.isfinite(scores).all() and np.isfinite(ratings).all()):
            raise SettingError("scores and ratings must be numbers, not nan or infinite")
        distinct, x = np.unique(scores, return_inverse=True)
        levels, y = np.unique(ratings, return_inverse=True)
        return cls(distinct, levels, y.astype(np.int64) * len(distinct) + x)

    def __call__(self, weights: Floats | None = None) -> dict[str, float]:
        """Return the four coefficients; nan where one side does not vary."""
        if len(self.ratings) <= _FEW_LEVELS:
            shape = (len(self.ratings), len(self.scores))
            table = np.bincount(self.cells, weights, shape[0] * shape[1]).reshape(shape)
            return _correlate_table(table.astype(np.float64), self.scores, self.ratings)
        repeats = 1 if weights is None else weights.astype(np.int64)
        y, x = np.divmod(np.repeat(self.cells, repeats), len(self.scores))
        return _correlate_pairs(self.scores[x], self.ratings[y])

    def intervals(
        self,
        groups: NDArray[np.integer],
        *,
        confidence: float = 0.95,
        resamples: int = RESAMPLES,
        seed: int = 0,
    ) -> dict[str, Interval]:
        """Return bootstrap intervals; whole groups (images) are drawn, not single rows."""
        _check(confidence, resamples)
        rng = np.random.default_rng(seed)
        count = int(groups.max()) + 1
        share = np.full(count, 1 / count)
        samples = [self(rng.multinomial(count, share)[groups]) for _ in range(resamples)]
        edges = [(1 - confidence) / 2, (1 + confidence) / 2]
        found = {}
        for name, value in self().items():
            drawn = np.asarray([sample[name] for sample in samples])
            kept = drawn[np.isfinite(drawn)]  # a sample may happen not to vary
            low, high = np.quantile(kept, edges) if len(kept) else (np.nan, np.nan)
            found[name] = Interval(value, float(low), float(high), confidence)
        return found


def _correlate_table(table: Floats, scores: Floats, ratings: Floats) -> dict[str, float]:
    """From a table of counts, float64[distinct ratings, distinct scores]."""
    by_rating, by_score = table.sum(axis=1), table.sum(axis=0)
    classes = min(np.count_nonzero(by_score), np.count_nonzero(by_rating))
    if classes < 2:
        return dict.fromkeys(COEFFICIENTS, float("nan"))
    total = float(by_score.sum())
    # met[i, j]: pairs of a row rated i and one rated j whose score is not higher. The pairs of
    # equal scores are as many in met[j, i], so that the difference counts the others only.
    met = np.einsum("ig,jg->ij", table, np.cumsum(table, axis=1))
    excess = float(np.tril(met - met.T).sum())
    pairs = total * (total - 1) / 2
    tied = [float((side * (side - 1) / 2).sum()) for side in (by_score, by_rating)]
    ranks = [np.cumsum(side) - (side - 1) / 2 for side in (by_score, by_rating)]
    return {
        "tau_b": excess / float(np.sqrt((pairs - tied[0]) * (pairs - tied[1]))),
        "tau_c": 2 * excess * classes / (total**2 * (classes - 1)),
        "spearman": _pearson_of_table(table, ranks[0], ranks[1]),
        "pearson": _pearson_of_table(table, scores, ratings),
    }


def _pearson_of_table(table: Floats, x: Floats, y: Floats) -> float:
    by_rating, by_score = table.sum(axis=1), table.sum(axis=0)
    total = by_score.sum()
    # einsum here and above, not @: starting a BLAS's threads takes longer than these few sums.
    x = x - np.einsum("i,i", by_score, x) / total
    y = y - np.einsum("i,i", by_rating, y) / total
    covariance = np.einsum("i,ij,j", y, table, x)
    spread = np.einsum("i,i,i", by_score, x, x) * np.einsum("i,i,i", by_rating, y, y)
    return float(covariance / np.sqrt(spread))


def _correlate_pairs(scores: Floats, ratings: Floats) -> dict[str, float]:
    from scipy import stats

    if scores.min() == scores.max() or ratings.min() == ratings.max():
        return dict.fromkeys(COEFFICIENTS, float("nan"))
    return {
        "tau_b": float(stats.kendalltau(scores, ratings, variant="b").statistic),
        "tau_c": float(stats.kendalltau(scores, ratings, variant="c").statistic),
        "spearman": float(stats.spearmanr(scores, ratings).statistic),
        "pearson": float(stats.pearsonr(scores, ratings).statistic),
    }


def correlation_p(scores: Floats, ratings: Floats) -> dict[str, float]:
    """Return two-sided p-values of Pearson's r, Spearman's ρ and Kendall's τ-b: is it 0?"""
    from scipy import stats

    if len(scores) < 3 or scores.min() == scores.max() or ratings.min() == ratings.max():
        return dict.fromkeys(("pearson", "spearman", "tau_b"), float("nan"))
    return {
        "pearson": float(stats.pearsonr(scores, ratings).pvalue),
        "spearman": float(stats.spearmanr(scores, ratings).pvalue),
        "tau_b": float(stats.kendalltau(scores, ratings, variant="b").pvalue),
    }


def williams_test(first: Floats, second: Floats, human: Floats) -> float:
    """Two-sided p of Williams' test: do two metrics correlate (Pearson) with people differently?

    The three correlations come from the same rows, so they depend on each other: Williams 1959, as
    Graham and Baldwin (EMNLP 2014) use it for metrics. nan with fewer than four rows.
    """
    from scipy import stats

    count = len(human)
    if count < 4 or min(np.ptp(first), np.ptp(second), np.ptp(human)) == 0:
        return float("nan")
    (_, a, b), (_, _, between), _ = np.corrcoef([human, first, second])
    determinant = 1 - a**2 - b**2 - between**2 + 2 * a * b * between
    spread = 2 * determinant * (count - 1) / (count - 3) + (a + b) ** 2 / 4 * (1 - between) ** 3
    if spread <= 0:  # the same metric twice
        return 1.0
    t = (a - b) * np.sqrt((count - 1) * (1 + between) / spread)
    return float(2 * stats.t.sf(abs(t), count - 3))


def pearson_rows(scores: Floats, human: Floats, groups: NDArray[np.integer]) -> Floats:
    """Return rows, float64[groups, 6], whose sum `pool_pearson` turns into Pearson's r.

    Scores are standardised first, so that two metrics' rows may change places in a permutation.
    """
    spread = scores.std()
    x = (scores - scores.mean()) / (spread if spread > 0 else 1.0)
    y = human - human.mean()
    rows = np.stack([x * y, x, x * x, y, y * y, np.ones_like(x)], axis=1)
    return sum_by_group(rows, groups, int(groups.max()) + 1)


def pool_pearson(sums: Floats) -> Floats:
    """Return Pearson's r from summed rows of `pearson_rows`, float64[..., 6] -> float64[...]."""
    xy, x, xx, y, yy, count = np.moveaxis(sums, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        covariance = xy - x * y / count
        spread = np.sqrt((xx - x * x / count) * (yy - y * y / count))
        return np.asarray(np.where(spread > 0, covariance / spread, np.nan), np.float64)


def pool_share(sums: Floats) -> Floats:
    """Return shares from summed rows of (hits, trials), float64[..., 2] -> float64[...]."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(sums[..., 0] / sums[..., 1], np.float64)
