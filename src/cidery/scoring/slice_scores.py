"""Scores by slices of the images: tables, intervals, and tests per slice.

By default a caption's score does not depend on slices: those of one run are gathered, pooled scores
such as BLEU from the slice's own counts. With `slices="separate"` each slice is scored as if there
were no other images, so that weights counted on references differ from slice to slice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from cidery.corpus import ALL, FEW_IMAGES, Corpus, GroupingData, Slices, SlicesLike
from cidery.errors import SettingError, SliceWarning, UnreliableWarning, warn_caller
from cidery.files import slice_images
from cidery.metrics.base import TokenizedReferences
from cidery.scoring.pipeline import Pipeline
from cidery.scoring.score_table import Resampling, ScoreTable, join_runs
from cidery.scoring.scorer import Scorer
from cidery.statistics import RESAMPLES, Interval, sum_exactly
from cidery.tables import Column, Table, Tabular
from cidery.text import SPLIT

if TYPE_CHECKING:
    from numpy.typing import NDArray

SliceMode: TypeAlias = Literal["whole", "separate"]
Intervals: TypeAlias = Mapping[str, Mapping[str, Interval]]
"""slice (or `(all)`) -> metric -> interval"""
_EXAMPLES = 3


@dataclass(frozen=True, eq=False)
class SliceTables(Tabular, Mapping[str, ScoreTable]):
    """Scores by slice; each slice has a table of its own.

    ```python
    table = cidery.score(candidates, references, by="references")
    part = table.slices["5 references"]
    part.corpus["cider-d"], part.interval("cider-d")
    ```
    """

    by: str
    """Name of the grouping."""
    mode: SliceMode
    whole: ScoreTable
    """All images, without slices."""
    tables: Mapping[str, ScoreTable] = field(repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tables", MappingProxyType(dict(self.tables)))

    def __reduce__(self) -> tuple[Any, ...]:
        return SliceTables, (self.by, self.mode, self.whole, dict(self.tables))

    def __getitem__(self, name: str) -> ScoreTable:
        return self.tables[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.tables)

    def __len__(self) -> int:
        return len(self.tables)

    def join(self, runs: Sequence[SliceTables]) -> SliceTables:
        """Return the scores of several runs, of which this is the first."""
        tables = {name: join_runs([run[name] for run in runs]) for name in self}
        return SliceTables(self.by, self.mode, join_runs([run.whole for run in runs]), tables)

    @property
    def whole_name(self) -> str:
        """Name of the row of all images."""
        return ALL

    @property
    def note(self) -> str:
        """Note on the scoring of slices."""
        return f"slices by {self.by}: {explain_mode(self.mode)}"

    @property
    def parts(self) -> dict[str, ScoreTable]:
        """All images, then the slices."""
        return {ALL: self.whole, **self.tables}

    def intervals(
        self, confidence: float = 0.95, seed: int = 0, resamples: int = RESAMPLES
    ) -> dict[str, dict[str, Interval]]:
        """Return the bootstrap intervals of all slices; a slice of one image has none.

        The samples are those of the interval of all images: what is drawn of a slice varies.
        """
        return {
            name: table.intervals(confidence, seed, resamples) for name, table in self.parts.items()
        }

    def to_dict(self, intervals: Intervals | None = None) -> dict[str, Any]:
        """Return `{"by", "mode", "slices"}`, ready for JSON."""
        found = {
            name: table.to_dict((intervals or {}).get(name)) for name, table in self.tables.items()
        }
        if self.mode == "whole":
            for content in found.values():
                del content["signatures"]  # those of all images
        return {"by": self.by, "mode": self.mode, "slices": found}

    def table(
        self,
        digits: int | None = None,
        intervals: Intervals | None = None,
        *,
        percent: bool = False,
    ) -> Table:
        """Return a row per metric and slice, with intervals where they are given.

        Args:
            digits: as for `ScoreTable.table`.
            intervals: by slice and metric.
            percent: as for `ScoreTable.table`.
        """
        bounds = intervals or {}
        found = {
            name: table.table(digits, bounds.get(name), percent=percent)
            for name, table in self.parts.items()
        }
        rows = [
            {"slice": name, "images": self.parts[name].image_count, **table.rows[number]}
            for number in range(len(self.whole.corpus))
            for name, table in found.items()
        ]
        whole = found[ALL]
        columns = [
            replace(whole.columns[0], merge=True),
            *(Column("slice"), Column("images")),
            *whole.columns[1:],
        ]
        return replace(whole, columns=columns, rows=rows, notes=[*whole.notes, self.note])


@dataclass(frozen=True, eq=False)
class Slicing:
    """Slices of the images of a run, and how they are scored."""

    slices: Slices
    mode: SliceMode
    pipeline: Pipeline

    @classmethod
    def build(
        cls,
        by: SlicesLike,
        mode: SliceMode,
        corpus: Corpus,
        scorer: Scorer,
        name: str | None = None,
    ) -> Slicing:
        """Find the slices, and warn about those with too few images."""
        check_mode(mode)
        found = slice_images(by, corpus.images, describe(corpus, scorer.references), name)
        sizes = {key: len(places) for key, places in found.members.items()}
        _warn_of([key for key, size in sizes.items() if size == 1])
        few = [key for key, size in sizes.items() if size < FEW_IMAGES]
        pipeline = scorer.pipeline
        counted = pipeline.uses_frequencies and pipeline.frequencies == "references"
        if mode == "separate" and few and counted:
            warn_caller(
                f"{_count(few)} fewer than {FEW_IMAGES} images, on which document frequencies are "
                'counted: CIDEr\'s weights are unreliable there; slices="whole" (--slices whole) '
                "counts them on all images",
                UnreliableWarning,
            )
        return cls(found, mode, pipeline)

    def score(
        self, corpora: Mapping[str, Corpus], tables: Mapping[str, ScoreTable]
    ) -> dict[str, ScoreTable]:
        """Return the tables of some systems, with their slices."""
        scored = {name: dict[str, ScoreTable]() for name in tables}
        for key, places in self.slices.members.items():
            if self.mode == "whole":
                for name, table in tables.items():
                    scored[name][key] = take_slice(table, corpora[name].candidate_images, places)
                continue
            for name, table in self._score_separately(corpora, places).items():
                scored[name][key] = table
        return {
            name: replace(table, slices=SliceTables(self.slices.by, self.mode, table, scored[name]))
            for name, table in tables.items()
        }

    def _score_separately(
        self, corpora: Mapping[str, Corpus], places: NDArray[np.int64]
    ) -> dict[str, ScoreTable]:
        first = next(iter(corpora.values()))
        images = {first.images[place] for place in places.tolist()}
        parts = {name: corpus.select(images) for name, corpus in corpora.items()}
        scorer = self.pipeline.prepare(next(iter(parts.values())))
        sizes = np.diff(next(iter(parts.values())).reference_offsets)
        counts = int(sizes.min()), int(sizes.max())
        signatures = self.pipeline.sign(len(sizes), counts, slices="separate")
        found = {}
        for name, part in parts.items():
            table = scorer.score_corpus(part)
            resampling = _place(table.resampling, places, len(first.images))
            found[name] = replace(table, resampling=resampling, signatures=signatures)
        return found


def explain_mode(mode: SliceMode) -> str:
    """Return a sentence on the scoring of slices."""
    if mode == "whole":
        return "captions have the scores of the whole set"
    return (
        "each is scored separately, with its own document frequencies; JSON and CSV have the "
        "signatures of each (slices:separate)"
    )


def check_mode(mode: str) -> None:
    """Raise a SettingError for an unknown mode of slices."""
    if mode not in ("whole", "separate"):
        raise SettingError(f'slices is "whole" or "separate", not {mode!r}')


def describe(corpus: Corpus, references: TokenizedReferences) -> GroupingData:
    """Return the properties for grouping images: lengths and numbers of references."""

    def lengths() -> NDArray[np.float64]:
        ends = references.captions.form(SPLIT).offsets().astype(np.float64)
        offsets = corpus.reference_offsets
        words: NDArray[np.float64] = np.diff(ends[offsets]) / np.diff(offsets)
        return words

    return GroupingData(lengths, lambda: np.diff(corpus.reference_offsets))


def take_slice(
    table: ScoreTable, candidate_images: NDArray[np.int64], places: NDArray[np.int64]
) -> ScoreTable:
    """Return the scores of some images out of those of all."""
    chosen = np.flatnonzero(np.isin(candidate_images, places))
    resampling = slice_resampling(table.resampling, places)
    return ScoreTable(
        ids=[table.ids[row] for row in chosen.tolist()],
        image_count=len(places),
        corpus={
            label: float(source.pool(sum_exactly(source.rows)))
            for label, source in resampling.items()
        },
        each={label: values[chosen] for label, values in table.each.items()},
        signatures=table.signatures,
        resampling=resampling,
    )


def slice_resampling(
    resampling: Mapping[str, Resampling], places: NDArray[np.int64]
) -> dict[str, Resampling]:
    """Return the rows of some images for pooling; metrics still share rows."""
    shared = {id(source.rows): source.rows[places] for source in resampling.values()}
    return {
        label: replace(source, rows=shared[id(source.rows)], places=places, height=len(source.rows))
        for label, source in resampling.items()
    }


def _place(
    resampling: Mapping[str, Resampling], places: NDArray[np.int64], height: int
) -> dict[str, Resampling]:
    return {
        label: replace(source, places=places, height=height) for label, source in resampling.items()
    }


def _warn_of(alone: list[str]) -> None:
    if alone:
        warn_caller(f"{_count(alone)} one image only, so that there is no interval", SliceWarning)


def _count(names: list[str]) -> str:
    if len(names) == 1:
        return f"the slice {names[0]!r} has"
    shown = ", ".join(map(repr, names[:_EXAMPLES])) + (", …" if len(names) > _EXAMPLES else "")
    return f"{len(names)} slices ({shown}) have"
