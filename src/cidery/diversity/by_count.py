"""Diversity by the number of captions per image."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from cidery.corpus import ImageId, Missing, References
from cidery.diversity.accuracy import (
    BETA_SQUARED,
    choose_accuracy,
    list_rows,
    measure_accuracy,
    pair_references,
)
from cidery.diversity.caption_sets import CaptionSets, SetsLike
from cidery.diversity.kernels import Kernel
from cidery.diversity.measurement import measure_diversity
from cidery.diversity.measures import MeasureLike
from cidery.errors import InputError, SettingError
from cidery.scoring.pipeline import PipelineLike, PipelineSettings
from cidery.scoring.score_table import ScoreTable
from cidery.statistics import Floats

if TYPE_CHECKING:
    from typing_extensions import Unpack

COUNTS = (2, 5, 8, 10)
"""Numbers of captions in figure 6 of the paper."""


def diversity_by_count(
    sets: SetsLike,
    references: References,
    counts: Sequence[int] | None = None,
    measures: MeasureLike | Iterable[MeasureLike] | None = ("self-cider", "lsa"),
    *,
    kernel: Kernel = "cider",
    accuracy: PipelineLike = "cider-d",
    beta_squared: float = BETA_SQUARED,
    stop_words: str | tuple[str, ...] | None = None,
    missing: Missing = "error",
    **settings: Unpack[PipelineSettings],
) -> dict[int, ScoreTable]:
    """Measure diversity of each image's best 2, 5, 8, 10 captions: figure 6 of Wang and Chan 2019.

    Captions are ranked by accuracy, ties in the given order. Default `counts`: those of the paper
    up to the size of the smallest set, and that size. The other arguments are those of
    `measure_diversity`.

    ```python
    curve = diversity_by_count(sets, references, counts=(2, 5))
    [table.corpus["self-cider"] for table in curve.values()]
    ```
    """
    against = pair_references(sets, references, missing)
    if against is None:
        raise SettingError("references are required: captions are ranked by accuracy")
    pipeline = choose_accuracy(accuracy, **settings)
    checked = CaptionSets.build(list_rows(against), missing=missing)
    chosen = _choose_counts(checked, counts)
    values, _ = measure_accuracy(pipeline, checked, against)
    ranked = _rank_captions(checked, values)
    return {
        count: measure_diversity(
            {image: captions[:count] for image, captions in ranked.items()},
            measures,
            kernel=kernel,
            references=references,
            accuracy=pipeline,
            beta_squared=beta_squared,
            stop_words=stop_words,
            missing="skip",
        )
        for count in chosen
    }


def _choose_counts(sets: CaptionSets, counts: Sequence[int] | None) -> Sequence[int]:
    fewest = int(sets.sizes.min())
    if counts is None:
        return [*(count for count in COUNTS if count < fewest), fewest]
    if not counts or min(counts) < 2 or max(counts) > fewest:
        image = sets.images[int(sets.sizes.argmin())]
        raise InputError(
            f"counts lie between 2 and the {fewest} captions of image {image!r}, not {list(counts)}"
        )
    return counts


def _rank_captions(sets: CaptionSets, values: Floats) -> dict[ImageId, list[str]]:
    """Return each image's captions by descending accuracy; ties keep their order."""
    ranked: dict[ImageId, list[str]] = {}
    for image, start, captions in zip(
        sets.images, sets.offsets.tolist(), sets.groups(), strict=False
    ):
        order = np.argsort(-values[start : start + len(captions)], kind="stable")
        ranked[image] = [captions[i] for i in order]
    return ranked
