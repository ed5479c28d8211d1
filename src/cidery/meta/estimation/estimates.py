"""estimate(): means, differences and shares of wins, with intervals."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from cidery.meta.estimation.items import (
    PEOPLE,
    Items,
    Quantity,
    draw_samples,
    list_quantities,
    predict,
    read_judged_items,
    read_scale,
)
from cidery.meta.judgments import Dataset
from cidery.meta.labels import AnyMetrics
from cidery.meta.settings import Settings
from cidery.runtime import ProgressCallback, ignore_progress
from cidery.statistics import Estimate, Floats, adjust_together, estimate_contrast
from cidery.statistics.prediction_powered import MIN_GROUPS, MIN_GROUPS_TO_DECIDE
from cidery.tables import UNDEFINED, Column, Table, Tabular, format_p


@dataclass(frozen=True, eq=False)
class Estimates(Tabular):
    """Estimated means, differences and shares of wins, for images like these.

    ```python
    found = estimate(read_dataset("judgments", "mine.jsonl"), ["cider-d"])
    found.results["cider-d"]
    ```
    """

    dataset: str
    results: Mapping[str, Mapping[str, Estimate | None]]
    """metric, or `people` for judgments alone -> quantity -> estimate; None for fewer than five
    judged images"""
    comparisons: Sequence[str]
    """Names of comparisons: differences and shares of wins between two systems."""
    judged: int
    items: int
    signatures: Mapping[str, str] = field(default_factory=dict)
    confidence: float = 0.95
    anytime: bool = False
    scale: tuple[float, float] | None = None
    """Scale of the ratings, set or inferred; None for pairs."""

    def undecided(self, metric: str = PEOPLE) -> list[str]:
        """Return the undecided comparisons at this confidence, corrected for their number.

        None is decided before 30 images are judged.
        """
        found = self.results[metric]
        return [
            name
            for name in self.comparisons
            if (known := found[name]) is None or not known.is_decided
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return all results, for JSON."""
        return {
            "dataset": self.dataset,
            "judged": self.judged,
            "items": self.items,
            "confidence": self.confidence,
            "anytime": self.anytime,
            "scale": self.scale,
            "results": {
                label: {
                    name: None if known is None else asdict(known) | {"saved": known.saved}
                    for name, known in found.items()
                }
                for label, found in self.results.items()
            },
            "undecided": {label: self.undecided(label) for label in self.results},
            "signatures": dict(self.signatures),
        }

    def table(self) -> Table:
        """Return a row per quantity and metric; p-values of comparisons are Holm-corrected."""
        rows = [
            {"quantity": name, "with": label}
            | {key: getattr(found[name], key, None) for key in _RECORDED}
            for name in next(iter(self.results.values()))
            for label, found in self.results.items()
        ]
        columns = [
            *(Column("quantity"), Column("with"), Column("estimate", _format_value)),
            Column(f"{100 * self.confidence:g} % interval", _format_interval),
            Column("p", self._format_p),
            *(Column("judged"), Column("saved", _format_saved)),
        ]
        title = f"{self.dataset}: estimates of judgments"
        return Table(columns, rows, title, self.notes(), list(self.signatures.values()))

    def _format_p(self, row: Mapping[str, Any]) -> str:
        compared = row["value"] is not None and row["quantity"] in self.comparisons
        return format_p(row["adjusted_p"]) if compared else ""

    def notes(self) -> list[str]:
        """Return the notes below the table."""
        lines = [f"{self.judged} of {self.items} items were judged"]
        if self.scale is not None:
            lines.append("scale of the ratings: {:g} to {:g}".format(*self.scale))
        if self.comparisons:
            number = len(self.comparisons)
            lines.append(
                "p: test of a difference of 0, or of 50 % wins"
                + (f"; Holm-corrected for the {number} comparisons" if number > 1 else "")
            )
        if len(self.results) > 1:
            lines.append("saved: the share of judgments that the metric's scores replace")
        if self.anytime:
            lines.append(
                "intervals and p are valid at any time, also if you stop early because of them"
            )
        for label in self.results:
            if open_ones := self.undecided(label):
                lines.append(f"not decided ({label}): {', '.join(open_ones)}")
        if missing := self._count_missing():
            lines.append(
                f"nothing is decided before {MIN_GROUPS_TO_DECIDE} images were judged; still to be "
                f"judged: {', '.join(f'{name} on {count}' for name, count in missing.items())}"
            )
        return lines

    def _count_missing(self) -> dict[str, int]:
        """Return the number of further images that any decision needs."""
        found = self.results[PEOPLE]
        judged = {name: known.images for name in self.comparisons if (known := found[name])}
        return {
            n: MIN_GROUPS_TO_DECIDE - images
            for n, images in judged.items()
            if images < MIN_GROUPS_TO_DECIDE
        }


_RECORDED = (
    *("value", "low", "high", "error", "weight", "judged", "images", "p", "adjusted_p", "saved"),
)


def _format_value(row: Mapping[str, Any]) -> str:
    return UNDEFINED if row["value"] is None else f"{row['value']:.3f}"


def _format_interval(row: Mapping[str, Any]) -> str:
    return "too few judged" if row["value"] is None else "[{low:.3f}, {high:.3f}]".format_map(row)


def _format_saved(row: Mapping[str, Any]) -> str:
    return "" if row["with"] == PEOPLE or row["value"] is None else f"{100 * row['saved']:.0f} %"


def estimate(
    dataset: Dataset,
    metrics: AnyMetrics = None,
    settings: Settings | None = None,
    *,
    confidence: float = 0.95,
    horizon: int | None = None,
    scale: tuple[float, float] | None = None,
    threads: int = 0,
    cache: bool | str | os.PathLike[str] = False,
    progress: ProgressCallback = ignore_progress,
    **changes: Any,
) -> Estimates:
    """Estimate means and wins of systems from few judgments and scores of all captions.

    Ratings give each system's mean and the differences between systems; pairs give the share of
    wins of each system, against all opponents and against each. The judged captions must be a
    random sample; `choose_next` draws one.

    Args:
        dataset: ratings or pairs, of which some were judged.
        metrics: as in `evaluate`; each gives estimates beside those from answers alone.
        settings: which references, systems and question; `confidence` and intervals are below.
        confidence: of the intervals.
        horizon: intervals that hold at all times, narrowest at about that many judged images; see
            `cidery.statistics.estimate_contrast`.
        scale: the least and the greatest rating that people could give; default: of 0 to 1, 1 to
            5, 0 to 10 and 0 to 100 the first that holds all ratings, or else their range.
        threads: 0 means one per core; any number gives the same bits.
        cache: True caches scores in the user's cache directory, a path in that folder.
        progress: called with what is being done, how much of it, 0 to 1, is done.
        changes: fields of `Settings`, such as `without_system="human"`.

    ```python
    found = estimate(read_dataset("judgments", "mine.jsonl"), ["cider-d"], confidence=0.9)
    ```
    """
    asked = (settings or Settings()).change(**changes)
    chosen, items = read_judged_items(dataset, asked)
    items = read_scale(items, scale)
    predictions, signatures = predict(chosen, metrics, asked, threads, progress, cache)
    quantities = list(list_quantities(items))
    results: dict[str, dict[str, Estimate | None]] = {}
    for label, predicted in {PEOPLE: None, **predictions}.items():
        results[label] = estimate_quantities(items, quantities, predicted, confidence, horizon)
    return Estimates(
        dataset.name,
        results,
        [quantity.name for quantity in quantities if len(quantity.systems) == 2],
        int(np.count_nonzero(items.counts)),
        len(items.answers),
        signatures,
        confidence,
        horizon is not None,
        items.scale,
    )


def estimate_quantities(
    items: Items,
    quantities: Sequence[Quantity],
    predicted: Floats | None,
    confidence: float,
    horizon: int | None,
) -> dict[str, Estimate | None]:
    """Return estimates by name; p-values of comparisons are corrected for their number.

    Args:
        items: the judged items.
        quantities: quantities to estimate, as `list_quantities` gives them.
        predicted: predictions of all items by a metric; None: from answers alone.
        confidence: of the intervals.
        horizon: as in `estimate`; None: intervals for a number of answers fixed in advance.
    """
    found = {
        quantity.name: _estimate_quantity(items, quantity, predicted, confidence, horizon)
        for quantity in quantities
    }
    compared = [q.name for q in quantities if len(q.systems) == 2 and found[q.name] is not None]
    adjusted = adjust_together([e for name in compared if (e := found[name]) is not None])
    return found | dict(zip(compared, adjusted, strict=True))


def _estimate_quantity(
    items: Items,
    quantity: Quantity,
    predicted: Floats | None,
    confidence: float,
    horizon: int | None,
) -> Estimate | None:
    """Return the estimate of one quantity; None for fewer than five judged images."""
    samples = draw_samples(items, quantity, predicted)
    if samples is None:
        return None
    judged = [len(np.unique(s.groups[~np.isnan(s.answers)])) for s in samples]
    if min(judged) < MIN_GROUPS:
        return None
    wins = quantity.kind == "wins"
    return estimate_contrast(
        samples,
        quantity.factors,
        confidence=confidence,
        null=0.5 if wins else 0.0,
        bounds=(0.0, 1.0) if wins else None,
        scale=None if wins else items.scale,
        horizon=horizon,
    )
