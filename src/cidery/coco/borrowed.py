"""The doors to METEOR and SPICE, which open where cidery has these metrics."""

from __future__ import annotations

from typing import Any

import numpy as np

from cidery.coco.pairs import SPLIT, Pairs, match_captions
from cidery.errors import SettingError
from cidery.metrics import METRICS, Metric


def _find(name: str) -> Metric:
    metric = METRICS.get(name)
    if metric is None:
        raise SettingError(f"this version of cidery has no {name}; it has {', '.join(METRICS)}")
    return metric


class Meteor:
    """METEOR as pycocoevalcap returns it, in [0, 1] (Denkowski and Lavie 2014), without Java.

    ```python
    score, scores = Meteor().compute_score({1: ["a dog runs"]}, {1: ["a dog"]})
    ```
    """

    def compute_score(self, gts: Any, res: Any) -> tuple[float, list[float]]:
        """Return the corpus score, and the images' scores in the order of `gts`."""
        return self.score_pairs(Pairs.build(match_captions(gts, res), SPLIT))

    def score_pairs(self, pairs: Pairs) -> tuple[float, list[float]]:
        """Return the same for captions that are tokenized already."""
        metric = _find("meteor")
        rows = pairs.measure({metric.name: metric})[metric.name]
        return metric.reduce(rows), metric.each(rows).tolist()

    def method(self) -> str:
        """Return the name that is printed."""
        return "METEOR"


class Spice:
    """SPICE as pycocoevalcap returns it, in [0, 1] (Anderson et al. 2016), without Java.

    ```python
    score, scores = Spice().compute_score({1: ["a dog runs"]}, {1: ["a dog"]})
    scores[0]["All"]["f"]
    ```
    """

    def compute_score(self, gts: Any, res: Any) -> tuple[np.float64, list[dict[str, Any]]]:
        """Return the mean, and a dict for each image in the order of the *sorted* ids."""
        images = sorted(gts) if gts.keys() == res.keys() else list(gts)
        ordered = {image: gts[image] for image in images}
        return self.score_pairs(Pairs.build(match_captions(ordered, res), SPLIT))

    def score_pairs(self, pairs: Pairs) -> tuple[np.float64, list[dict[str, Any]]]:
        """Return the same for captions that are tokenized already, in their order."""
        metric = _find("spice")
        rows = pairs.measure({metric.name: metric})[metric.name]
        each = [{"All": {"f": value}} for value in metric.each(rows).tolist()]
        return np.float64(metric.reduce(rows)), each

    def method(self) -> str:
        """Return the name that is printed."""
        return "SPICE"
