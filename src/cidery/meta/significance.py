"""Significance tests of differences between metrics."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations

from cidery.meta.protocols.base import Verdict
from cidery.meta.settings import Settings
from cidery.statistics import paired_test, williams_test


def compare_verdicts(
    verdicts: Mapping[str, Verdict], settings: Settings
) -> dict[str, dict[str, float]]:
    """Return p-values of all pairs of metrics."""
    found: dict[str, dict[str, float]] = {label: {} for label in verdicts}
    for one, other in permutations(verdicts, 2):
        first, second = verdicts[one], verdicts[other]
        pool = first.pool
        if first.rows is None or second.rows is None or pool is None:
            continue
        test = paired_test(
            first.rows,
            second.rows,
            pool,
            (pool(first.rows), pool(second.rows)),
            resamples=settings.resamples or Settings.resamples,
            seed=settings.seed,
        )
        found[one][f"p_permutation_{other}"] = test.p
        if first.scores is not None and second.scores is not None and first.human is not None:
            p = williams_test(first.scores, second.scores, first.human)
            found[one][f"p_williams_{other}"] = p
    return found
