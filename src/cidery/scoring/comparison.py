"""compare(): several systems on the same images, with tests of their differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from statistics import median
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from cidery.corpus import ALL, Missing, Notice, References, SlicesLike, SystemCaptions
from cidery.errors import InputError, MismatchError, SettingError
from cidery.runtime import split_progress
from cidery.scoring.differences import Differences, choose_explained, find_differences
from cidery.scoring.evaluation import Evaluation
from cidery.scoring.pair_tests import Correction, Sampling, Tests, count_family, pool_runs
from cidery.scoring.pipeline import Pipeline, PipelineLike, PipelineSettings
from cidery.scoring.ranking import (
    MAX_CLUSTER_LENGTH,
    RankedSystem,
    describe_disagreement,
    rank_systems,
)
from cidery.scoring.score_table import ScoreTable, join_runs
from cidery.scoring.segmentation import SegmentersLike, find_flips
from cidery.scoring.slice_scores import SliceMode, SliceTables
from cidery.statistics import (
    RESAMPLES,
    Interval,
    PairedTest,
    find_interval,
    plan_comparison,
)
from cidery.tables import (
    Column,
    ScoreFormat,
    Table,
    Tabular,
    format_p,
    join_sentences,
    without_nan,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

Intervals: TypeAlias = Mapping[str, Mapping[str, Interval]]
"""system -> metric -> interval"""
SCORING = 0.8
"""Share of the duration of `compare` for scores, for progress; the rest is for tests."""
MATRIX_SYSTEMS = 20
"""Most systems for which a ranking shows every pair."""


@dataclass(frozen=True, eq=False)
class Comparison(Tabular):
    """Several systems on the same images, metric by metric."""

    tables: Mapping[str, ScoreTable]
    """system -> its scores"""
    tests: Tests
    sampling: Sampling
    intervals: Mapping[str, Intervals] = field(repr=False)
    """`(all)` or slice -> system -> metric -> interval"""
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
    def notices(self) -> tuple[Notice, ...]:
        """Notices about the captions of all systems and the references."""
        return tuple(dict.fromkeys(n for table in self.tables.values() for n in table.notices))

    @property
    def rankings(self) -> dict[str, list[RankedSystem]]:
        """Metric -> systems, the best first."""
        return {metric: self._rank(metric, ALL) for metric in self._first.corpus}

    def _rank(self, metric: str, part: str) -> list[RankedSystem]:
        tables, tests = self._parts()[part]
        return rank_systems(
            {name: table.corpus[metric] for name, table in tables.items()},
            {name: self.intervals[part][name].get(metric) for name in tables},
            {name: table.spread_over_runs(metric) for name, table in tables.items()},
            tests.get(metric, {}),
            lower_is_better=metric in self.lower_is_better,
        )

    @property
    def _first(self) -> ScoreTable:
        return next(iter(self.tables.values()))

    @property
    def lower_is_better(self) -> frozenset[str]:
        """Metrics for which lower is better."""
        return frozenset(k for k, s in self._first.resampling.items() if s.lower_is_better)

    @property
    def family_size(self) -> int:
        """Number of comparisons of all images that are corrected together."""
        return count_family(self.tests, self.sampling.correct)

    @property
    def note(self) -> str:
        """Description of the tests and of the correction of p-values."""
        return ". ".join(note[:1].upper() + note[1:] for note in self.notes) + "."

    @property
    def notes(self) -> list[str]:
        """Descriptions of the tests, the correction, runs, power, and disagreements of metrics."""
        return self._list_notes(self._first.format_scores())

    def _list_notes(self, form: ScoreFormat) -> list[str]:
        return [
            *self._first.notes,
            *self._describe_unpaired(),
            self._describe_method(),
            self._describe_family(),
            *self._describe_runs(),
            *([] if self.flips is None else [self._describe_flips()]),
            "a large p means that no difference was found, not that there is none",
            *self._describe_power(form),
            *describe_disagreement(self.tests, self.lower_is_better),
        ]

    def _describe_method(self) -> str:
        found = [test for pairs in self.tests.values() for test in pairs.values()]
        methods = {test.method for test in found}
        sampled = f"{self.sampling.resamples} samples, seed {self.sampling.seed}"
        names = []
        if methods & {"exact", "permutation", "importance sampling", "none"}:
            small = " (small p: importance sampling)" if "importance sampling" in methods else ""
            names.append(f"paired permutation test{small} and paired bootstrap")
        if "images and runs" in methods:
            names.append("test over images and runs by Student's distribution (Banerjee)")
        return f"{'; '.join(names)}; {sampled}"

    def _describe_family(self) -> str:
        if self.slices is not None:
            each = "by each metric" if self.sampling.correct == "metric" else "made here"
            return (
                f"p-values are Holm-corrected for the comparisons {each}, those of slices "
                "separately from those of all images"
            )
        if self.family_size < 2:
            return "p-values are not corrected, since there is one comparison by each metric"
        each = "by each metric" if self.sampling.correct == "metric" else "made here"
        return f"p-values are Holm-corrected for the {self.family_size} comparisons {each}"

    def _describe_runs(self) -> list[str]:
        runs = {name: max(1, len(table.runs)) for name, table in self.tables.items()}
        single = [name for name, count in runs.items() if count == 1]
        if len(single) == len(runs):
            return ["one run per system: intervals and tests cover images, not training runs"]
        counts = ", ".join(f"{count} of {name}" for name, count in runs.items() if count > 1)
        notes = [
            f"mean ± standard deviation over runs ({counts}); intervals and tests cover images and "
            "runs"
        ]
        if single:
            notes.append(
                f"{', '.join(single)} {'has' if len(single) == 1 else 'have'} one run: the "
                "variance over runs is assumed to be that of the others"
            )
        return notes

    def _describe_power(self, form: ScoreFormat) -> list[str]:
        """Return the differences that the images could have shown."""
        found = {
            metric: median(known)
            for metric, pairs in self.tests.items()
            if (known := [t.detectable for t in pairs.values() if not np.isnan(t.detectable)])
        }
        if not found:
            return []
        listed = ", ".join(
            f"{metric} {form.write(metric, value)}" for metric, value in found.items()
        )
        pairs = ", median of the pairs" if len(self.tables) > 2 else ""
        return [f"smallest detectable differences (power 80 %){pairs}: {listed}"]

    def _describe_unpaired(self) -> list[str]:
        """Return the comparisons in which images lack a score of either system."""
        count = _count(self.tables)
        grouped = any(test.paired_images == 0 for p in self.tests.values() for test in p.values())
        if grouped and not self._first.each:
            return ["effect and wins are not computed for streams"]
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

    def to_dict(self, *, flat: bool = False) -> dict[str, Any]:
        """Return everything but the captions' scores, ready for JSON.

        Args:
            flat: return numbers only, by names for experiment trackers: `ours/cider-d`, its
                interval `ours/cider-d_low` and `ours/cider-d_high`, `ours/cider-d_sd` over runs,
                the differences `ours - theirs/cider-d` with `low`, `high` and the adjusted `p`, and
                the same with `slices/NAME/` before. Undefined values are left out.
        """
        if flat:
            return self._flatten()
        content = self._describe(ALL)
        content |= {"correct": self.sampling.correct, "margin": self.sampling.margin}
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
        content["signatures"] = self._sign(self._first)
        if self.slices is not None:
            first = _slices_of(self._first)
            content["slices"] = {
                "by": first.by,
                "mode": first.mode,
                "slices": {
                    name: self._describe(name)
                    | ({"signatures": self._sign(first[name])} if self._is_separate else {})
                    for name in self.slices
                },
            }
        if self.notices:
            content["notices"] = [notice.to_dict() for notice in self.notices]
        if self.why is not None:
            content["why"] = {
                metric: [found.to_dict() for found in pairs.values()]
                for metric, pairs in self.why.items()
            }
        return without_nan(content | {"note": self.note})  # type: ignore[no-any-return]

    def _flatten(self) -> dict[str, float]:
        found: dict[str, float] = {}
        for part, (tables, tests) in self._parts().items():
            before = "" if part == ALL else f"slices/{part}/"
            found[f"{before}images"] = _count(tables)
            for name, table in tables.items():
                scores = replace(table, slices=None).to_dict(self.intervals[part][name], flat=True)
                del scores["images"]
                found |= {f"{before}{name}/{key}": value for key, value in scores.items()}
            for metric, pairs in tests.items():
                for (one, other), test in pairs.items():
                    key = f"{before}{one} - {other}/{metric}"
                    found |= {key: test.difference, f"{key}_low": test.low}
                    found |= {f"{key}_high": test.high, f"{key}_p": test.adjusted_p}
        return {key: value for key, value in found.items() if np.isfinite(value)}

    def _describe(self, part: str) -> dict[str, Any]:
        """Return the scores and tests of all images or of a slice."""
        tables, tests = self._parts()[part]
        content: dict[str, Any] = {
            "images": _count(tables),
            "scores": {name: dict(table.corpus) for name, table in tables.items()},
            "tests": {
                metric: [
                    {"systems": list(pair), **_describe_test(test)} for pair, test in pairs.items()
                ]
                for metric, pairs in tests.items()
            },
        }
        if any(table.runs for table in tables.values()):
            content["runs"] = {
                name: [dict(run.corpus) for run in table.runs or (table,)]
                for name, table in tables.items()
            }
        if len(tables) > 2:
            content["rankings"] = {
                metric: [asdict(one) for one in self._rank(metric, part)] for metric in tests
            }
        return content

    def _sign(self, table: ScoreTable) -> dict[str, str]:
        """Return the signatures of the metrics, without the number of a system's runs."""
        return dict((table.runs[0] if table.runs else table).signatures)

    def table(
        self, digits: int | None = None, *, pairs: bool | None = None, percent: bool = False
    ) -> Table:
        """Return a ranking by each metric or, of two systems, their differences.

        Args:
            digits: decimals. Default: 4, or 1 in percent.
            pairs: a row per pair of systems. Default: if there are two.
            percent: multiply scores and differences by 100; records have the scores themselves.
        """
        if pairs is None:
            pairs = len(self.tables) == 2
        form = self._first.format_scores(digits, percent)
        columns, rows = self._list_pairs(form) if pairs else self._list_rankings(form)
        differences = [record for found in self.differences for record in found.to_records()]
        by_slice = [] if self._first.slices is None else [self._first.slices.note]
        return Table(
            columns,
            rows,
            notes=[
                *by_slice,
                *form.describe(self._first.corpus),
                *([] if pairs else self._explain_ranking()),
                *self._list_notes(form),
            ],
            signatures=list(self._sign(self._first).values()),
            records=differences or self._list_records(),
            below=[found.table(form) for found in self.differences],
        )

    def paper_table(
        self, digits: int | None = None, *, percent: bool = True, baseline: str | None = None
    ) -> Table:
        """Return the table for a paper: systems by metrics, the best bold, clusters superscript.

        Args:
            digits: decimals. Default: 1 of scores times 100, else 4.
            percent: multiply scores by 100; records have the scores themselves.
            baseline: system that comes first; the others show their difference from it, with a star
                where it is significant.

        ```python
        print(comparison.paper_table(baseline="theirs").to_latex())
        ```
        """
        if baseline is not None and baseline not in self.tables:
            known = ", ".join(self.tables)
            raise SettingError(f"the baseline {baseline!r} is not a system; there are {known}")
        metrics = list(self._first.corpus)
        form = self._first.format_scores(digits, percent)
        ranges = self._shows_ranges
        rows: list[dict[str, Any]] = []
        for part, (tables, tests) in self._parts().items():
            ranked = {m: {one.system: one for one in self._rank(m, part)} for m in metrics}
            for system in sorted(tables, key=lambda name: name != baseline):
                own = {metric: ranked[metric][system] for metric in metrics}
                rows.append({"slice": part, "system": system, "tests": tests, **own})

        def column(metric: str) -> Column:
            def write(row: Any) -> str:
                one = row[metric]
                text = _write_score(form, metric, one.score, one.spread)
                difference, _ = _find_difference(row["tests"][metric], one.system, baseline)
                return (
                    text
                    if difference is None
                    else f"{text} ({form.write(metric, difference, '+')})"
                )

            def sign(row: Any) -> str:
                one = row[metric]
                if baseline is not None:
                    _, test = _find_difference(row["tests"][metric], one.system, baseline)
                    return "*" if test and test.is_different else ""
                return str(one.rank_range if ranges else one.cluster)

            return Column(
                self._first.mark(metric),
                write,
                key=metric,
                align="right",
                bold=lambda row: row[metric].rank == 1,
                superscript=sign,
            )

        by_slice = [] if self.slices is None else [Column("slice", align="left", merge=True)]
        columns = [*by_slice, Column("system", align="left"), *map(column, metrics)]
        return Table(
            columns,
            rows,
            caption=self._caption(form, baseline),
            signatures=list(self._sign(self._first).values()),
            records=self._list_records(),
            below=[found.table(form) for found in self.differences],
        )

    def _caption(self, form: ScoreFormat, baseline: str | None) -> str:
        level = f"at the level {1 - self.sampling.confidence:.2g}"
        superscripts = (
            f"{self._explain_clusters()} {level}"
            if baseline is None
            else f"in parentheses: differences from {baseline}, * where significant {level}"
        )
        return join_sentences(
            [
                f"scores on {_count(self.tables)} images",
                *form.describe(self._first.corpus),
                *self._first.notes,
                f"bold: no system is significantly better; {superscripts}",
                self._describe_method(),
                self._describe_family(),
                *self._describe_runs(),
            ]
        )

    def to_markdown(self) -> str:
        """Return the table for a paper as Markdown, scores times 100."""
        return self.paper_table().to_markdown()

    def to_latex(self) -> str:
        """Return the table for a paper in LaTeX (booktabs), scores times 100."""
        return self.paper_table().to_latex()

    def _explain_ranking(self) -> list[str]:
        signs = (
            "; signs compare with the systems in the order of the ranking: > significantly better, "
            "< worse, = not told apart"
        )
        return [
            self._explain_clusters() + (signs if 1 < len(self.tables) <= MATRIX_SYSTEMS else "")
        ]

    def _explain_clusters(self) -> str:
        if self._shows_ranges:
            return (
                "ranks: from 1 + the number of systems that are significantly better to the number "
                "of those that are not significantly worse"
            )
        return "systems that share a letter were not told apart"

    @property
    def _shows_ranges(self) -> bool:
        """True if letters of clusters are too many for tables."""
        return any(
            len(one.cluster) > MAX_CLUSTER_LENGTH
            for part in self._parts()
            for metric in self._first.corpus
            for one in self._rank(metric, part)
        )

    def _list_rankings(self, form: ScoreFormat) -> tuple[list[Column], list[dict[str, Any]]]:
        """Return columns and rows of the rankings by metric and slice."""
        runs = any(table.runs for table in self.tables.values())
        interval = f"{100 * self.sampling.confidence:g} % interval"

        def write(key: str) -> Callable[[Any], str]:
            return lambda row: form.write(row["metric"], row[key])

        columns = [
            Column("metric", lambda row: self._first.mark(row["metric"]), align="left", merge=True),
            *self._slice_columns(),
            *(Column("#"), Column("system", align="left"), Column("score", write("score"))),
            *([Column("± sd", write("spread"), key="spread")] if runs else []),
            Column(
                interval, lambda row: form.write_interval(row["metric"], row["low"], row["high"])
            ),
            Column("ranks", key="rank_range", align="left")
            if self._shows_ranges
            else Column("cluster", align="left"),
        ]
        if 1 < len(self.tables) <= MATRIX_SYSTEMS:
            heads = " ".join(str(number % 10) for number in range(1, len(self.tables) + 1))
            columns.append(Column(heads, lambda row: " ".join(row["against"]), align="left"))
        rows = [
            {"metric": metric, "slice": part, "images": _count(tables), "#": place, **vars(one)}
            | {"rank_range": one.rank_range}
            for metric in self._first.corpus
            for part, (tables, _) in self._parts().items()
            for place, one in enumerate(self._rank(metric, part), 1)
        ]
        return columns, rows

    def _slice_columns(self) -> list[Column]:
        if self.slices is None:
            return []
        return [Column("slice", align="left", merge=True), Column("images", merge=True)]

    def _list_pairs(self, form: ScoreFormat) -> tuple[list[Column], list[dict[str, Any]]]:
        """Return columns and rows of the pairs by metric and slice."""
        two = len(self.tables) == 2
        names = ["system", "other"]
        scored = (
            [self._score_column(name) for name in self.tables]
            if two
            else [Column(name, align="left") for name in names]
        )
        verdict = [Column("verdict", align="left")] if self.sampling.margin is not None else []
        adjusted = self.slices is not None or self.family_size > 1
        columns = [
            Column("metric", lambda row: self._first.mark(row["metric"]), align="left", merge=True),
            *self._slice_columns(),
            *scored,
            Column(
                "diff",
                lambda row: form.write(row["metric"], row["difference"], "+"),
                key="difference",
            ),
            Column(
                "interval",
                lambda row: form.write_interval(row["metric"], row["low"], row["high"], "+"),
            ),
            Column("adjusted p" if adjusted else "p", lambda row: format_p(row["adjusted_p"])),
            Column("effect", "+.2f", detail=True),
            Column("wins", "{percent:.0f} %", detail=True),
            *verdict,
        ]
        rows = []
        for metric in self.tests:
            for name, (tables, tests) in self._parts().items():
                scores = {
                    f"score {system}": _write_score(
                        form, metric, table.corpus[metric], table.spread_over_runs(metric)
                    )
                    for system, table in tables.items()
                }
                rows += [
                    {
                        **{"metric": metric, "slice": name, "images": _count(tables)},
                        **scores,
                        **{"system": one, "other": other, "verdict": test.verdict},
                        "different": test.is_different,
                        **vars(test),
                        "percent": 100 * test.wins,
                    }
                    for (one, other), test in tests[metric].items()
                ]
        return columns, rows

    def _score_column(self, system: str) -> Column:
        """Return the column of one of two systems: bold where it is significantly better."""
        first = next(iter(self.tables))

        def is_better(row: Any) -> bool:
            higher = (row["difference"] > 0) == (system == first)
            return bool(row["different"]) and higher != (row["metric"] in self.lower_is_better)

        return Column(system, key=f"score {system}", align="right", bold=is_better)

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
                **_describe_test(test),
                "signature": self._sign(tables[one])[metric],
            }
            for name, (tables, tests) in self._parts().items()
            for metric, pairs in tests.items()
            for (one, other), test in pairs.items()
        ]

    def plan(self, difference: float) -> Table:
        """Return the numbers of images and runs that show a difference with a power of 80 %.

        They are computed from the variances found here, for the same corrections; runs are those of
        each system.

        ```python
        comparison.plan(0.01)
        ```
        """
        level = 1 - self.sampling.confidence
        runs = {name: max(1, len(table.runs)) for name, table in self.tables.items()}
        has_runs = max(runs.values()) > 1
        rows = []
        for metric, pairs in self.tests.items():
            together = self.tests if self.sampling.correct == "all" else {metric: pairs}
            family = count_family(together, self.sampling.correct)
            for (one, other), test in pairs.items():
                images, more_runs = plan_comparison(
                    test,
                    difference,
                    images=_count(self.tables),
                    runs=2 / (1 / runs[one] + 1 / runs[other]),
                    confidence=1 - level / max(family, 1),
                )
                rows.append(
                    {
                        **{"metric": metric, "system": one, "other": other},
                        **{"error": test.error, "detectable": test.detectable},
                        **{"images": images, "runs": more_runs},
                    }
                )
        columns = [
            Column("metric", merge=True),
            *(Column("system"), Column("other"), Column("error", ".4f")),
            *(Column("detectable", ".4f"), Column("images", _write_count("images"))),
            *([Column("runs", _write_count("runs"))] if has_runs else []),
        ]
        notes = [
            f"images: number that finds a difference of {difference:g} with a power of 80 %, at "
            "the variance found here; detectable: difference that these images find with this "
            "power",
            self._describe_family(),
        ]
        if has_runs:
            notes.append(
                f"runs: number of each system's runs, with {_count(self.tables)} images; "
                "unreachable: the other number is too small, however large this one"
            )
        return Table(columns, rows, notes=notes)

    @property
    def _is_separate(self) -> bool:
        return _slices_of(self._first).mode == "separate"

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


def _describe_test(test: PairedTest) -> dict[str, Any]:
    content = {name: value for name, value in vars(test).items() if name != "parts"}
    return content | {"run_error": test.run_error, "verdict": test.verdict}


def _write_score(form: ScoreFormat, metric: str, score: float, spread: float | None) -> str:
    text = form.write(metric, score)
    return text if spread is None or np.isnan(score) else f"{text} ± {form.write(metric, spread)}"


def _find_difference(
    tests: Mapping[tuple[str, str], PairedTest], system: str, baseline: str | None
) -> tuple[float | None, PairedTest | None]:
    """Return a system's difference from the baseline and its test; None where there is none."""
    if baseline is None or system == baseline:
        return None, None
    if (system, baseline) in tests:
        test = tests[system, baseline]
        return test.difference, test
    test = tests[baseline, system]
    return -test.difference, test


def _write_count(key: str) -> Any:
    def write(row: Mapping[str, Any]) -> str:
        count = row[key]
        if np.isnan(count):
            return "–"
        return "unreachable" if np.isinf(count) else f"{count:,.0f}"

    return write


def _count(tables: Mapping[str, ScoreTable]) -> int:
    return next(iter(tables.values())).image_count


def compare(
    systems: Mapping[str, SystemCaptions],
    references: References,
    metrics: PipelineLike = None,
    *,
    missing: Missing = "error",
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
    correct: Correction = "metric",
    margin: float | None = None,
    segmenters: SegmentersLike | None = None,
    by: SlicesLike | None = None,
    slices: SliceMode = "whole",
    strict: bool = False,
    clean: str | Sequence[str] = (),
    why: bool = False,
    references_name: str = "references",
    by_name: str | None = None,
    **settings: Unpack[PipelineSettings],
) -> Comparison:
    """Compare systems on the same images: every pair, every metric and, with `by`, every slice.

    Arguments are those of `score`, of the resampling and of the tests. `missing="skip"` ignores
    images that a system does not describe. With `why`, `differences` has the n-grams (CIDEr),
    tuples (SPICE) or, without such a metric, words, and the images on which two systems differ
    most. With `segmenters`, a difference whose sign depends on the segmenter has p = 1.

    Args:
        systems: name -> captions, or a list of dictionaries or `Runs`: one for each run.
        references: as for `score`.
        metrics: as for `score`.
        missing: as for `score`.
        confidence: confidence of the intervals; 1 minus the level of the tests.
        resamples: number of bootstrap samples and of permutations.
        seed: seed of both.
        correct: p-values that Holm's method corrects together: those of all pairs by one metric
            (`"metric"`), or of all pairs and metrics (`"all"`).
        margin: largest difference that counts as equivalent.
        segmenters: as for `score`.
        by: as for `score`.
        slices: as for `score`.
        strict: as for `score`.
        clean: as for `score`.
        why: explain the differences.
        references_name: as for `score`.
        by_name: as for `score`.
        settings: as for `score`.

    ```python
    comparison = cidery.compare({"ours": a, "theirs": [run1, run2]}, references)
    comparison.tests["cider-d"]["ours", "theirs"].p
    ```
    """
    if len(systems) < 2:
        raise SettingError("compare needs at least two systems")
    sampling = Sampling(confidence, resamples, seed, correct, margin)
    pipeline = Pipeline.choose(metrics, **settings)
    if why:
        choose_explained(pipeline.metrics)
    parts = split_progress([SCORING, 1 - SCORING])
    with next(parts):
        evaluation = Evaluation.run(
            systems,
            references,
            pipeline,
            missing=missing,
            segmenters=segmenters,
            by=by,
            slices=slices,
            strict=strict,
            clean=clean,
            references_name=references_name,
            by_name=by_name,
        )
    with next(parts):
        return compare_evaluation(evaluation, sampling, why)


def compare_scores(
    tables: Mapping[str, ScoreTable | Sequence[ScoreTable]],
    *,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
    correct: Correction = "metric",
    margin: float | None = None,
) -> Comparison:
    """Compare systems that were scored one by one, by `score` or `score_stream`.

    All must have been scored against the same references with the same settings. Streams have no
    `effect` and `wins`, and exchange groups of images in permutation tests.

    Args:
        tables: name -> scores, or a list of scores: one for each run.
        confidence: as for `compare`.
        resamples: as for `compare`.
        seed: as for `compare`.
        correct: as for `compare`.
        margin: as for `compare`.

    ```py
    tables = {name: cidery.score_stream(f"{name}/*.parquet", references).table for name in names}
    print(cidery.compare_scores(tables))
    ```
    """
    sampling = Sampling(confidence, resamples, seed, correct, margin)
    if len(tables) < 2:
        raise SettingError("compare_scores needs at least two systems")
    runs = {
        name: [given] if isinstance(given, ScoreTable) else list(given)
        for name, given in tables.items()
    }
    _check_same(runs)
    joined = {name: join_runs(of) for name, of in runs.items()}
    return Comparison(joined, sampling=sampling, **_compare_tables(joined, sampling))


def _check_same(runs: Mapping[str, Sequence[ScoreTable]]) -> None:
    """Raise an error unless all were scored with the same settings on the same images."""
    first: ScoreTable | None = None
    for name, tables in runs.items():
        if not tables:
            raise InputError(f"{name}: there are no runs")
        for table in tables:
            first = first or table
            if dict(table.signatures) != dict(first.signatures):
                differ = [
                    f"{one or 'no score'} and {other or 'no score'}"
                    for label in {**first.signatures, **table.signatures}
                    if (one := first.signatures.get(label))
                    != (other := table.signatures.get(label))
                ]
                raise InputError(f"{name}: settings of scores differ: {differ[0]}")
            rows = [len(source.rows) for source in table.resampling.values()]
            known = [len(source.rows) for source in first.resampling.values()]
            if table.image_count != first.image_count or rows != known:
                raise MismatchError(
                    f"{name} has scores of {table.image_count} images, {next(iter(runs))} of "
                    f"{first.image_count}; score all systems on the same images"
                )
            if set(table.ids) != set(first.ids):
                raise MismatchError(f"{name} has scores of other images than {next(iter(runs))}")


def compare_evaluation(evaluation: Evaluation, sampling: Sampling, why: bool = False) -> Comparison:
    """Test every pair of systems that were scored; a single system has no tests."""
    tables = evaluation.tables
    found = _compare_tables(tables, sampling)
    if why:
        found["why"] = find_differences(
            evaluation.scorer, evaluation.corpora, tables, **sampling.describe_bootstrap()
        )
    if next(iter(tables.values())).by_segmenter is not None:
        found["flips"] = _find_flips(tables, found["tests"])
        found["tests"] = _refuse(found["tests"], found["flips"])
    return Comparison(tables, sampling=sampling, **found)


def _compare_tables(tables: Mapping[str, ScoreTable], sampling: Sampling) -> dict[str, Any]:
    """Return the tests, intervals and tests by slice."""
    first = next(iter(tables.values()))
    parts = {ALL: tables}
    for name in first.slices or ():
        parts[name] = {system: _slices_of(table)[name] for system, table in tables.items()}
    drawn = {name: sampling.draw(part) for name, part in parts.items()}
    tested = {name: sampling.test_pairs(part, drawn[name]) for name, part in parts.items()}
    intervals = {
        name: {
            system: {
                label: find_interval(
                    scores,
                    _count(parts[name]),
                    sampling.confidence,
                    pool_runs(systems, label),
                )
                for label, scores in found.items()
                if not parts[name][system].resampling[label].is_single_image
            }
            for system, found in systems.items()
        }
        for name, systems in drawn.items()
    }
    return {
        "tests": sampling.adjust({ALL: tested.pop(ALL)})[ALL],
        "slices": None if first.slices is None else sampling.adjust(tested),
        "intervals": intervals,
    }


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
