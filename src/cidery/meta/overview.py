"""evaluate_all(): metrics by data sets in one table, with ranks."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from cidery.errors import InputError, SettingError
from cidery.meta.cache import open_cache
from cidery.meta.datasets import read_dataset
from cidery.meta.datasets.files import MissingFilesError
from cidery.meta.evaluation import judge_dataset
from cidery.meta.labels import AnyMetrics, label_for
from cidery.meta.protocols import choose_protocol
from cidery.meta.protocols.base import HUMAN, Verdict
from cidery.meta.scoring import CaptionScorer
from cidery.meta.settings import Settings
from cidery.runtime import ProgressCallback, RisingShare, ignore_progress
from cidery.statistics import rank_metrics
from cidery.tables import Column, Table, Tabular, format_percent


@dataclass(frozen=True)
class DatasetColumn:
    """Statistic and settings of a data set, as most papers report them."""

    statistic: str
    settings: Settings = field(default_factory=Settings)


COLUMNS: Mapping[str, DatasetColumn] = MappingProxyType(
    {
        "flickr8k-expert": DatasetColumn("tau_c"),
        "flickr8k-cf": DatasetColumn("tau_b"),
        "composite": DatasetColumn("tau_c"),
        "pascal-50s": DatasetColumn("accuracy", Settings(references=5)),
        "abstract-50s": DatasetColumn("accuracy"),
        "thumb": DatasetColumn("pearson"),
        "polaris": DatasetColumn("tau_c"),
        "nebula": DatasetColumn("tau_c"),
        "vatex-eval": DatasetColumn("tau_b"),
        "audiocaps-eval": DatasetColumn("accuracy"),
        "clotho-eval": DatasetColumn("accuracy"),
        "foil": DatasetColumn("accuracy"),
    }
)
"""data set -> statistic and settings, in the order of the table."""


@dataclass(frozen=True)
class Cell:
    """Agreement of a metric on a data set."""

    value: float
    low: float
    high: float
    place: int | None
    """One more than the number of metrics that are significantly better; None for people."""


@dataclass(frozen=True, eq=False)
class Overview(Tabular):
    """Agreement of metrics by data set.

    ```python
    found = evaluate_all("data", ["cider-d", "rouge-l"])
    found.results["flickr8k-expert"]["cider-d"].place
    ```
    """

    results: Mapping[str, Mapping[str, Cell]]
    """data set -> metric, or `human` for annotator agreement -> cell"""
    statistics: Mapping[str, str]
    """data set -> statistic"""
    signatures: Mapping[str, Mapping[str, str]]
    """data set -> metric -> signature"""
    absent: Mapping[str, str] = field(default_factory=dict)
    """data set -> reason why it is skipped"""

    @property
    def metrics(self) -> list[str]:
        """Rows of the table: people first, if known."""
        names = dict.fromkeys(label for found in self.results.values() for label in found)
        return sorted(names, key=lambda label: label != HUMAN)

    def to_dict(self) -> dict[str, Any]:
        """Return all results, for JSON."""
        return {
            "results": {
                name: {label: asdict(cell) for label, cell in found.items()}
                for name, found in self.results.items()
            },
            "statistics": dict(self.statistics),
            "signatures": {name: dict(found) for name, found in self.signatures.items()},
            "absent": dict(self.absent),
        }

    def table(self) -> Table:
        """Return a row per metric and a column per set, in percent; CSV has a row for each cell."""
        records = [
            {
                **{"set": name, "statistic": self.statistics[name], "metric": label},
                **asdict(cell),
                "signature": self.signatures[name].get(label),
            }
            for name, found in self.results.items()
            for label, cell in found.items()
        ]
        rows = [
            (label, *(found.get(label) for found in self.results.values()))
            for label in self.metrics
        ]
        columns = [
            Column(f"{name} {statistic}", partial(_format, str(place)))
            for place, (name, statistic) in enumerate(self.statistics.items(), start=1)
        ]
        details = {"title": "Agreement by data set", "notes": self.notes(), "records": records}
        return Table.of([Column("metric"), *columns], rows, **details)

    def notes(self) -> list[str]:
        """Return the notes below the table."""
        lines = [
            "in percent; in parentheses the metric's place on the set: metrics share a place "
            "where no difference was found (paired bootstrap of images, Holm-corrected in each set)"
        ]
        lines += [f"not here: {name}: {reason}" for name, reason in self.absent.items()]
        return lines


def _format(place: str, row: Mapping[str, Any]) -> str:
    cell: Cell | None = row[place]
    if cell is None:
        return ""
    return format_percent(cell.value) + (f" ({cell.place})" if cell.place else "")


def evaluate_all(
    path: str | os.PathLike[str],
    metrics: AnyMetrics = None,
    *,
    sets: Sequence[str] = (),
    resamples: int = 500,
    seed: int = 0,
    threads: int = 0,
    cache: bool | str | os.PathLike[str] = False,
    progress: ProgressCallback = ignore_progress,
) -> Overview:
    """Evaluate metrics on all data sets in a folder.

    Args:
        path: parent folder of the data sets.
        metrics: as in `evaluate`.
        sets: names of data sets, which must exist. Default: all that exist.
        resamples: bootstrap samples of images, for intervals and ranks.
        seed: seed of samples and draws of references.
        threads: 0 means one per core; any number gives the same bits.
        cache: True caches scores in the user's cache directory, a path in that folder.
        progress: called with what is being done, how much of it, 0 to 1, is done.

    ```python
    print(evaluate_all("data", ["cider-d", "rouge-l"], sets=["flickr8k-expert"]))
    ```
    """
    for name in sets:
        if name not in COLUMNS:
            raise SettingError(f"unknown data set {name!r}; known: {', '.join(COLUMNS)}")
    if not sets and Path(path).is_file():
        raise InputError(f"{os.fspath(path)} is a file; pass the parent folder of the data sets")
    results: dict[str, dict[str, Cell]] = {}
    signatures: dict[str, dict[str, str]] = {}
    absent: dict[str, str] = {}
    for place, (name, column) in enumerate(COLUMNS.items()):
        if sets and name not in sets:
            continue
        try:
            dataset = read_dataset(name, path)
        except MissingFilesError as error:
            if sets:
                raise
            absent[name] = str(error)
            continue
        settings = column.settings.change(resamples=resamples, seed=seed)
        settings = settings.change(protocol=choose_protocol(dataset, None))
        store = open_cache(cache, settings)
        report = _report_for(name, place, len(COLUMNS), progress)
        scorer = CaptionScorer.build(settings, threads, report, store)
        verdicts = judge_dataset(dataset, label_for(dataset, metrics), settings, scorer)
        results[name] = _compare(verdicts, column.statistic)
        signatures[name] = {k: v.signature for k, v in verdicts.items() if k != HUMAN}
    if not results:
        raise InputError(
            f"{os.fspath(path)}: no data set in this folder; known: {', '.join(absent)}"
        )
    statistics = {name: COLUMNS[name].statistic for name in results}
    return Overview(results, statistics, signatures, absent)


def _report_for(name: str, place: int, count: int, progress: ProgressCallback) -> ProgressCallback:
    """Return a progress callback for one of the data sets, with its name."""
    rising = RisingShare()

    def report(step: str, share: float) -> None:
        progress(f"{name}: {step}", (place + rising.advance(share)) / count)

    return report


def _compare(verdicts: Mapping[str, Verdict], statistic: str) -> dict[str, Cell]:
    """Return the cells of one data set."""
    judged = {label: v for label, v in verdicts.items() if label != HUMAN}
    values = {label: verdict.statistics[statistic] for label, verdict in judged.items()}
    known = {label: value for label, value in values.items() if np.isfinite(value)}
    samples = {label: judged[label].samples[statistic] for label in known}
    places = rank_metrics(known, samples)
    return {
        label: Cell(
            verdict.statistics[statistic],
            verdict.statistics.get(f"{statistic}_low", math.nan),
            verdict.statistics.get(f"{statistic}_high", math.nan),
            places.get(label),
        )
        for label, verdict in verdicts.items()
        if statistic in verdict.statistics
    }
