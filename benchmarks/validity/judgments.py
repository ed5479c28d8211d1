"""Coverage of intervals that use a metric, and judgments that the metric saves.

    python benchmarks/run.py judgments DATA [--worlds 2000] [-m cider-d …]

DATA is the folder above the data sets' folders. Every data set is taken for the whole truth. A
world is a draw of its images with replacement, as many as it has; people judged the first of them.
In each world every quantity is estimated with each metric, and by answers alone. Printed are, as
Markdown: the share of intervals that hold the truth, the mean width with the metric relative to
that without, and the share of judgments saved at equal width: 1 - the mean squared standard error
with the metric over that without. `noise` is a metric of random numbers. The last table looks after
every ten images and counts the worlds in which an interval ever missed the truth.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cidery.meta import Settings, read_dataset
from cidery.meta.estimation.items import (
    PEOPLE,
    Items,
    Quantity,
    draw_samples,
    list_quantities,
    predict,
    read_items,
)
from cidery.runtime import ignore_progress
from cidery.statistics import Estimate, Sample, estimate_contrast
from cidery.tables import Column, Table

DEFAULT = ("bleu-4", "rouge-l", "meteor", "cider-d", "consensus")
NOISE = "noise"
FIRST = 30
"""Images judged at the first look; a system of PASCAL-50S has pairs on a third of the images."""


@dataclass(frozen=True)
class Case:
    """A data set, what of it is estimated, and how many images are judged."""

    dataset: str
    what: str
    kind: str
    """Of the quantities: mean, difference or wins."""
    systems: int
    """Number of items of a quantity."""
    judged: tuple[int, ...]
    settings: Settings


CASES = (
    Case("flickr8k-expert", "mean rating", "mean", 0, (50, 100, 200), Settings()),
    Case("thumb", "differences of two systems", "difference", 2, (50, 100), Settings()),
    Case(
        "pascal-50s", "wins of a system", "wins", 1, (100, 200), Settings(kind="MM", references=5)
    ),
)


class World:
    """One sample, from which images are drawn with replacement."""

    def __init__(self, sample: Sample, count: int) -> None:
        self.sample = sample
        self.order = np.argsort(sample.groups, kind="stable")
        self.sizes = np.bincount(sample.groups, minlength=count)
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)[:-1]])

    def draw(self, images: NDArray[np.int64], judged: int) -> Sample:
        """Return the drawn images' items; answers of all but the first images are taken away."""
        sizes = self.sizes[images]
        groups = np.repeat(np.arange(len(images)), sizes)
        within = np.arange(len(groups)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        items = self.order[np.repeat(self.starts[images], sizes) + within]
        answers = np.where(groups < judged, self.sample.answers[items], np.nan)
        predictions = self.sample.predictions
        return Sample(answers, None if predictions is None else predictions[items], groups)


def find_truth(samples: Sequence[Sample], quantity: Quantity) -> float:
    """Return what people say of everything."""
    means = [float(sample.answers.mean()) for sample in samples]
    return float(np.dot(means, quantity.factors))


def estimate(
    drawn: Sequence[Sample],
    quantity: Quantity,
    scale: tuple[float, float] | None,
    horizon: int | None = None,
) -> Estimate:
    """Return what `cidery meta estimate` would."""
    wins = quantity.kind == "wins"
    return estimate_contrast(
        drawn,
        quantity.factors,
        null=0.5 if wins else 0.0,
        bounds=(0.0, 1.0) if wins else None,
        scale=None if wins else scale,
        horizon=horizon,
    )


@dataclass
class Prepared:
    """A case with its items and a prediction of each by every metric."""

    case: Case
    items: Items
    quantities: list[Quantity]
    predictions: dict[str, NDArray[np.float64] | None]
    images: int

    def worlds(self, label: str) -> Iterator[tuple[Quantity, list[World], float]]:
        """Yield each quantity, its samples and its true value."""
        for quantity in self.quantities:
            samples = draw_samples(self.items, quantity, self.predictions[label])
            assert samples is not None
            worlds = [World(sample, self.images) for sample in samples]
            yield quantity, worlds, find_truth(samples, quantity)


def prepare(case: Case, data: Path, metrics: Sequence[str]) -> Prepared:
    """Read and score a data set."""
    chosen, items = read_items(read_dataset(case.dataset, data), case.settings)
    predicted, _ = predict(chosen, list(metrics), case.settings, 0, ignore_progress)
    _, images = np.unique(items.images, return_inverse=True)
    items = replace(items, images=images)
    noise = np.random.default_rng(0).random(len(items.answers))
    quantities = [
        quantity
        for quantity in list_quantities(items)
        if (quantity.kind, len(quantity.systems)) == (case.kind, case.systems)
    ]
    labeled = {PEOPLE: None, NOISE: noise, **predicted}
    return Prepared(case, items, quantities, labeled, int(images.max()) + 1)


def simulate(prepared: Prepared, judged: int, worlds: int) -> list[list[str]]:
    """Return a row of the table for each metric."""
    rows = []
    for label in prepared.predictions:
        hits, errors, widths = [], [], []
        for quantity, drawn_from, truth in prepared.worlds(label):
            rng = np.random.default_rng(1)
            for _ in range(worlds):
                images = rng.integers(0, prepared.images, prepared.images)
                drawn = [w.draw(images, judged) for w in drawn_from]
                found = estimate(drawn, quantity, prepared.items.scale)
                hits.append(found.low <= truth <= found.high)
                errors.append(found.error**2)
                widths.append(found.high - found.low)
        if label == PEOPLE:
            people_error, people_width = np.mean(errors), np.mean(widths)
        rows.append(
            [
                prepared.case.dataset,
                prepared.case.what,
                f"{judged} of {prepared.images}",
                label,
                f"{100 * np.mean(hits):.1f}",
                f"{np.mean(widths) / people_width:.2f}",
                "" if label == PEOPLE else f"{100 * (1 - np.mean(errors) / people_error):.0f}",
            ]
        )
    return rows


def look_always(prepared: Prepared, label: str, worlds: int) -> list[str]:
    """Return a row: in how many worlds an interval ever misses, at all times and fixed."""
    last = min(200, prepared.images // 2)
    missed = {"sequence": 0, "fixed": 0}
    quantity, drawn_from, truth = next(prepared.worlds(label))
    rng = np.random.default_rng(2)
    wide = []
    for _ in range(worlds):
        images = rng.integers(0, prepared.images, prepared.images)
        looks = [
            [w.draw(images, judged) for w in drawn_from] for judged in range(FIRST, last + 1, 10)
        ]
        for kind, horizon in (("sequence", last), ("fixed", None)):
            found = [estimate(drawn, quantity, prepared.items.scale, horizon) for drawn in looks]
            missed[kind] += any(not f.low <= truth <= f.high for f in found)
            wide.append(found[-1].high - found[-1].low)
    ratio = np.mean(wide[::2]) / np.mean(wide[1::2])
    shares = [f"{100 * missed[kind] / worlds:.1f}" for kind in ("sequence", "fixed")]
    return [
        prepared.case.dataset,
        f"{FIRST}, {FIRST + 10}, … {last}",
        label,
        *shares,
        f"{ratio:.2f}",
    ]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--worlds", type=int, default=2000)
    parser.add_argument("-m", "--metric", action="append", default=None)
    options = parser.parse_args()
    metrics = options.metric or DEFAULT
    rows, always = [], []
    for case in CASES:
        prepared = prepare(case, options.data, metrics)
        for judged in case.judged:
            rows += simulate(prepared, judged, max(1, options.worlds // len(prepared.quantities)))
        always.append(look_always(prepared, metrics[-1], options.worlds // 4))
    names = ("data set", "quantity", "images judged", "with", "coverage", "width", "saved")
    print(Table.of(align(names, 4), rows).to_markdown(), end="\n\n")
    names = ("data set", "looks at", "with", "ever missed", "fixed: ever missed", "width")
    print(Table.of(align(names, 3), always).to_markdown())


def align(names: Sequence[str], left: int) -> list[Column]:
    """Return columns of cells of text, the first `left` of them left-aligned."""
    return [Column(name, align="left" if i < left else "right") for i, name in enumerate(names)]


if __name__ == "__main__":
    main()
