"""Differences between two systems by pieces of captions, such as n-grams, and by images."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from cidery.corpus import Corpus, ImageId
from cidery.errors import SettingError
from cidery.metrics import Metric
from cidery.scoring.score_table import ScoreTable
from cidery.scoring.scorer import Scorer
from cidery.statistics import Floats, draw_sums, sum_by_group
from cidery.statistics.resampling import find_bounds
from cidery.tables import Column, ScoreFormat, Table, Tabular

PIECES = 10
"""Number of pieces shown."""
IMAGES = 5
"""Number of images shown."""


@dataclass(frozen=True)
class PieceDifference:
    """A piece of captions, such as an n-gram, that contributes differently to two scores."""

    piece: str
    difference: float
    """Mean contribution per caption to the first system's score minus that to the second's."""
    low: float
    high: float
    """Bootstrap interval of the difference, over images."""
    uses: int
    """Number of captions of the first system with this piece."""
    other_uses: int


@dataclass(frozen=True)
class ImageDifference:
    """An image on which two systems score differently."""

    image: ImageId
    difference: float
    captions: tuple[str, ...]
    other_captions: tuple[str, ...]


@dataclass(frozen=True)
class Differences(Tabular):
    """Differences between two systems by one metric, the largest first."""

    metric: str
    systems: tuple[str, str]
    kind: str
    """Kind of pieces: `n-gram`, `tuple` or `word`."""
    pieces: tuple[PieceDifference, ...]
    images: tuple[ImageDifference, ...]
    confidence: float

    def table(self, form: ScoreFormat | None = None) -> Table:
        """Return a row per piece, and below a row per image with both systems' captions.

        Args:
            form: format of the differences. Default: 4 decimals.
        """
        form = form or ScoreFormat()
        one, other = self.systems
        difference = Column(
            "diff", lambda row: form.write(self.metric, row["difference"], "+"), key="difference"
        )
        pieces = [
            *(Column(self.kind, key="piece"), difference),
            Column(
                f"{100 * self.confidence:g} % interval",
                lambda row: form.write_interval(self.metric, row["low"], row["high"], "+"),
            ),
            *(Column(one, key="uses"), Column(other, key="other_uses")),
        ]
        of_image = replace(difference, format=lambda row: form.write(self.metric, row["1"], "+"))
        images = Table.of(
            ["image", of_image, one, other],
            [
                (
                    str(found.image),
                    found.difference,
                    " / ".join(found.captions),
                    " / ".join(found.other_captions),
                )
                for found in self.images
            ],
        )
        return Table(
            pieces,
            [vars(found) for found in self.pieces],
            f"{self.metric}: largest differences between {one} and {other}",
            [NOTE, *form.describe([self.metric])],
            records=self._list_records(),
            below=[images],
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        return {
            "systems": list(self.systems),
            "kind": self.kind,
            "pieces": [vars(found) for found in self.pieces],
            "images": [
                vars(found)
                | {
                    "captions": list(found.captions),
                    "other_captions": list(found.other_captions),
                }
                for found in self.images
            ],
        }

    def _list_records(self) -> list[dict[str, Any]]:
        """Return a row per piece, then per image."""
        one, other = self.systems
        head = {"metric": self.metric, "system": one, "other": other}
        return [
            *({**head, "kind": self.kind, **vars(found)} for found in self.pieces),
            *(
                {
                    **head,
                    "kind": "image",
                    "piece": found.image,
                    "difference": found.difference,
                    "low": None,
                    "high": None,
                    "uses": len(found.captions),
                    "other_uses": len(found.other_captions),
                }
                for found in self.images
            ),
        ]


NOTE = (
    "diff: mean contribution per caption to the score of the first system minus the second; "
    "columns of systems: number of captions with it. Intervals are not corrected for the selection "
    "of the largest differences."
)


def find_differences(
    scorer: Scorer,
    corpora: Mapping[str, Corpus],
    tables: Mapping[str, ScoreTable],
    confidence: float,
    resamples: int,
    seed: int,
) -> dict[str, dict[tuple[str, str], Differences]]:
    """Return metric -> (system, other system) -> differences."""
    found = {}
    for label, metric in choose_explained(scorer.metrics).items():
        sums = {
            name: _Sums.count(
                scorer.credit_pieces(label, corpus.candidates, corpus.candidate_images), corpus
            )
            for name, corpus in corpora.items()
        }
        found[label] = {
            (one, other): Differences(
                label,
                (one, other),
                metric.explanation_unit or "word",
                _compare_pieces(sums[one], sums[other], confidence, resamples, seed),
                _compare_images(
                    label, (corpora[one], corpora[other]), (tables[one], tables[other])
                ),
                confidence,
            )
            for one, other in combinations(corpora, 2)
        }
    return found


def choose_explained(metrics: Mapping[str, Metric]) -> dict[str, Metric]:
    """Return the metrics that explain n-grams or tuples, or else those that explain words."""
    able = {label: metric for label, metric in metrics.items() if metric.explanation_unit}
    if not able:
        raise SettingError(
            f"none of {', '.join(metrics)} explains its scores; add a metric that does, such as "
            "cider-d"
        )
    own = {label: metric for label, metric in able.items() if metric.explanation_unit != "word"}
    return own or able


@dataclass(frozen=True, eq=False)
class _Sums:
    """Contributions of pieces to one system's scores."""

    pieces: Sequence[Mapping[str, float]]
    """Contributions by caption."""
    corpus: Corpus
    totals: Mapping[str, float]
    uses: Counter[str]

    @classmethod
    def count(cls, pieces: Sequence[Mapping[str, float]], corpus: Corpus) -> _Sums:
        totals: dict[str, float] = {}
        uses: Counter[str] = Counter()
        for found in pieces:
            uses.update(found.keys())
            for piece, value in found.items():
                totals[piece] = totals.get(piece, 0.0) + value
        return cls(pieces, corpus, totals, uses)

    def mean(self, piece: str) -> float:
        """Return the mean contribution of a piece per caption."""
        return self.totals.get(piece, 0.0) / len(self.pieces)

    def rows(self, chosen: Mapping[str, int]) -> Floats:
        """Return each image's contributions of the chosen pieces, and its number of captions."""
        rows = np.zeros((len(self.pieces), len(chosen) + 1))
        rows[:, -1] = 1
        for row, found in enumerate(self.pieces):
            for piece in found.keys() & chosen.keys():
                rows[row, chosen[piece]] = found[piece]
        return sum_by_group(rows, self.corpus.candidate_images, len(self.corpus.images))


def _compare_pieces(
    one: _Sums, other: _Sums, confidence: float, resamples: int, seed: int
) -> tuple[PieceDifference, ...]:
    differences = {
        piece: one.mean(piece) - other.mean(piece)
        for piece in dict.fromkeys((*one.totals, *other.totals))
    }
    largest = sorted(differences, key=lambda piece: -abs(differences[piece]))[:PIECES]
    chosen = {piece: place for place, piece in enumerate(largest)}
    drawn = [draw_sums(side.rows(chosen), resamples, seed) for side in (one, other)]
    with np.errstate(invalid="ignore", divide="ignore"):
        means = [sums[:, :-1] / sums[:, -1:] for sums in drawn]
    samples = means[0] - means[1]
    found = []
    for piece, place in chosen.items():
        low, high = find_bounds(samples[:, place], confidence)
        uses, other_uses = one.uses[piece], other.uses[piece]
        found.append(PieceDifference(piece, differences[piece], low, high, uses, other_uses))
    return tuple(found)


def _compare_images(
    label: str, corpora: tuple[Corpus, Corpus], tables: tuple[ScoreTable, ScoreTable]
) -> tuple[ImageDifference, ...]:
    """Return the images on which the captions' mean scores differ most.

    Images without a score of both systems (NaN) are ignored.
    """
    first, second = (
        _mean_scores(table.each[label], corpus)
        for corpus, table in zip(corpora, tables, strict=True)
    )
    # Systems list images in the references' order, the same for both.
    differences = first - second
    largest = np.argsort(-np.abs(np.nan_to_num(differences)), kind="stable")[:IMAGES]
    captions = [_list_captions(corpus, set(largest.tolist())) for corpus in corpora]
    return tuple(
        ImageDifference(
            corpora[0].images[image],
            float(differences[image]),
            tuple(captions[0][image]),
            tuple(captions[1][image]),
        )
        for image in largest.tolist()
        if np.nan_to_num(differences[image])
    )


def _mean_scores(each: Floats, corpus: Corpus) -> Floats:
    rows = np.stack([np.nan_to_num(each), ~np.isnan(each)], axis=1)
    sums = sum_by_group(rows, corpus.candidate_images, len(corpus.images))
    with np.errstate(invalid="ignore"):
        means: Floats = sums[:, 0] / sums[:, 1]
    return means


def _list_captions(corpus: Corpus, images: set[int]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {image: [] for image in images}
    for caption, image in zip(corpus.candidates, corpus.candidate_images.tolist(), strict=True):
        if image in images:
            found[image].append(caption)
    return found
