"""Tables of scores with their signatures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from cidery.corpus import ImageId, Notice
from cidery.errors import SettingError
from cidery.statistics import (
    RESAMPLES,
    Floats,
    Interval,
    MeanOfRuns,
    Pool,
    RunScores,
    check_sampling,
    draw_part,
    draw_sums,
    find_interval,
    sum_exactly,
)
from cidery.tables import (
    LOWER_IS_BETTER,
    Column,
    ScoreFormat,
    Table,
    Tabular,
    join_sentences,
)

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from cidery.scoring.slice_scores import SliceTables


@dataclass(frozen=True)
class Signature:
    """A metric and the settings that reproduce its scores.

    ```python
    str(Signature("cider-d", (("n", "4"), ("sigma", "6"))))  # "cider-d|n:4|sigma:6"
    ```
    """

    metric: str
    settings: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return "|".join([self.metric, *(f"{key}:{value}" for key, value in self.settings)])


@dataclass(frozen=True, eq=False)
class Resampling:
    """Source of a corpus score: rows per image and the function that pools their sum."""

    rows: Floats
    """float64[images, k]; those of several runs are side by side."""
    pool: Pool
    """`MeanOfRuns` for several runs."""
    places: NDArray[np.int64] | None = None
    """Indexes of a slice's images among all."""
    height: int = 0
    """Total number of images, for a slice."""
    lower_is_better: bool = False
    has_range: bool = False
    """True for a metric with a fixed range, whose scores papers print times 100."""

    @property
    def is_single_image(self) -> bool:
        """True for a slice of one image, which has no interval."""
        return self.places is not None and len(self.rows) == 1

    @property
    def runs(self) -> int:
        """Number of runs."""
        return self.pool.runs if isinstance(self.pool, MeanOfRuns) else 1

    def score_images(self) -> Floats:
        """Return the score of each image."""
        return self.pool(self.rows)

    def draw(self, resamples: int, seed: int) -> Floats:
        """Draw images and sum their rows; a slice's samples are those of all images."""
        if self.places is None:
            return draw_sums(self.rows, resamples, seed)
        return draw_part(self.rows, self.places, self.height, resamples, seed)

    def score_runs(self, sums: Floats) -> RunScores:
        """Return the scores of each run on all images and on samples, the result of `draw`."""
        pool = self.pool
        by_run = pool.score_runs if isinstance(pool, MeanOfRuns) else lambda s: pool(s)[..., None]
        return RunScores(by_run(sum_exactly(self.rows)), by_run(sums))


@dataclass(frozen=True, eq=False)
class ScoreTable(Tabular):
    """Scores of one system: per corpus, per caption, with signatures and intervals.

    ```python
    table = cidery.score({"a": "a dog"}, {"a": ["a dog runs"]}, metrics=["rouge-l"])
    table.corpus["rouge-l"], table.each["rouge-l"], table.signatures["rouge-l"]
    ```
    """

    ids: Sequence[ImageId]
    """Image ids, one per row of `each`, in the order of the candidates."""
    image_count: int
    corpus: Mapping[str, float]
    """metric -> corpus score"""
    each: Mapping[str, Floats]
    """metric -> float64[rows]"""
    signatures: Mapping[str, str]
    resampling: Mapping[str, Resampling] = field(repr=False)
    slices: SliceTables | None = field(default=None, repr=False)
    """slice -> its scores, where `by` was given"""
    by_segmenter: Mapping[str, Mapping[str, float]] | None = field(default=None, repr=False)
    """tokenizer -> metric -> corpus score, where `segmenters` was given"""
    runs: Sequence[ScoreTable] = field(default=(), repr=False)
    """Scores of each run, where there are several: `corpus` has their means, `each` all captions"""
    notices: Sequence[Notice] = ()
    """Notices about how the captions were read and matched, and about those that look wrong"""

    def __post_init__(self) -> None:
        for name in ("corpus", "each", "signatures", "resampling"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))
        for values in self.each.values():
            values.flags.writeable = False

    def __reduce__(self) -> tuple[Any, ...]:
        values = (getattr(self, one.name) for one in fields(self))
        return ScoreTable, tuple(dict(v) if isinstance(v, MappingProxyType) else v for v in values)

    def interval(
        self, metric: str, confidence: float = 0.95, seed: int = 0, resamples: int = RESAMPLES
    ) -> Interval:
        """Return the bootstrap interval of a corpus score, images drawn again with replacement."""
        if metric not in self.resampling:
            known = ", ".join(self.resampling) or "none"
            raise SettingError(f"no interval for {metric!r}; scored: {known}")
        if self.resampling[metric].is_single_image:
            raise SettingError("a slice of one image has no interval")
        return self._draw([metric], confidence, seed, resamples)[metric]

    def intervals(
        self, confidence: float = 0.95, seed: int = 0, resamples: int = RESAMPLES
    ) -> dict[str, Interval]:
        """Return the bootstrap interval of every corpus score."""
        return self._draw(list(self.resampling), confidence, seed, resamples)

    def _draw(
        self, metrics: Sequence[str], confidence: float, seed: int, resamples: int
    ) -> dict[str, Interval]:
        """Metrics that share rows share the samples drawn from them."""
        check_sampling(confidence, resamples)
        sums: dict[int, Floats] = {}
        found = {}
        for name in metrics:
            source = self.resampling[name]
            if source.is_single_image:
                continue
            if id(source.rows) not in sums:
                sums[id(source.rows)] = source.draw(resamples, seed)
            drawn = source.score_runs(sums[id(source.rows)])
            found[name] = find_interval(drawn, len(source.rows), confidence)
        return found

    def find_spread(self, metric: str) -> tuple[float, float]:
        """Return the lowest and the highest corpus score under the segmenters."""
        if self.by_segmenter is None:
            raise SettingError("the table has no segmenters; pass segmenters= to score")
        scores = [self.corpus[metric], *(found[metric] for found in self.by_segmenter.values())]
        return min(scores), max(scores)

    def spread_over_runs(self, metric: str) -> float | None:
        """Return the standard deviation of the runs' corpus scores; None for a single run."""
        if not self.runs:
            return None
        return float(np.std([run.corpus[metric] for run in self.runs], ddof=1))

    def to_dict(
        self,
        intervals: Mapping[str, Interval] | None = None,
        slice_intervals: Mapping[str, Mapping[str, Interval]] | None = None,
        *,
        flat: bool = False,
    ) -> dict[str, Any]:
        """Return `{"images", "scores", "signatures"}`, and, if available, the other two.

        These are `"intervals"`, if given, and `"slices"`.

        Args:
            intervals: by metric.
            slice_intervals: by slice and metric.
            flat: return numbers only, by names for experiment trackers: `cider-d`, its interval
                `cider-d_low` and `cider-d_high` (default: of 95 %), `cider-d_sd` over runs, and
                `slices/NAME/cider-d`. Undefined values are left out.

        ```python
        table = cidery.score(candidates, references, ["cider-d"], frequencies="coco-val2014")
        list(table.to_dict(flat=True))   # ["images", "cider-d", "cider-d_low", "cider-d_high"]
        ```
        """
        if flat:
            return self._flatten(intervals, slice_intervals)
        content: dict[str, Any] = {
            "images": self.image_count,
            "scores": dict(self.corpus),
            "signatures": dict(self.signatures),
        }
        if intervals:
            content["intervals"] = {
                name: {"low": found.low, "high": found.high, "confidence": found.confidence}
                for name, found in intervals.items()
            }
        if self.runs:
            content["runs"] = [dict(run.corpus) for run in self.runs]
        if self.by_segmenter is not None:
            content["segmenters"] = {key: dict(found) for key, found in self.by_segmenter.items()}
        if self.slices is not None:
            content["slices"] = self.slices.to_dict(slice_intervals)
        if self.ids and len(self.ids) != self.image_count:
            content["captions"] = len(self.ids)
        if self.notices:
            content["notices"] = [notice.to_dict() for notice in self.notices]
        return content

    def _flatten(
        self,
        intervals: Mapping[str, Interval] | None,
        slice_intervals: Mapping[str, Mapping[str, Interval]] | None,
    ) -> dict[str, float]:
        if intervals is None:
            intervals = self.intervals() if self.image_count > 1 else {}
        found: dict[str, float] = {"images": self.image_count}
        for metric, score in self.corpus.items():
            found[metric] = score
            if metric in intervals:
                found[f"{metric}_low"] = intervals[metric].low
                found[f"{metric}_high"] = intervals[metric].high
            if self.runs:
                found[f"{metric}_sd"] = self.spread_over_runs(metric) or 0.0
        for name, table in (self.slices or {}).items():
            bounds = None if slice_intervals is None else slice_intervals.get(name, {})
            for key, value in table.to_dict(bounds, flat=True).items():
                found[f"slices/{name}/{key}"] = value
        return {key: value for key, value in found.items() if np.isfinite(value)}

    def format_scores(self, digits: int | None = None, percent: bool = False) -> ScoreFormat:
        """Return the format of these metrics' scores; `percent` multiplies those with a range."""
        scaled = frozenset(label for label, one in self.resampling.items() if one.has_range)
        return ScoreFormat(digits, percent, scaled)

    def table(
        self,
        digits: int | None = None,
        intervals: Mapping[str, Interval] | None = None,
        *,
        percent: bool = False,
    ) -> Table:
        """Return a row per metric, with intervals where they are given.

        Args:
            digits: decimals. Default: 4, or 1 in percent.
            intervals: by metric.
            percent: multiply scores by 100, as papers do; records have the scores themselves.
        """
        form = self.format_scores(digits, percent)

        def write_interval(low: str, high: str) -> Callable[[Any], str]:
            return lambda row: form.write_interval(row["metric"], row.get(low), row.get(high))

        columns = [
            Column("metric", lambda row: self.mark(row["metric"]), align="left"),
            Column("score", lambda row: form.write(row["metric"], row["score"])),
        ]
        if intervals:
            confidence = next(iter(intervals.values())).confidence
            columns.append(
                Column(f"{100 * confidence:g} % interval", write_interval("low", "high"))
            )
        if self.by_segmenter is not None:
            spread = write_interval("segmenters_low", "segmenters_high")
            columns.append(Column("over segmenters", spread))
        rows = []
        for name, score in self.corpus.items():
            row: dict[str, Any] = {"metric": name, "score": score}
            if intervals:
                found = intervals.get(name)  # a vocabulary's size has none
                row |= {"low": found and found.low, "high": found and found.high}
            if self.by_segmenter is not None:
                low, high = self.find_spread(name)
                row |= {"segmenters_low": low, "segmenters_high": high}
            rows.append(row | {"signature": self.signatures.get(name)})
        signatures = list(self.signatures.values())
        notes = [*self.notes, *form.describe(self.corpus)]
        return Table(columns, rows, notes=notes, signatures=signatures)

    def paper_table(
        self,
        name: str = "",
        digits: int | None = None,
        intervals: Mapping[str, Interval] | None = None,
        *,
        percent: bool = True,
    ) -> Table:
        """Return the table for a paper: a row with a column for each metric, times 100.

        Args:
            name: name of the system.
            digits: decimals. Default: 1 of scores times 100, else 4.
            intervals: by metric; they are printed beside the scores.
            percent: multiply scores by 100; records have the scores themselves.

        ```python
        table = cidery.score(["a dog"], [["a dog runs"]], ["bleu-1", "rouge-l"])
        print(table.paper_table("ours").to_latex())
        ```
        """
        form = self.format_scores(digits, percent)

        def column(metric: str) -> Column:
            def write(_: Any) -> str:
                score = form.write(metric, self.corpus[metric])
                found = (intervals or {}).get(metric)
                shown = found and form.write_interval(metric, found.low, found.high)
                return f"{score} {shown}" if shown else score

            return Column(self.mark(metric), write)

        sentences = [f"scores on {self.image_count} images", *self.notes]
        sentences += form.describe(self.corpus)
        if intervals:
            confidence = next(iter(intervals.values())).confidence
            sentences.append(f"in brackets: {100 * confidence:g} % bootstrap intervals")
        return Table(
            [Column("system", align="left"), *map(column, self.corpus)],
            [{"system": name}],
            signatures=list(self.signatures.values()),
            records=self.table(intervals=intervals).to_records(),
            caption=join_sentences(sentences),
        )

    def mark(self, metric: str) -> str:
        """Return a metric's label, with an arrow where a lower score is better."""
        source = self.resampling.get(metric)
        return f"{metric} ↓" if source is not None and source.lower_is_better else metric

    @property
    def notes(self) -> tuple[str, ...]:
        """Explanations of the marks in the table."""
        marked = any(source.lower_is_better for source in self.resampling.values())
        return (LOWER_IS_BETTER,) if marked else ()

    def to_columns(self) -> dict[str, Sequence[Any]]:
        """Return one column of ids and one per metric, a row per caption."""
        return {"image_id": list(self.ids), **{k: v.tolist() for k, v in self.each.items()}}

    def to_pandas(self) -> pd.DataFrame:
        """Return the scores per caption as a data frame indexed by image id."""
        try:
            import pandas as pd
        except ImportError:
            from cidery.errors import MissingExtraError

            raise MissingExtraError.to(
                "make a data frame", package="pandas", extra="pandas"
            ) from None
        return pd.DataFrame(self.to_columns()).set_index("image_id")

    def to_html(self) -> str:
        """Return the table as HTML, with 95 % intervals."""
        table = self.table(intervals=self.intervals() if self.image_count > 1 else None)
        return replace(table, notes=[f"{self.image_count} images", *self.notes]).to_html()


def join_runs(tables: Sequence[ScoreTable]) -> ScoreTable:
    """Return the scores of several runs as those of one system: means, and all captions."""
    if len(tables) == 1:
        return tables[0]
    first = tables[0]
    segmenters = [table.by_segmenter for table in tables if table.by_segmenter is not None]
    return ScoreTable(
        ids=[image for table in tables for image in table.ids],
        image_count=first.image_count,
        corpus={k: float(np.mean([t.corpus[k] for t in tables])) for k in first.corpus},
        each={k: np.concatenate([t.each[k] for t in tables]) for k in first.each},
        signatures={k: f"{s}|runs:{len(tables)}" for k, s in first.signatures.items()},
        resampling=join_resampling([table.resampling for table in tables]),
        slices=first.slices and first.slices.join([t.slices for t in tables if t.slices]),
        by_segmenter=None
        if first.by_segmenter is None
        else {
            name: {k: float(np.mean([found[name][k] for found in segmenters])) for k in scores}
            for name, scores in first.by_segmenter.items()
        },
        runs=tuple(tables),
        notices=tuple(dict.fromkeys(notice for table in tables for notice in table.notices)),
    )


def join_resampling(runs: Sequence[Mapping[str, Resampling]]) -> dict[str, Resampling]:
    """Return the sources of the mean scores of several runs, by metric; metrics still share rows.

    Args:
        runs: metric -> source, of each run, all on the same images.
    """
    shared: dict[int, Floats] = {}
    joined = {}
    for label, source in runs[0].items():
        if id(source.rows) not in shared:
            shared[id(source.rows)] = np.hstack([run[label].rows for run in runs])
        pool = MeanOfRuns(source.pool, len(runs))
        joined[label] = replace(source, rows=shared[id(source.rows)], pool=pool)
    return joined
