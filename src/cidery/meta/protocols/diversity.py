"""Protocol `diversity`: correlation of diversity measures with ratings of sets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np

from cidery.diversity import Measure, get_measures, measure_diversity
from cidery.errors import InputError
from cidery.meta.judgments import Indexes, Sets
from cidery.meta.protocols.base import Verdict, draw_correlations, get_bounds, pool_rows
from cidery.meta.scoring import CaptionScorer, Scores
from cidery.meta.settings import Settings
from cidery.statistics import Correlation, Floats, pearson_rows, pool_pearson

SetFunction: TypeAlias = Callable[[list[str]], float]
"""`f(captions) -> diversity`, higher is more diverse."""
MeasuresByLabel: TypeAlias = Mapping[str, Measure | SetFunction]


def judge_sets(
    sets: Sets, measures: MeasuresByLabel, settings: Settings, scorer: CaptionScorer
) -> dict[str, Verdict]:
    """Return the correlation of measures with ratings of sets (Wang and Chan 2019, Table 2).

    A measure is one of `cidery.diversity`, or a function `f(captions) -> diversity`.
    """
    images = np.unique(list(sets.images), return_inverse=True)[1].astype(np.int64)
    measured = _measure_sets(sets, measures, settings, scorer)
    verdicts = {}
    for label, scores in measured.each.items():
        correlation = Correlation.build(scores, sets.ratings)
        statistics = correlation() | get_bounds(draw_correlations(correlation, images, settings))
        by_image = _correlate_by_image(scores, sets.ratings, images)
        statistics |= pool_rows("spearman_per_image", by_image, settings)
        statistics["sets"] = len(sets)
        rows = pearson_rows(scores, sets.ratings, images)
        verdicts[label] = Verdict(
            statistics,
            measured.signatures[label],
            rows,
            pool_pearson,
            "pearson",
            scores,
            sets.ratings,
        )
    return verdicts


def _measure_sets(
    sets: Sets, measures: MeasuresByLabel, settings: Settings, scorer: CaptionScorer
) -> Scores:
    each: dict[str, Floats] = {}
    signatures: dict[str, str] = {}
    named = {label: m for label, m in measures.items() if isinstance(m, Measure)}
    if named:
        counted_on = settings.frequencies
        table = measure_diversity(
            [list(captions) for captions in sets.captions],
            named.values(),
            frequencies=None if counted_on == "references" else counted_on,
            tokenizer=scorer.pipeline.tokenizer,
            threads=scorer.pipeline.threads,
        )
        # The caller may have chosen other labels than the table's.
        label_of = {measure: label for label, measure in get_measures(named.values()).items()}
        each = {label: table.each[label_of[m]] for label, m in named.items()}
        signatures = {label: table.signatures[label_of[m]] for label, m in named.items()}
    for label, measure in measures.items():
        if not isinstance(measure, Measure):
            each[label] = _call(label, measure, sets, scorer)
            signatures[label] = f"{label}|function"
    return Scores({label: each[label] for label in measures}, signatures)


def _call(label: str, function: SetFunction, sets: Sets, scorer: CaptionScorer) -> Floats:
    scores = np.empty(len(sets))
    for place, captions in enumerate(sets.captions):
        scores[place] = function(list(captions))
        if not np.isfinite(scores[place]):
            raise InputError(f"{label} gave {scores[place]} for the captions {list(captions)}")
        scorer.progress(f"measuring {label}", (place + 1) / len(sets))
    return scores


def _correlate_by_image(scores: Floats, human: Floats, images: Indexes) -> Floats:
    """Return rows of Spearman's rho and 1, by image; 0 and 0 for constant values."""
    found = np.asarray(
        [
            Correlation.build(scores[images == image], human[images == image])()["spearman"]
            for image in np.unique(images)
        ]
    )
    known = np.isfinite(found)
    return np.stack([np.where(known, found, 0.0), known.astype(np.float64)], axis=1)
