"""Drop-in replacements for METEOR and SPICE; each needs an extra."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from cidery import metrics
from cidery.coco.matching import SPLIT, TokenizedCorpus, match_captions
from cidery.metrics.spice.graph import Category
from cidery.runtime import Workspace
from cidery.statistics import Floats


class Meteor:
    """METEOR as pycocoevalcap returns it, in [0, 1] (Denkowski and Lavie 2014), without Java.

    ```python
    score, scores = Meteor().compute_score({1: ["a dog runs"]}, {1: ["a dog"]})
    ```
    """

    def compute_score(self, gts: Any, res: Any) -> tuple[float, list[float]]:
        """Return the corpus score, and the images' scores in the order of `gts`."""
        corpus = TokenizedCorpus.build(match_captions(gts, res), SPLIT)
        return self.score_tokenized(corpus, Workspace())

    def score_tokenized(
        self, corpus: TokenizedCorpus, work: Workspace
    ) -> tuple[float, list[float]]:
        """Return the same for tokenized captions."""
        metric = metrics.Meteor()
        rows = corpus.measure({metric.name: metric}, work)[metric.name]
        return metric.reduce(rows), metric.each(rows).tolist()

    def method(self) -> str:
        """Return the printed name."""
        return "METEOR"


class Spice:
    """SPICE with the interface of pycocoevalcap, in [0, 1] (Anderson et al. 2016).

    Captions are parsed by spaCy instead of the Java tool; scores are close but not identical.

    ```python
    score, scores = Spice().compute_score({1: ["a dog runs"]}, {1: ["a dog"]})
    scores[0]["All"]["f"], scores[0]["Color"]["re"]
    ```
    """

    def compute_score(self, gts: Any, res: Any) -> tuple[np.float64, list[dict[str, Any]]]:
        """Return the mean, and a dict for each image in the order of the *sorted* ids."""
        images = sorted(gts) if gts.keys() == res.keys() else list(gts)
        ordered = {image: gts[image] for image in images}
        corpus = TokenizedCorpus.build(match_captions(ordered, res), SPLIT)
        return self.score_tokenized(corpus, Workspace())

    def score_tokenized(
        self, corpus: TokenizedCorpus, work: Workspace
    ) -> tuple[np.float64, list[dict[str, Any]]]:
        """Return the same for tokenized captions, in their order."""
        metric = metrics.Spice()
        rows = corpus.measure({metric.name: metric}, work)[metric.name]
        return np.float64(metric.reduce(rows)), [_describe(row) for row in rows]

    def method(self) -> str:
        """Return the printed name."""
        return "SPICE"


_CATEGORIES: Mapping[str, Category] = {
    "Relation": "relation",
    "Cardinality": "count",
    "Attribute": "attribute",
    "Size": "size",
    "Color": "color",
    "Object": "object",
    "All": "all",
}
"""The original's names."""


def _describe(row: Floats) -> dict[str, dict[str, float]]:
    """Return the scores of one caption; NaN where there are no tuples."""
    counted = {name: metrics.Spice.counts(row, category) for name, category in _CATEGORIES.items()}
    return {
        name: {
            "pr": counts.precision,
            "re": counts.recall,
            "f": 0.0 if name == "All" and math.isnan(counts.f) else counts.f,
            "fn": float(counts.reference - counts.covered),
            "numImages": 1.0,
            "fp": float(counts.candidate - counts.matched),
            "tp": float(counts.matched),
        }
        for name, counts in counted.items()
    }
