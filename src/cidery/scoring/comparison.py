"""compare(): several systems on the same images, with tests of their differences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from cidery.corpus import ALL, Candidates, Missing, References, SlicesLike
from cidery.errors import SettingError
from cidery.scoring.differences import Differences, choose_explained, find_differences
from cidery.scoring.evaluation import Evaluation
from cidery.scoring.pipeline import Pipeline, PipelineLike, PipelineSettings
from cidery.scoring.score_table import Resampling, ScoreTable
from cidery.scoring.segmentation import SegmentersLike, find_flips
from cidery.scoring.slice_scores import SliceMode, SliceTables
from cidery.statistics import RESAMPLES, PairedTest, holm, paired_test
from cidery.tables import Column, Table, Tabular, format_p, without_nan

if TYPE_CHECKING:
    from typing_extensions import Unpack

Tests: TypeAlias = Mapping[str, Mapping[tuple[str, str], PairedTest]]
"""metric -> (system, other system) -> test"""


@dataclass(frozen=True, eq=False)
class Comparison(Tabular):
    """Several systems on the same images, metric by metric."""

    tables: Mapping[str, ScoreTable]
    """system -> its scores"""
    tests: Tests
    resamples: int
    seed: int
    slices: Mapping[str, Tests] | None = field(default=None, repr=False)
    """slice -> its tests, where `by` was given; `tables` have its scores"""
    why: Mapping[str, Mapping[tuple[str, str], Differences]] | None = field(
        default=None, repr=False
    )
    """metric -> (system, other system) -> differences by pieces and images, with `why`"""
    flips: Mapping[str, Mapping[tuple[str, str], Sequence[str]]] | None = None
    """metric -> pair -> tokenizers under which the other system is better, or both are equal, where
    `segmenters` was given; such a difference has `adjusted_p` 1"""

    @property
    def differences(self) -> list[Differences]:
        """Differences by metric and pair of systems; empty without `why`."""
        return [found for pairs in (self.why or {}).values() for found in pairs.values()]

    @property
    def note(self) -> str:
        """Description of the tests and of the correction of p-values."""
        count = _count_tests(self.tests)
        holm_note = (
            f"p is Holm-corrected for the {count} comparisons made here"
            if count > 1
            else "one comparison was made, so p needs no correction"
        )
        if self.slices is not None:
            by_slice = sum(map(_count_tests, self.slices.values()))
            holm_note = (
                f"p is Holm-corrected: that of all images for {count} comparison"
                f"{'s' * (count != 1)}, that of slices for the {by_slice} of slices"
            )
        if self.flips is not None:
            holm_note += f". {self._describe_flips()}"
        marks = "".join(f"{note}. " for note in next(iter(self.tables.values())).notes)
        marks += "".join(f"{note}. " for note in self._describe_unpaired())
        return marks + (
            f"paired permutation test and paired bootstrap, {self.resamples} samples, seed "
            f"{self.seed}; {holm_note}. A large p means that no difference was found, not that "
            "there is none."
        )

    def _describe_unpaired(self) -> list[str]:
        """Return the comparisons in which images lack a score of either system."""
        count = next(iter(self.tables.values())).image_count
        return [
            f"effect and wins by {metric} of {one} and {other} are of the {test.paired_images} "
            f"images, out of {count}, that both have a score for"
            for metric, pairs in self.tests.items()
            for (one, other), test in pairs.items()
            if test.paired_images < count
        ]

    def _describe_flips(self) -> str:
        """Describe the differences that depend on the segmenter."""
        listed = ", ".join(next(iter(self.tables.values())).by_segmenter or {})
        flipped = [
            f"{metric} of {one} and {other} ({', '.join(tokenizers)})"
            for metric, pairs in (self.flips or {}).items()
            for (one, other), tokenizers in pairs.items()
        ]
        if not flipped:
            return f"The ranking is the same under all segmenters ({listed})"
        return (
            f"The ranking depends on the segmenter, so p is 1: {'; '.join(flipped)}; scored under "
            f"{listed}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the captions' scores, ready for JSON."""
        content = _describe(self.tables, self.tests)
        if self.flips is not None:
            content["segmenters"] = {
                name: {key: dict(found) for key, found in (table.by_segmenter or {}).items()}
                for name, table in self.tables.items()
            }
            content["flips"] = {
                metric: [
                    {"systems": list(pair), "tokenizers": list(t)} for pair, t in pairs.items()
                ]
                for metric, pairs in self.flips.items()
            }
        content["signatures"] = dict(next(iter(self.tables.values())).signatures)
        if self.slices is not None:
            first = _slices_of(next(iter(self.tables.values())))
            content["slices"] = {
                "by": first.by,
                "mode": first.mode,
                "slices": {
                    name: _describe(tables, tests)
                    | ({"signatures": dict(first[name].signatures)} if self._is_separate else {})
                    for name, (tables, tests) in self._parts().items()
                    if name != ALL
                },
            }
        if self.why is not None:
            content["why"] = {
                metric: [found.to_dict() for found in pairs.values()]
                for metric, pairs in self.why.items()
            }
        return without_nan(content | {"note": self.note})  # type: ignore[no-any-return]

    def table(self, digits: int = 4) -> Table:
        """Return a row per metric, slice and pair of systems; differences are below."""
        first = next(iter(self.tables.values()))
        by_slice = [] if self.slices is None else [Column("slice", align="left"), Column("images")]
        columns = [
            Column("metric", lambda row: first.mark(row["metric"]), align="left", merge=True),
            *by_slice,
            *(Column(name, f".{digits}f", key=f"score {name}") for name in self.tables),
            Column("diff", f"{{pair}}{{difference:+.{digits}f}}"),
            Column("interval", f"[{{low:+.{digits}f}}, {{high:+.{digits}f}}]"),
            Column("p", lambda row: format_p(row["adjusted_p"])),
            *(Column("effect", "+.2f"), Column("wins", "{percent:.0f} %")),
        ]
        differences = [record for found in self.differences for record in found.to_records()]
        return Table(
            columns,
            [row for metric in self.tests for row in self._list_rows(metric)],
            notes=[*([] if first.slices is None else [first.slices.note]), self.note],
            signatures=list(first.signatures.values()),
            records=differences or self._list_records(),
            below=[found.table(digits) for found in self.differences],
        )

    def _list_rows(self, metric: str) -> Iterator[dict[str, Any]]:
        """Yield a row per slice and pair; the first of a slice has its scores."""
        for name, (tables, tests) in self._parts().items():
            head: dict[str, Any] = {"slice": name, "images": _count(tables)}
            head |= {f"score {system}": table.corpus[metric] for system, table in tables.items()}
            for (one, other), test in tests[metric].items():
                pair = f"{one} - {other}: " if len(tables) > 2 else ""
                yield {
                    "metric": metric,
                    **head,
                    **vars(test),
                    "pair": pair,
                    "percent": 100 * test.wins,
                }
                head = {}

    def _list_records(self) -> list[dict[str, Any]]:
        """Return a row per metric and pair of systems."""
        return [
            {
                **({} if self.slices is None else {"slice": name, "images": _count(tables)}),
                "metric": metric,
                "system": one,
                "other": other,
                "score": tables[one].corpus[metric],
                "other_score": tables[other].corpus[metric],
                **vars(test),
                "signature": tables[one].signatures[metric],
            }
            for name, (tables, tests) in self._parts().items()
            for metric, pairs in tests.items()
            for (one, other), test in pairs.items()
        ]

    @property
    def _is_separate(self) -> bool:
        return _slices_of(next(iter(self.tables.values()))).mode == "separate"

    def _parts(self) -> dict[str, tuple[Mapping[str, ScoreTable], Tests]]:
        """Return the scores and tests of all images, then those of each slice."""
        parts: dict[str, tuple[Mapping[str, ScoreTable], Tests]] = {ALL: (self.tables, self.tests)}
        for name, tests in (self.slices or {}).items():
            parts[name] = (
                {system: _slices_of(table)[name] for system, table in self.tables.items()},
                tests,
            )
        return parts


def _slices_of(table: ScoreTable) -> SliceTables:
    assert table.slices is not None  # compare() sees to it
    return table.slices


def _describe(tables: Mapping[str, ScoreTable], tests: Tests) -> dict[str, Any]:
    return {
        "images": _count(tables),
        "scores": {name: dict(table.corpus) for name, table in tables.items()},
        "tests": {
            metric: [{"systems": list(pair), **vars(test)} for pair, test in pairs.items()]
            for metric, pairs in tests.items()
        },
    }


def _count(tables: Mapping[str, ScoreTable]) -> int:
    return next(iter(tables.values())).image_count


def _count_tests(tests: Tests) -> int:
    return sum(map(len, tests.values()))


def compare(
    systems: Mapping[str, Candidates],
    references: References,
    metrics: PipelineLike = None,
    *,
    missing: Missing = "error",
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
    segmenters: SegmentersLike | None = None,
    by: SlicesLike | None = None,
    slices: SliceMode = "whole",
    why: bool = False,
    references_name: str = "references",
    by_name: str | None = None,
    **settings: Unpack[PipelineSettings],
) -> Comparison:
    """Compare systems on the same images: every pair, every metric and, with `by`, every slice.

    Arguments are those of `score`, and of the resampling. `missing="skip"` ignores images that a
    system does not describe. With `why`, `differences` has the n-grams (CIDEr), tuples (SPICE) or,
    without such a metric, words, and the images on which two systems differ most. With
    `segmenters`, a difference whose sign depends on the segmenter has p = 1.

    ```python
    comparison = cidery.compare({"ours": a, "theirs": b}, references)
    comparison.tests["cider-d"]["ours", "theirs"].p_permutation
    ```
    """
    if len(systems) < 2:
        raise SettingError("compare needs at least two systems")
    pipeline = Pipeline.choose(metrics, **settings)
    if why:
        choose_explained(pipeline.metrics)
    evaluation = Evaluation.run(
        systems,
        references,
        pipeline,
        missing=missing,
        segmenters=segmenters,
        by=by,
        slices=slices,
        references_name=references_name,
        by_name=by_name,
    )
    return compare_evaluation(evaluation, Sampling(confidence, resamples, seed), why)


def compare_evaluation(evaluation: Evaluation, sampling: Sampling, why: bool = False) -> Comparison:
    """Test every pair of systems that were scored; a single system has no tests."""
    tables = evaluation.tables
    first = next(iter(tables.values()))
    tests = _correct({ALL: sampling.test_pairs(tables)})[ALL]
    reasons = (
        find_differences(evaluation.scorer, evaluation.corpora, tables, **vars(sampling))
        if why
        else None
    )
    flips = None if first.by_segmenter is None else _find_flips(tables, tests)
    by_slice = None
    if first.slices is not None:
        by_slice = _correct(
            {
                name: sampling.test_pairs({s: _slices_of(t)[name] for s, t in tables.items()})
                for name in first.slices
            }
        )
    if flips:
        tests = _refuse(tests, flips)
    return Comparison(tables, tests, sampling.resamples, sampling.seed, by_slice, reasons, flips)


Flips: TypeAlias = dict[str, dict[tuple[str, str], list[str]]]


def _find_flips(tables: Mapping[str, ScoreTable], tests: Tests) -> Flips:
    scores = {name: table.corpus for name, table in tables.items()}
    by_segmenter = {name: table.by_segmenter or {} for name, table in tables.items()}
    found: Flips = {}
    for metric, pairs in tests.items():
        for pair in pairs:
            flipped = find_flips(scores, by_segmenter, metric, pair)
            if flipped:
                found.setdefault(metric, {})[pair] = flipped
    return found


def _refuse(tests: Tests, flips: Flips) -> Tests:
    """Call no difference significant whose sign depends on the segmenter."""
    return {
        metric: {
            pair: replace(test, adjusted_p=1.0) if pair in flips.get(metric, {}) else test
            for pair, test in pairs.items()
        }
        for metric, pairs in tests.items()
    }


@dataclass(frozen=True)
class Sampling:
    """Settings of the bootstrap and of the permutation test."""

    confidence: float
    resamples: int
    seed: int

    def test_pairs(self, tables: Mapping[str, ScoreTable]) -> Tests:
        """Test every pair of systems by every metric."""
        if len(tables) < 2:
            return {}
        labels = next(iter(tables.values())).corpus
        return {
            label: {
                (one, other): self._test(
                    tables[one].resampling[label], tables[other].resampling[label]
                )
                for one, other in combinations(tables, 2)
            }
            for label in labels
        }

    def _test(self, first: Resampling, second: Resampling) -> PairedTest:
        return compare_rows(first, second, self.confidence, self.resamples, self.seed)


def compare_rows(
    first: Resampling,
    second: Resampling,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> PairedTest:
    """Test two systems on the same images; a slice's samples are those of all images."""
    drawn = None
    if first.places is not None:
        drawn = first.draw(resamples, seed), second.draw(resamples, seed)
    test = paired_test(
        first.rows,
        second.rows,
        first.pool,
        (first.pool(first.rows), second.pool(second.rows)),
        confidence=confidence,
        resamples=resamples,
        seed=seed,
        sums=drawn,
    )
    if first.lower_is_better:
        test = replace(test, wins=1 - test.wins)
    return (
        replace(test, low=np.nan, high=np.nan, p_bootstrap=1.0) if first.is_single_image else test
    )


def _correct(groups: Mapping[str, Tests]) -> dict[str, Tests]:
    """Correct p-values by Holm's method for all these tests."""
    tests = [t for tests in groups.values() for pairs in tests.values() for t in pairs.values()]
    adjusted = iter(holm([test.p_permutation for test in tests]))
    return {
        name: {
            label: {pair: replace(test, adjusted_p=next(adjusted)) for pair, test in pairs.items()}
            for label, pairs in tests.items()
        }
        for name, tests in groups.items()
    }
