"""plan(): number of judgments needed to detect a difference."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cidery.errors import InputError, SettingError
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
from cidery.statistics import Floats, plan_images
from cidery.statistics.prediction_powered import MIN_GROUPS, find_reach
from cidery.tables import Column, Table, Tabular, without_nan


@dataclass(frozen=True)
class Need:
    """Number of judgments that one comparison needs."""

    comparison: str
    metric: str
    """`people`: without a metric."""
    spread: float
    """Standard deviation over images, for the planned number of judgments per item; for wins, at
    the share to be detected."""
    correlation: float
    """Correlation of human and metric differences over images."""
    images: float
    """Number of images to judge; inf: there are too few."""
    judgments: float
    """Total number of judgments."""


@dataclass(frozen=True, eq=False)
class Plan(Tabular):
    """Number of judgments needed to detect a difference, with and without a metric.

    ```python
    print(plan(read_dataset("judgments", "mine.jsonl"), ["cider-d"], difference=0.2))
    ```
    """

    dataset: str
    needs: Sequence[Need]
    difference: float
    power: float
    confidence: float
    answers: int
    images: int

    def to_dict(self) -> dict[str, Any]:
        """Return all results, for JSON; an unreachable number is None."""
        return {
            "dataset": self.dataset,
            "difference": self.difference,
            "power": self.power,
            "confidence": self.confidence,
            "answers": self.answers,
            "images": self.images,
            "needs": without_nan(self.to_records()),
        }

    def table(self) -> Table:
        """Return a row per comparison and metric."""

        def format_images(row: Mapping[str, Any]) -> str:
            images = row["images"]
            return f"{images:.0f}" if math.isfinite(images) else f"> {self.images}"

        columns = [
            *(Column("comparison"), Column("with", key="metric"), Column("spread", ".3f")),
            Column("correlation", _format_correlation),
            *(Column("images", format_images), Column("judgments", ".0f")),
        ]
        rows = [asdict(need) for need in self.needs]
        return Table(columns, rows, f"{self.dataset}: judgments needed", self.notes())

    def notes(self) -> list[str]:
        """Return the notes below the table."""
        return [
            f"to detect a difference of {self.difference:g} with a power of {100 * self.power:g} "
            f"%, {100 * self.confidence:g} % intervals, answers per item: {self.answers}, "
            f"images: {self.images}"
        ]


def _format_correlation(row: Mapping[str, Any]) -> str:
    return "" if row["metric"] == PEOPLE else f"{row['correlation']:.3f}"


def plan(
    dataset: Dataset,
    metrics: AnyMetrics = None,
    settings: Settings | None = None,
    *,
    difference: float,
    power: float = 0.8,
    confidence: float = 0.95,
    answers: int | None = None,
    images: int | None = None,
    scale: tuple[float, float] | None = None,
    threads: int = 0,
    cache: bool | str | os.PathLike[str] = False,
    progress: ProgressCallback = ignore_progress,
    **changes: Any,
) -> Plan:
    """Return the number of judgments needed to detect a difference, from a pilot or other data set.

    Args:
        dataset: judgments of the same kind, for variance and correlation.
        metrics: as in `evaluate`; each gives a plan beside that without.
        settings: which references, systems and question.
        difference: the smallest that is to be found: of mean ratings, or of a share of wins
            from a half, at most 0.5.
        power: the chance to find it where it is there.
        confidence: of the intervals.
        answers: how many people rate each caption; default: as many as in the data, on average.
            Other numbers need data in which several people rated the same captions.
        images: how many the metric can score; default: those of the data set.
        scale: of the ratings, as in `estimate`.
        threads: 0 means one per core; any number gives the same bits.
        cache: True caches scores in the user's cache directory, a path in that folder.
        progress: called with what is being done, how much of it, 0 to 1, is done.
        changes: fields of `Settings`.

    ```python
    plan(read_dataset("judgments", "mine.jsonl"), ["cider-d"], difference=0.1).needs
    ```
    """
    asked = (settings or Settings()).change(**changes)
    chosen, items = read_judged_items(dataset, asked)
    items = read_scale(items, scale)
    if items.are_pairs and difference > 0.5:
        raise SettingError(f"difference must be at most 0.5 for shares of wins, not {difference:g}")
    if images is not None and images < 1:
        raise SettingError(f"images must be at least 1, not {images}")
    if answers is not None and answers < 1:
        raise SettingError(f"answers must be at least 1, not {answers}")
    if answers is not None and math.isnan(items.spread):
        raise SettingError(
            f"{dataset.name} has no variance of answers to the same caption, so that "
            "other numbers of answers cannot be planned; remove answers"
        )
    predictions, _ = predict(chosen, metrics, asked, threads, progress, cache)
    there = len(np.unique(items.images)) if images is None else images
    each = answers or max(1, round(float(items.counts[items.counts > 0].mean())))
    needs = []
    quantities = list(list_quantities(items))
    compared = [q for q in quantities if len(q.systems) == 2] or quantities
    for quantity in compared:
        for label, predicted in {PEOPLE: None, **predictions}.items():
            found = _measure(items, quantity, predicted, answers)
            if found is None:
                continue
            spread = found.spread
            if quantity.kind == "wins":
                spread = found.spread_at(0.5 + difference)
            needed = plan_images(
                difference,
                spread,
                correlation=found.correlation,
                images=there,
                power=power,
                confidence=confidence,
                added=4 if quantity.kind == "wins" else 0,
                reach=found.reach,
            )
            judgments = math.ceil(needed * found.items * each) if needed < math.inf else needed
            needs.append(
                Need(quantity.name, label, spread, found.correlation, needed, float(judgments))
            )
    if not needs:
        raise InputError(f"{dataset.name}: a plan needs comparisons with at least 5 judged images")
    return Plan(dataset.name, needs, difference, power, confidence, each, there)


@dataclass(frozen=True)
class _Pilot:
    """Statistics of a comparison in the pilot."""

    spread: float
    correlation: float
    mean: float
    """Standard deviation over images."""
    items: float
    """Items per image."""
    reach: float
    """Width of the range of images' values."""

    def spread_at(self, share: float) -> float:
        """Return the spread at another share of wins.

        Relative to that of single wins and losses it stays what it is: smaller where there are
        ties, or several pairs of an image.
        """
        single = self.mean * (1 - self.mean)
        relative = min(1.0, self.spread**2 / single) if single > 0 else 1.0
        return math.sqrt(relative * share * (1 - share))


def _measure(
    items: Items, quantity: Quantity, predicted: Floats | None, answers: int | None
) -> _Pilot | None:
    """Return standard deviation and correlation over images; None for too few judged images."""
    samples = draw_samples(items, quantity, predicted)
    if samples is None:
        return None
    count = int(items.images.max()) + 1
    value, guess, present = np.zeros(count), np.zeros(count), np.ones(count, np.bool_)
    asked = 0.0
    for sample, factor in zip(samples, quantity.factors, strict=True):
        known = ~np.isnan(sample.answers)
        groups = sample.groups[known]
        sizes = np.maximum(np.bincount(groups, minlength=count), 1)
        present &= np.bincount(groups, minlength=count) > 0
        value += factor * np.bincount(groups, sample.answers[known], count) / sizes
        asked += len(sample.groups) / len(np.unique(sample.groups))
        if sample.predictions is not None:
            guess += factor * np.bincount(groups, sample.predictions[known], count) / sizes
    value, guess = value[present], guess[present]
    if len(value) < MIN_GROUPS:
        return None
    variance = float(value.var(ddof=1))
    covariance = float(np.cov(value, guess)[0, 1])
    if answers is not None:
        # The answers' own scatter at the number there is goes, that at the planned one comes.
        now, then = _count_scatter(items, quantity, present, answers)
        variance = max(variance - items.spread**2 * now, 0.0) + items.spread**2 * then
    spread, of_guess = math.sqrt(variance), float(guess.std(ddof=1))
    correlation = covariance / (spread * of_guess) if spread and of_guess else 0.0
    return _Pilot(
        spread,
        min(1.0, max(-1.0, correlation)),
        float(value.mean()),
        asked,
        find_reach(samples, quantity.factors, items.scale) if items.scale else 0.0,
    )


def _count_scatter(
    items: Items, quantity: Quantity, present: NDArray[np.bool_], answers: int
) -> tuple[float, float]:
    """Return the variance of images' values, by that of one answer: now, and as planned.

    A mean over captions, each of which has a mean over answers, scatters the less the more there
    are of both.
    """
    now = then = 0.0
    for place, _ in quantity.parts:
        judged = place[items.counts[place] > 0]
        groups = items.images[judged]
        sizes = np.bincount(groups, minlength=len(present))[present]
        scatter = np.bincount(groups, 1 / items.counts[judged], len(present))[present]
        now += float((scatter / sizes**2).mean())
        then += float((1 / sizes).mean()) / answers
    return now, then
