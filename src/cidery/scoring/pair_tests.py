"""Tests of every pair of systems by every metric, and their correction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal, TypeAlias

import numpy as np

from cidery.errors import SettingError
from cidery.runtime import current_progress
from cidery.scoring.ranking import PairTests
from cidery.scoring.score_table import Resampling, ScoreTable
from cidery.statistics import (
    RESAMPLES,
    Floats,
    PairedTest,
    RunScores,
    RunVariance,
    check_margin,
    check_sampling,
    find_detectable,
    holm,
    paired_test,
    paired_test_of_runs,
    pool_run_variance,
)

Tests: TypeAlias = Mapping[str, PairTests]
"""metric -> (system, other system) -> test"""
Correction: TypeAlias = Literal["metric", "all"]
"""Comparisons that Holm's method corrects together: those by one metric, or all."""
Drawn: TypeAlias = Mapping[str, Mapping[str, RunScores]]
"""system -> metric -> scores on all images and on bootstrap samples"""


def pool_runs(drawn: Drawn, metric: str) -> RunVariance | None:
    """Return the variance over the runs of all systems; None if each has one run."""
    return pool_run_variance([found[metric] for found in drawn.values()])


@dataclass(frozen=True)
class Sampling:
    """Settings of the bootstrap and of the tests."""

    confidence: float = 0.95
    resamples: int = RESAMPLES
    seed: int = 0
    correct: Correction = "metric"
    margin: float | None = None

    def __post_init__(self) -> None:
        check_sampling(self.confidence, self.resamples)
        check_margin(self.margin)
        if self.correct not in ("metric", "all"):
            raise SettingError(f'correct is "metric" or "all", not {self.correct!r}')

    def describe_bootstrap(self) -> dict[str, Any]:
        """Return the arguments of bootstrap intervals."""
        return {"confidence": self.confidence, "resamples": self.resamples, "seed": self.seed}

    def draw(self, tables: Mapping[str, ScoreTable]) -> Drawn:
        """Draw bootstrap samples of the images, the same for all systems; metrics share rows."""
        drawn = {}
        for system, table in tables.items():
            sums: dict[int, Floats] = {}
            found = {}
            for label, source in table.resampling.items():
                if id(source.rows) not in sums:
                    sums[id(source.rows)] = source.draw(self.resamples, self.seed)
                found[label] = source.score_runs(sums[id(source.rows)])
            drawn[system] = found
        return drawn

    def test_pairs(self, tables: Mapping[str, ScoreTable], drawn: Drawn) -> Tests:
        """Test every pair of systems by every metric."""
        if len(tables) < 2:
            return {}
        tests: dict[str, dict[tuple[str, str], PairedTest]] = {}
        labels = list(next(iter(tables.values())).corpus)
        pairs = list(combinations(tables, 2))
        progress = current_progress()
        for place, label in enumerate(labels):
            assumed = pool_runs(drawn, label)
            tests[label] = found = {}
            for number, (one, other) in enumerate(pairs):
                progress("testing differences", (place + number / len(pairs)) / len(labels))
                found[one, other] = self.test(
                    (tables[one].resampling[label], drawn[one][label]),
                    (tables[other].resampling[label], drawn[other][label]),
                    assumed,
                    is_grouped=len(tables[one].resampling[label].rows) < tables[one].image_count,
                )
        return tests

    def test(
        self,
        first: tuple[Resampling, RunScores],
        second: tuple[Resampling, RunScores],
        assumed: RunVariance | None,
        *,
        is_grouped: bool = False,
    ) -> PairedTest:
        """Test two systems.

        Args:
            first: source and scores of a system.
            second: of the other one.
            assumed: variance over runs of a system with one run.
            is_grouped: rows are of groups of images, as in streams.
        """
        (one, scores), (other, other_scores) = first, second
        values = one.score_images(), other.score_images()
        if assumed is not None:
            test = paired_test_of_runs(
                scores,
                other_scores,
                values,
                confidence=self.confidence,
                margin=self.margin,
                assumed=assumed,
            )
        else:
            test = paired_test(
                one.rows,
                other.rows,
                one.pool,
                values,
                **self.describe_bootstrap(),
                margin=self.margin,
                samples=(scores.samples[:, 0], other_scores.samples[:, 0]),
            )
        if one.lower_is_better:
            test = replace(test, wins=1 - test.wins)
        if len(one.rows) == 1:
            test = replace(test, low=np.nan, high=np.nan, p_bootstrap=1.0)
        if is_grouped:
            test = replace(test, effect=np.nan, wins=np.nan, paired_images=0)
        return test

    def adjust(self, groups: Mapping[str, Tests]) -> dict[str, Tests]:
        """Correct p-values by Holm's method, those of a metric or all of these tests together."""
        families: dict[str, list[tuple[str, str, tuple[str, str]]]] = {}
        for name, tests in groups.items():
            for label, pairs in tests.items():
                family = families.setdefault(label if self.correct == "metric" else "", [])
                family += [(name, label, pair) for pair in pairs]
        adjusted: dict[str, dict[str, dict[tuple[str, str], PairedTest]]] = {
            name: {label: {} for label in tests} for name, tests in groups.items()
        }
        for family in families.values():
            tests_of = [groups[name][label][pair] for name, label, pair in family]
            count = sum(not np.isnan(test.p) for test in tests_of)
            level = (1 - self.confidence) / max(count, 1)
            found = holm([test.p for test in tests_of])
            margins = [test.p_equivalence for test in tests_of]
            within = holm([np.nan if p is None else p for p in margins])
            for (name, label, pair), test, p, p_within in zip(
                family, tests_of, found, within, strict=True
            ):
                adjusted[name][label][pair] = replace(
                    test,
                    adjusted_p=p,
                    detectable=find_detectable(test.parts, 1 - level),
                    p_equivalence=None if test.p_equivalence is None else p_within,
                )
        return adjusted  # type: ignore[return-value]


def compare_rows(
    first: Resampling,
    second: Resampling,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> PairedTest:
    """Test two systems on the same images; a slice's samples are those of all images."""
    both = [(source, source.score_runs(source.draw(resamples, seed))) for source in (first, second)]
    assumed = pool_run_variance([scores for _, scores in both])
    return Sampling(confidence, resamples, seed).test(both[0], both[1], assumed)


def count_family(tests: Tests, correct: Correction) -> int:
    """Return the number of comparisons that are corrected together, by the largest family."""
    counts = [sum(not np.isnan(t.p) for t in pairs.values()) for pairs in tests.values()]
    return sum(counts) if correct == "all" else max(counts, default=0)
