"""SPIDEr-FL: SPIDEr with a penalty for fluency errors."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np

from cidery.metrics.base import Metric, Prepared, TokenizedCandidates, TokenizedReferences
from cidery.metrics.fluency import (
    RULES_VERSION,
    measure_excess_faults,
    measure_reference_faults,
    penalize,
)
from cidery.metrics.settings import Proportion
from cidery.metrics.spice.metric import Spider
from cidery.runtime import Workspace
from cidery.statistics import Floats


@dataclass(frozen=True)
class SpiderFl(Spider):
    """SPIDEr-FL: SPIDEr with a penalty for fluency errors; in [0, 5.5].

    SPIDEr·(1 - 0.9·broken)·(1 - 0.25·repeated), after the DCASE challenge's SPIDEr-FL, whose error
    detector is a model; here errors are found by rules, as for `fense`.

    ```python
    cidery.score(candidates, references, metrics=["spider", "spider-fl"])
    ```
    """

    penalty: Proportion = 0.9
    """Penalty of a caption that ends in the middle of a sentence."""
    repetition: Proportion = 0.25
    """Penalty of repetition, multiplied by the share of repeated content words."""

    paper: ClassVar[str] = "Zhou et al. 2022; DCASE 2023"
    name = "spider-fl"
    explanation_unit = None

    def data_settings(self) -> dict[str, str]:
        """Return SPIDEr's settings and the version of the fluency rules."""
        return super().data_settings() | {"fluency": f"rules-{RULES_VERSION}"}

    @property
    def _spider(self) -> Spider:
        return Spider(**{f.name: getattr(self, f.name) for f in fields(Spider)})

    def prepare(self, references: TokenizedReferences, work: Workspace) -> Prepared:
        """Prepare the references for SPIDEr."""
        reference_faults = work.once(measure_reference_faults, references)
        return _PreparedSpiderFl(self, self._spider.prepare(references, work), reference_faults)

    def each(self, rows: Floats) -> Floats:
        """Return one score per caption."""
        return Metric.each(self, rows)

    def pool(self, sums: Floats, count: Floats) -> Floats:
        """Return the mean."""
        return Metric.pool(self, sums, count)


@dataclass(frozen=True, eq=False)
class _PreparedSpiderFl(Prepared):
    metric: SpiderFl
    spider: Prepared
    reference_faults: Floats
    """float64[images, 2]: maximum faults of the references."""

    def measure(self, candidates: TokenizedCandidates, work: Workspace) -> Floats:
        """Return the scores: float64[captions, 1]."""
        spider = self.metric._spider.each(self.spider.measure(candidates, work))
        faults = measure_excess_faults(candidates, self.reference_faults, work)
        factors = penalize(faults, self.metric.penalty, self.metric.repetition)
        return np.ascontiguousarray((spider * factors)[:, None])
