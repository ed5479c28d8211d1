"""Limits of consensus on THumB: linear mixes of its parts, fitted to the judgments.

`python benchmarks/run.py consensus_limits FOLDER -e minilm -e mpnet`: FOLDER has THumB.

For each encoder, without a lens: Pearson's r with people's totals, without and with human captions,
with 95 % intervals by image, and the systems' means. Then, for captions of systems, what a
least-squares mix of the parts reaches on the judgments that it was fitted to, which no other
weights of a sum can surpass, and on images that it was not fitted to; last with all encoders, and
with what claims (-m claims-f) and n-gram metrics tell besides. Last, r by number of references: 1,
2, … drawn at random, all, and all with the human caption of the image, which is no candidate then.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cidery import Consensus, Pipeline
from cidery.corpus import Corpus
from cidery.meta import Ratings, read_dataset
from cidery.metrics import METRICS, Metric
from cidery.statistics import Floats

HUMAN = "Human"
FOLDS = 10
RIDGE = 1e-2
"""Only so that parts that do not vary do no harm."""
RESAMPLES = 1000
CLAIMS = 4
"""The columns of claims that are taken: F, precision, recall, contradictions."""


OTHERS = ("claims-f", "cider-d", "meteor", "spice", "rouge-l")
DRAWS = 3


def measure(
    thumb: Ratings, metric: Metric, references: Sequence[Sequence[str]] | None = None
) -> Floats:
    """Return the metric's rows, of consensus the score and its parts, of each caption."""
    judged = thumb.judged
    corpus = Corpus.from_references([list(group) for group in references or judged.references])
    scorer = Pipeline.choose({"metric": metric}, threads=1, frequencies="coco-train2014").prepare(
        corpus
    )
    return scorer.measure(list(judged.captions), judged.documents)["metric"]


def read(encoder: str) -> Consensus:
    return Consensus(encoder=encoder, lens=False, keep=True)


def measure_others(thumb: Ratings) -> list[Floats]:
    """Return what each claim metric and each n-gram metric gives."""
    found: list[Floats] = []
    for name in OTHERS:
        rows = measure(thumb, METRICS[name])
        found += [*rows.T[:CLAIMS]] if name == "claims-f" else [METRICS[name].each(rows)]
    return [np.nan_to_num(column) for column in found]


def show_counts(thumb: Ratings, encoder: str, written: NDArray[np.bool_]) -> None:
    """Print r by number of references."""
    judged = thumb.judged
    groups = [list(group) for group in judged.references]
    people = {
        int(document): caption
        for caption, document, is_machine in zip(
            judged.captions, judged.documents, written, strict=True
        )
        if not is_machine
    }
    fewest = min(map(len, groups))
    for count in range(1, fewest):
        found = []
        for seed in range(DRAWS):
            rng = np.random.default_rng(seed)
            drawn = [[str(c) for c in rng.choice(group, count, replace=False)] for group in groups]
            scores = measure(thumb, read(encoder), drawn)[written, 0]
            found.append(pearson(scores, thumb.ratings[written]))
        print(f"{encoder:8} {count} references, mean of {DRAWS} draws: r {np.mean(found):.3f}")
    more = [[*group, people[place]] for place, group in enumerate(groups)]
    for label, references in ((f"{fewest} references", groups), ("and the human caption", more)):
        scores = measure(thumb, read(encoder), references)[written, 0]
        print(f"{encoder:8} {label}: r {pearson(scores, thumb.ratings[written]):.3f}")


def pearson(one: Floats, other: Floats) -> float:
    return float(np.corrcoef(one, other)[0, 1])


def draw(scores: Floats, totals: Floats, images: NDArray[np.int64]) -> tuple[float, float]:
    """Return a 95 % interval of Pearson by bootstrap draws of images."""
    rng = np.random.default_rng(0)
    groups = [np.flatnonzero(images == image) for image in np.unique(images)]
    found = []
    for _ in range(RESAMPLES):
        rows = np.concatenate([groups[i] for i in rng.integers(0, len(groups), len(groups))])
        found.append(pearson(scores[rows], totals[rows]))
    low, high = np.percentile(found, [2.5, 97.5])
    return float(low), float(high)


def mix(parts: Sequence[Floats], totals: Floats, images: NDArray[np.int64]) -> tuple[float, float]:
    """Return Pearson of a mix that was fitted to the same judgments, and to other images'."""
    table = np.column_stack([np.ones(len(totals)), *parts])

    def fit(rows: NDArray[np.bool_]) -> Floats:
        known = table[rows]
        square = known.T @ known + RIDGE * np.eye(known.shape[1])
        return np.asarray(np.linalg.solve(square, known.T @ totals[rows]), np.float64)

    same = table @ np.linalg.lstsq(table, totals, rcond=None)[0]
    other = np.zeros(len(totals))
    for fold in range(FOLDS):
        rows = images % FOLDS == fold
        other[rows] = table[rows] @ fit(~rows)
    return pearson(same, totals), pearson(other, totals)


def show_mix(name: str, parts: Sequence[Floats], totals: Floats, images: NDArray[np.int64]) -> None:
    same, other = mix(parts, totals, images)
    print(
        f"{name:8} mix of {len(parts):2} parts: same judgments {same:.3f}, other images {other:.3f}"
    )


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("folder", type=Path)
    words.add_argument("-e", "--encoder", action="append", help="default: minilm")
    given = words.parse_args()
    thumb = read_dataset("thumb", given.folder)
    assert isinstance(thumb, Ratings)
    systems, totals = np.asarray(thumb.systems), thumb.ratings
    images = thumb.judged.image_of_caption
    written = systems != HUMAN
    everything: list[Floats] = []
    for encoder in given.encoder or ["minilm"]:
        rows = measure(thumb, read(encoder))
        for label, some in (("without", written), ("with", np.ones(len(totals), np.bool_))):
            r = pearson(rows[some, 0], totals[some])
            low, high = draw(rows[some, 0], totals[some], images[some])
            print(f"{encoder:8} {label:7} human captions: r {r:.3f} [{low:.3f}, {high:.3f}]")
        means = {name: rows[systems == name, 0].mean() for name in np.unique(systems)}
        ordered = sorted(means.items(), key=lambda pair: -pair[1])
        print(f"{encoder:8} " + ", ".join(f"{name} {mean:.4f}" for name, mean in ordered))
        parts = [*rows[written, 1:].T]
        show_mix(encoder, parts, totals[written], images[written])
        everything += parts
    if len(given.encoder or ()) > 1:
        show_mix("together", everything, totals[written], images[written])
    others = [column[written] for column in measure_others(thumb)]
    show_mix("others", everything + others, totals[written], images[written])
    for encoder in given.encoder or ["minilm"]:
        show_counts(thumb, encoder, written)


if __name__ == "__main__":
    main()
