"""How many judgments a study needs, with a metric's scores of all captions and without."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from cidery.errors import SettingError
from cidery.statistics.resampling import Floats

if TYPE_CHECKING:
    from numpy.typing import NDArray


def plan_images(
    difference: float,
    spread: float,
    *,
    correlation: float = 0.0,
    images: float = math.inf,
    power: float = 0.8,
    confidence: float = 0.95,
) -> float:
    """Return on how many images people must answer to find a difference; inf: `images` are too few.

    ```python
    plan_images(0.2, 1.0)  # 199.0
    plan_images(0.2, 1.0, correlation=0.6, images=5000)  # 130.0
    ```

    Args:
        difference: the smallest that is to be found.
        spread: standard deviation, over images, of the difference between two systems' answers.
        correlation: of these differences with the differences of a metric's scores; 0: no metric.
        images: how many the metric scores; without a metric, how many there are to judge.
        power: the chance to find the difference where it is there; 0.5 makes the interval reach
            `difference` to each side.
        confidence: of the interval that must not hold 0.
    """
    if not difference > 0:
        raise SettingError(f"the difference must be greater than 0, not {difference:g}")
    if not 0 < confidence < 1:
        raise SettingError(f"the confidence must lie between 0 and 1, not {confidence:g}")
    if not 0.5 <= power < 1:
        raise SettingError(f"the power must be at least 0.5 and less than 1, not {power:g}")
    from statistics import NormalDist  # slow to import, and `cidery score` does not plan

    normal = NormalDist()
    reach = normal.inv_cdf((1 + confidence) / 2) + normal.inv_cdf(power)
    # Variance with n judged of N images: spread² · ((1 - r²) / n + r² / N), see PPI++.
    explained = min(correlation**2, 1.0) * spread**2
    left = (difference / reach) ** 2 - explained / images
    if left <= 0:
        return math.inf
    needed = (spread**2 - explained) / left
    # Student's quantiles are wider than the normal ones used here (Guenther 1981).
    needed += normal.inv_cdf((1 + confidence) / 2) ** 2 / 2 if spread else 0
    needed = float(math.ceil(needed - 1e-9))
    return math.inf if needed > images else max(needed, 2.0)


def order_evenly(predictions: Floats, seed: int = 0) -> NDArray[np.int64]:
    """Return the order in which to judge items, so that each start of it is like all of them.

    Items are sorted by a metric's predictions and taken by bit reversal (van der Corput 1935): the
    first item, one from the other half, one from each quarter, and so on. The start is drawn, so
    that every item is as likely to come first as any other: means of the judged ones are unbiased.

    ```python
    order_evenly(np.array([0.1, 0.9, 0.2, 0.8]), seed=1)
    ```
    """
    count = len(predictions)
    rng = np.random.default_rng(seed)
    # Equal predictions stand in a random order.
    ranked = np.lexsort((rng.random(count), predictions))
    place = (np.arange(count) + rng.integers(max(count, 1))) % max(count, 1)
    bits = max(count - 1, 1).bit_length()
    reverse = np.zeros(count, np.int64)
    for bit in range(bits):
        reverse |= ((place >> bit) & 1) << (bits - 1 - bit)
    return np.asarray(ranked[np.argsort(reverse, kind="stable")], np.int64)
