"""Agreement of metrics with human judgments, as a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from cidery.statistics import Floats
from cidery.tables import Column, Table, Tabular, format_p, format_percent

IMPORTANT = ("accuracy", "tau_c", "tau_b", "pearson", "spearman", "ranking")
"""Statistics that tables show first."""
COUNTS = ("pairs", "ratings", "judgments")
"""Numbers of judgments."""
SHOWN = 4
"""Number of statistics in tables; the others are in records."""


@dataclass(frozen=True, eq=False)
class Agreement(Tabular):
    """Agreement of metrics with human judgments on one data set.

    ```python
    agreement = evaluate(read_dataset("judgments", "mine.jsonl"), ["cider-d", "bleu-4"])
    agreement.results["cider-d"]["accuracy"]
    ```
    """

    dataset: str
    protocol: str
    results: Mapping[str, Mapping[str, float]]
    """metric -> statistic -> value; shares and coefficients are fractions, counts are int"""
    signatures: Mapping[str, str] = field(default_factory=dict)
    """metric -> signature of its scores"""
    points: Mapping[str, tuple[Floats, Floats]] = field(default_factory=dict, repr=False)
    """metric -> scores and human ratings, for plots; cached results have none"""
    tested: str = ""
    """Statistic that p-values compare, with tests."""

    def to_dict(self) -> dict[str, Any]:
        """Return `{"dataset", "protocol", "results", "signatures"}`, ready for JSON.

        With tests also `"tested"`: the statistic that p-values compare.
        """
        tested = {"tested": self.tested} if self.tested else {}
        return {
            "dataset": self.dataset,
            "protocol": self.protocol,
            "results": {label: dict(found) for label, found in self.results.items()},
            "signatures": dict(self.signatures),
            **tested,
        }

    @property
    def statistics(self) -> list[str]:
        """Names of the statistics, without the bounds of intervals."""
        names = self._list_names()
        bounds = {f"{name}_{side}" for name in names for side in ("low", "high")}
        return [name for name in names if name not in bounds]

    def _list_names(self) -> list[str]:
        return list(dict.fromkeys(name for found in self.results.values() for name in found))

    def table(self, all_columns: bool = False) -> Table:
        """Return a row per metric; shares and coefficients are in percent, with intervals.

        Args:
            all_columns: show all statistics. By default, tables show three and the number of
                judgments or, with tests, the tested one with its p-values; records have all.
        """
        names = self._list_names()
        shown = self.statistics if all_columns else self._choose_statistics()
        hidden = len(self.statistics) - len(shown)
        rows = [
            {
                "metric": label,
                **{name: found.get(name) for name in names},
                "signature": self.signatures.get(label),
            }
            for label, found in self.results.items()
        ]
        return Table(
            [Column("metric"), *(Column(name, partial(_format, name)) for name in shown)],
            rows,
            f"{self.dataset}, {self.protocol}, in percent",
            [
                *([f"not shown: {hidden} other statistics"] if hidden else []),
                *([f"p-values compare metrics by {self.tested}"] if self.tested else []),
            ],
            list(self.signatures.values()),
        )

    def _choose_statistics(self) -> list[str]:
        if self.tested:
            return [n for n in self.statistics if n == self.tested or n.startswith("p_")]
        order = {name: place for place, name in enumerate(IMPORTANT)}
        ordered = sorted(self.statistics, key=lambda name: order.get(name, len(order)))
        counts = [name for name in COUNTS if name in ordered[SHOWN - 1 :]][:1]
        return ordered[: SHOWN - len(counts)] + counts


def _is_p(name: str) -> bool:
    return name.endswith("_p") or name.startswith("p_")


def _format(name: str, row: Mapping[str, Any]) -> str:
    value = row[name]
    if value is None or isinstance(value, int):
        return Column(name).write(row)
    if _is_p(name):
        return format_p(value)
    if name == "tie_threshold":  # on the metric's scale
        return Column(name, ".3g").write(row)
    if name == "correct":  # a count, of halves too
        return Column(name, "g").write(row)
    return format_percent(value, row.get(f"{name}_low"), row.get(f"{name}_high"))
