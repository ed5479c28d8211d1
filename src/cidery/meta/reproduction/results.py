"""reproduce(): published values beside computed ones."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from cidery.errors import CideryError, SettingError
from cidery.meta.datasets import read_dataset
from cidery.meta.evaluation import evaluate
from cidery.meta.judgments import Dataset
from cidery.meta.protocols.base import HUMAN
from cidery.meta.reproduction.comparisons import (
    compare_changes,
    compare_curves,
    compare_disagreement,
    compare_triplets,
    compare_unigrams,
    compare_word_recall,
    rank_sentences,
)
from cidery.meta.reproduction.published import (
    CLOSE_TOLERANCE,
    NOT_REPRODUCIBLE,
    PUBLISHED_TABLES,
    SAME_TOLERANCE,
    ComparedValue,
    PublishedTable,
)
from cidery.metrics import METRICS
from cidery.runtime import ProgressCallback, ignore_progress
from cidery.tables import UNDEFINED, Column, Table, Tabular


@dataclass(frozen=True)
class Reproduction(Tabular):
    """All compared values, and those that the data do not allow."""

    lines: tuple[ComparedValue, ...]
    not_reproducible: tuple[tuple[str, str], ...] = NOT_REPRODUCIBLE

    def table(self) -> Table:
        """Return a row per published score; notes have numbers."""
        notes = list(dict.fromkeys(line.note for line in self.lines if line.note))
        columns = [
            *(Column("source"), Column("quantity"), Column("metric")),
            *(Column("published", ".1f"), Column("computed", _format_computed)),
            *(Column("difference", "+.1f"), Column("verdict")),
            Column("note", lambda row: str(notes.index(row["note"]) + 1) if row["note"] else ""),
        ]
        rows = [
            {name: value for name, value in vars(line).items() if name != "finding"}
            | {"difference": line.difference, "verdict": line.verdict}
            for line in self.lines
        ]
        listed = [
            self.summary(),
            *(f"{number}. {note}" for number, note in enumerate(notes, start=1)),
            *(f"not computed: {source}: {reason}" for source, reason in self.not_reproducible),
        ]
        return Table(columns, rows, notes=listed)

    def count_verdicts(self) -> dict[str, int]:
        """Return the number of values with each verdict, most frequent first."""
        return dict(Counter(line.verdict for line in self.lines).most_common())

    def summary(self) -> str:
        """Return the number of values with each verdict, with an explanation."""
        counted = ", ".join(f"{name} {count}" for name, count in self.count_verdicts().items())
        return (
            f"{len(self.lines)} values: {counted}; same: within {SAME_TOLERANCE:g}, close: within "
            f"{CLOSE_TOLERANCE:g} points; holds: a claim without a number"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return all results, for JSON."""
        return {
            "lines": self.to_records(),
            "verdicts": self.count_verdicts(),
            "not_reproducible": [
                {"source": source, "reason": reason} for source, reason in self.not_reproducible
            ],
        }


def _format_computed(row: Mapping[str, Any]) -> str:
    return UNDEFINED if row["computed"] is None else f"{row['computed']:.1f}"


def reproduce(
    path: str | os.PathLike[str],
    *,
    sources: Sequence[str] = (),
    cache: bool | str | os.PathLike[str] = False,
    threads: int = 0,
    progress: ProgressCallback = ignore_progress,
) -> Reproduction:
    """Compute the published values that the data sets in a folder allow.

    Args:
        path: parent folder of the data sets; missing ones are skipped.
        sources: prefixes of sources, such as `CIDEr-R` or `CIDEr, 7.2`. Default: all.
        cache: as in `evaluate`.
        threads: 0 means one per core.
        progress: as in `evaluate`.

    ```python
    print(reproduce("data").to_markdown())
    ```
    """
    datasets = _read_all(path)
    tasks = [
        (source, name, compute)
        for source, name, compute in _list_tasks(Path(path), datasets, cache, threads)
        if source.startswith(tuple(sources) or "")
    ]
    if not tasks:
        known = ", ".join(dict.fromkeys(task[0] for task in _list_tasks(Path(path), datasets)))
        raise SettingError(f"no source starts with {' or '.join(sources)}; known: {known}")
    lines: list[ComparedValue] = []
    for done, (source, name, compute) in enumerate(tasks):
        progress(f"{source}: {name}", done / len(tasks))
        lines += compute()
    not_reproducible = tuple(
        one for one in NOT_REPRODUCIBLE if one[0].startswith(tuple(sources) or "")
    )
    return Reproduction(tuple(lines), not_reproducible)


def _list_tasks(
    path: Path,
    datasets: Mapping[str, Any],
    cache: bool | str | os.PathLike[str] = False,
    threads: int = 0,
) -> list[tuple[str, str, Callable[[], Iterable[ComparedValue]]]]:
    """Return source, data set and function of each comparison that the data sets allow."""
    how: dict[str, Any] = {"cache": cache, "threads": threads}
    compute: Callable[[], Iterable[ComparedValue]]
    found: list[tuple[str, str, Callable[[], Iterable[ComparedValue]]]] = [
        (one.source, one.dataset, partial(_run, one, datasets[one.dataset], **how))
        for one in PUBLISHED_TABLES
        if one.dataset in datasets
    ]
    if pascal := datasets.get("pascal-50s"):
        found.append(("CIDEr, 7.1", pascal.name, partial(compare_unigrams, pascal, **how)))
        if "preference" in pascal.votes:  # which the authors' MATLAB files do not have
            compute = partial(compare_disagreement, pascal, **how)
            found.append(("CIDEr, Appendix III", pascal.name, compute))
        compute = partial(rank_sentences, pascal, threads)
        found.append(("CIDEr, 8 and Appendix IV", pascal.name, compute))
    if triplets := datasets.get("cider-r-triplets"):
        compute = partial(compare_triplets, triplets, path, threads)
        found.append(("CIDEr-R, Table 3", triplets.name, compute))
    for rated in (datasets.get("flickr8k-expert"), datasets.get("composite")):
        if rated:
            compute = partial(compare_word_recall, rated, path, **how)
            found.append(("Variance, Table 3", rated.name, compute))
    for fifty in (datasets.get("pascal-50s"), datasets.get("abstract-50s")):
        if fifty:
            compute = partial(compare_curves, fifty, path, **how)
            found.append(("CIDEr-R, Figure 3, authors' curves", fifty.name, compute))
    found.append(("Diversity, Table 1", "its captions", partial(compare_changes, threads)))
    return found


def _read_all(path: str | os.PathLike[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in dict.fromkeys(experiment.dataset for experiment in PUBLISHED_TABLES):
        try:
            found[name] = read_dataset(name, path)
        except CideryError:
            continue
    if not found:
        # Raise the error of the first reader, which names the missing files.
        read_dataset(PUBLISHED_TABLES[0].dataset, path)
    return found


def _run(experiment: PublishedTable, dataset: Dataset, **settings: Any) -> Iterator[ComparedValue]:
    """Yield a line per value; the note of a metric that cannot run has the reason."""
    names = [name for name in experiment.published if name != HUMAN]
    results: dict[str, Any] = {}
    reasons: dict[str, str] = {}
    # METEOR may lack its data, SPICE its parser: one by one, so that others still run.
    for name in names:
        if name.partition(":")[0] not in METRICS and experiment.dataset != "coco-2015":
            reasons[name] = f"{name} is not built in"
            continue
        try:
            agreement = evaluate(dataset, [name], **(dict(experiment.settings) | settings))
        except CideryError as error:
            reasons[name] = str(error)
            continue
        results |= agreement.results
    for metric, published in experiment.published.items():
        for statistic, value in published.items():
            found = results.get(metric, {}).get(statistic)
            yield ComparedValue(
                experiment.source,
                f"{experiment.dataset}, {experiment.quantity}: {statistic}",
                metric,
                value,
                None if found is None else 100 * found,
                reasons.get(metric, experiment.note),
            )
