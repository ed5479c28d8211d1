"""Correlations of scores and human ratings, with intervals and tests."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from cidery.errors import MissingExtraError, SettingError
from cidery.statistics.resampling import RESAMPLES, Floats, Interval, check_sampling, sum_by_group

if TYPE_CHECKING:
    from types import ModuleType

    from numpy.typing import NDArray

COEFFICIENTS = ("tau_b", "tau_c", "spearman", "pearson")
"""Kendall's τ-b and τ-c (Stuart), Spearman's ρ and Pearson's r."""
_FEW_LEVELS = 64
_ALL_ORDERS = 8
"""Maximum number of items whose permutations are all counted (40,320)."""


@dataclass(frozen=True, eq=False)
class Correlation:
    """Correlation of scores and human ratings: Kendall's τ-b and τ-c, Spearman's ρ, Pearson's r.

    Rows are counted once in a table of distinct scores by distinct ratings. Bootstrap samples
    weight its cells: 1000 samples of 50,000 ratings take seconds.

    ```python
    Correlation.build(scores, ratings)()                  # {"tau_b": 0.91…, "tau_c": …}
    Correlation.build(scores, ratings)(weights=counts)    # as if row i came counts[i] times
    ```
    """

    scores: Floats
    """Distinct scores, ascending."""
    ratings: Floats
    """Distinct ratings, ascending."""
    cells: NDArray[np.int64]
    """int64[rows]: rating index · number of scores + score index."""

    @classmethod
    def build(cls, scores: Floats, ratings: Floats) -> Correlation:
        """Sort scores and ratings, which must have equal length and be finite."""
        if len(scores) != len(ratings):
            raise SettingError(
                f"{len(scores)} scores, but {len(ratings)} ratings; give one rating per score"
            )
        if not (np.isfinite(scores).all() and np.isfinite(ratings).all()):
            raise SettingError("scores and ratings must be finite")
        distinct, x = np.unique(scores, return_inverse=True)
        levels, y = np.unique(ratings, return_inverse=True)
        return cls(distinct, levels, y.astype(np.int64) * len(distinct) + x)

    def __call__(self, weights: Floats | None = None) -> dict[str, float]:
        """Return the four coefficients; NaN where one side is constant."""
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
        """Return bootstrap intervals; groups (images) are resampled, not rows."""
        check_sampling(confidence, resamples)
        samples = self.draw(groups, resamples=resamples, seed=seed)
        edges = [(1 - confidence) / 2, (1 + confidence) / 2]
        found = {}
        for name, value in self().items():
            drawn = samples[name]
            kept = drawn[np.isfinite(drawn)]  # a sample may be constant
            low, high = np.quantile(kept, edges) if len(kept) else (np.nan, np.nan)
            found[name] = Interval(value, float(low), float(high), confidence)
        return found

    def draw(
        self, groups: NDArray[np.integer], *, resamples: int = RESAMPLES, seed: int = 0
    ) -> dict[str, Floats]:
        """Return the coefficients of bootstrap samples, float64[resamples] each.

        Samples depend on the seed and the number of groups only.
        """
        check_sampling(0.95, resamples)
        rng = np.random.default_rng(seed)
        count = int(groups.max()) + 1
        share = np.full(count, 1 / count)
        samples = [self(rng.multinomial(count, share)[groups]) for _ in range(resamples)]
        return {name: np.asarray([sample[name] for sample in samples]) for name in COEFFICIENTS}


def _correlate_table(table: Floats, scores: Floats, ratings: Floats) -> dict[str, float]:
    """Return coefficients of a table of counts, float64[distinct ratings, distinct scores]."""
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


def _scipy_stats() -> ModuleType:
    try:
        from scipy import stats
    except ImportError:
        raise MissingExtraError.to("correlate", package="SciPy", extra="meta") from None
    return stats


def _correlate_pairs(scores: Floats, ratings: Floats) -> dict[str, float]:
    stats = _scipy_stats()
    if scores.min() == scores.max() or ratings.min() == ratings.max():
        return dict.fromkeys(COEFFICIENTS, float("nan"))
    return {
        "tau_b": float(stats.kendalltau(scores, ratings, variant="b").statistic),
        "tau_c": float(stats.kendalltau(scores, ratings, variant="c").statistic),
        "spearman": float(stats.spearmanr(scores, ratings).statistic),
        "pearson": float(stats.pearsonr(scores, ratings).statistic),
    }


def correlation_p(scores: Floats, ratings: Floats) -> dict[str, float]:
    """Return two-sided p-values of Pearson's r, Spearman's ρ and Kendall's τ-b.

    Spearman's is exact for up to 8 items, where SciPy's approximation is far too small.
    """
    stats = _scipy_stats()
    if len(scores) < 3 or scores.min() == scores.max() or ratings.min() == ratings.max():
        return dict.fromkeys(("pearson", "spearman", "tau_b"), float("nan"))
    return {
        "pearson": float(stats.pearsonr(scores, ratings).pvalue),
        "spearman": _spearman_p(scores, ratings),
        "tau_b": float(stats.kendalltau(scores, ratings, variant="b").pvalue),
    }


def _spearman_p(scores: Floats, ratings: Floats) -> float:
    """Return the exact two-sided p-value of few items, else SciPy's approximation."""
    stats = _scipy_stats()
    if len(scores) > _ALL_ORDERS:
        return float(stats.spearmanr(scores, ratings).pvalue)
    ranks, others = stats.rankdata(scores), stats.rankdata(ratings)
    orders = ranks[np.asarray(list(permutations(range(len(ranks)))))]
    products = np.abs(orders @ (others - others.mean()))
    found = abs(float(ranks @ (others - others.mean())))
    return float(np.mean(products >= found - 1e-9))


def williams_test(first: Floats, second: Floats, human: Floats) -> float:
    """Return the two-sided p-value of Williams' test of two correlations with human ratings.

    The three correlations (Pearson) are of the same rows: Williams 1959, used for metrics by Graham
    and Baldwin (EMNLP 2014). NaN with fewer than four rows.
    """
    stats = _scipy_stats()
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

    Scores are standardized first, so that the rows of two metrics can be exchanged in permutations.
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
