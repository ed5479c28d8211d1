"""Length-controlled scores: a regression within systems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cidery.statistics.resampling import Floats, Interval, draw_sums, find_bounds, sum_by_group

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class LengthControl:
    """Expected scores of captions at the length of their references.

    y = a + b·x for each system, with a common slope b (analysis of covariance), where x is the
    logarithm of a caption's length divided by that of its references. The controlled score of a
    caption is y - b·x, that of a system the mean of its captions'.
    """

    slope: float
    """Change of the score for e times as many words; 0 if lengths do not vary."""
    systems: tuple[Interval, ...]

    @classmethod
    def fit(
        cls,
        scores: Sequence[Floats],
        lengths: Sequence[Floats],
        images: Sequence[NDArray[np.integer]],
        *,
        confidence: float = 0.95,
        resamples: int = 1000,
        seed: int = 0,
    ) -> LengthControl:
        """Fit the regression to the captions of all systems; images are resampled for intervals.

        Args:
            scores: scores of captions, by system.
            lengths: log(words / the references' words) of the same captions.
            images: image index of each caption.
            confidence: confidence level of the intervals.
            resamples: number of bootstrap samples of images.
            seed: seed of the samples.
        """
        count = 1 + max(int(found.max(initial=0)) for found in images)
        rows = np.concatenate(
            [
                sum_by_group(np.stack([np.ones_like(x), x, y, x * x, x * y], axis=1), place, count)
                for y, x, place in zip(scores, lengths, images, strict=True)
            ],
            axis=1,
        )
        slope, means = _pool(rows.sum(axis=0))
        drawn = draw_sums(rows, resamples, seed)
        samples = np.stack([_pool(sums)[1] for sums in drawn])
        bounds = [find_bounds(column[~np.isnan(column)], confidence) for column in samples.T]
        return cls(
            slope,
            tuple(
                Interval(float(mean), *found, confidence)
                for mean, found in zip(means, bounds, strict=True)
            ),
        )

    def each(self, scores: Floats, lengths: Floats) -> Floats:
        """Return the controlled scores of captions."""
        controlled: Floats = scores - self.slope * lengths
        return controlled


def _pool(sums: Floats) -> tuple[float, Floats]:
    """Return the slope and each system's mean at length 0, from the sums of 1, x, y, xx and xy."""
    n, x, y, xx, xy = sums.reshape(-1, 5).T
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = np.nansum(np.where(n > 0, xx - x * x / n, 0.0))
        shared = np.nansum(np.where(n > 0, xy - x * y / n, 0.0))
        slope = float(shared / spread) if spread > 1e-9 else 0.0
        return slope, (y - slope * x) / n
