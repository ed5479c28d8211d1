"""Number of digits shown: those that can be significant for the number of images."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

ALL = 4
"""Decimals of a page that shows all digits."""
SPREAD = 0.4
"""Half an interval is about this, divided by the root of the number of images: captions' scores
between 0 and 1 differ from each other by about 0.2, and an interval is two standard errors wide."""


@dataclass(frozen=True)
class Precision:
    """The decimals to which scores are rounded; None: all digits are shown.

    It depends on the number of images alone. Were it a submission's own interval, captions that
    score nothing on all images but one would be shown with many more digits.
    """

    decimals: int | None

    @classmethod
    def of_images(cls, count: int) -> Precision:
        """Return the first decimal in which a difference can be significant."""
        return cls(max(1, -math.floor(math.log10(SPREAD / math.sqrt(max(count, 1))))))

    @property
    def shown(self) -> int:
        """Number of decimals on pages."""
        return ALL if self.decimals is None else self.decimals

    def round(self, score: float) -> float:
        """Return a score as it is shown."""
        return score if self.decimals is None else round(score, self.decimals) + 0.0

    def mean(self, scores: Sequence[float]) -> float:
        """Return the mean of runs' scores as it is shown.

        It is that of the shown scores: rounded means of many choices of runs would reveal further
        digits of each.
        """
        return self.round(float(np.mean([self.round(score) for score in scores])))

    def spread(self, scores: Sequence[float]) -> float | None:
        """Return the standard deviation of the shown scores of runs; None for a single run."""
        if len(scores) < 2:
            return None
        return self.round(float(np.std([self.round(score) for score in scores], ddof=1)))


EXACT = Precision(None)
