"""Sample sizes of studies, with and without scores of all captions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from cidery.errors import SettingError
from cidery.statistics.prediction_powered import MIN_GROUPS_TO_DECIDE, Estimate, p_of_distance
from cidery.statistics.resampling import Floats

if TYPE_CHECKING:
    from numpy.typing import NDArray

FORECAST_STEPS = 100


def plan_images(
    difference: float,
    spread: float,
    *,
    correlation: float = 0.0,
    images: float = math.inf,
    power: float = 0.8,
    confidence: float = 0.95,
    added: int = 0,
    reach: float = 0.0,
) -> float:
    """Return the number of images to judge for this power; inf if `images` are too few.

    At least 30, the minimum for a decision.

    ```python
    plan_images(0.2, 1.0)  # 199.0
    plan_images(0.2, 1.0, correlation=0.6, images=5000)  # 130.0
    ```

    Args:
        difference: smallest difference to detect.
        spread: standard deviation, over images, of the difference between two systems' answers.
        correlation: correlation of these differences with those of a metric's scores; 0: no metric.
        images: number of images with metric scores; without a metric, number of images to judge.
        power: probability of detecting the difference; with 0.5, the interval has a half-width of
            `difference`.
        confidence: confidence of the interval that must exclude 0.
        added: pseudo-answers at the center of the scale: 4 for shares, see `estimate_contrast`.
        reach: range of the answers; standard errors are at least `reach / (images + 2)`.
    """
    if not 0 < difference < math.inf:
        raise SettingError(f"difference must be positive, not {difference:g}")
    if not 0 <= spread < math.inf:
        raise SettingError(f"spread must be at least 0, not {spread:g}")
    if not -1 <= correlation <= 1:
        raise SettingError(f"correlation must be between -1 and 1, not {correlation:g}")
    if not images >= 1:
        raise SettingError(f"images must be at least 1, not {images:g}")
    if not 0 < confidence < 1:
        raise SettingError(f"confidence must be between 0 and 1, not {confidence:g}")
    if not 0.5 <= power < 1:
        raise SettingError(f"power must be at least 0.5 and below 1, not {power:g}")
    from statistics import NormalDist  # slow to import

    normal = NormalDist()
    errors = normal.inv_cdf((1 + confidence) / 2) + normal.inv_cdf(power)
    # Variance with n judged of N images: spread² · ((1 - r²) / n + r² / N), see PPI++.
    explained = min(correlation**2, 1.0) * spread**2
    left = (difference / errors) ** 2 - explained / images
    if left <= 0:
        return math.inf
    needed = (spread**2 - explained) / left
    # Correction for Student's quantiles (Guenther 1981).
    needed += normal.inv_cdf((1 + confidence) / 2) ** 2 / 2 if spread else 0
    # A distance d shrinks to d · n / (n + added), which n + 2 · added images compensate.
    needed = max(needed + 2 * added, reach * errors / difference - 2, MIN_GROUPS_TO_DECIDE)
    needed = float(math.ceil(needed - 1e-9))
    return math.inf if needed > images else needed


def forecast_answers(
    found: Estimate,
    *,
    answers: int,
    most: int,
    items: int,
    judged_images: int,
    images: int,
    scatter: float = 0.0,
    null: float = 0.0,
    horizon: int | None = None,
    comparisons: int = 1,
    fewest: int = MIN_GROUPS_TO_DECIDE,
) -> int | None:
    """Return the expected number of further judgments until a comparison is decided.

    Every item is judged once before any is judged twice: judgments first add images, then reduce
    the error of each image. None if more than `most` are needed.

    ```python
    from cidery.statistics import Sample, estimate_contrast

    rng = np.random.default_rng(0)
    answers = np.where(np.arange(100) < 50, rng.normal(0.2, 1, 100), np.nan)
    found = estimate_contrast([Sample(answers, None, np.arange(100))])
    forecast_answers(found, answers=50, most=300, items=100, judged_images=50, images=100)
    ```

    Args:
        found: the comparison as it is now.
        answers: that it is made of.
        most: answers that there can be.
        items: that people are asked about, judged or not.
        judged_images: images with answers.
        images: with and without.
        scatter: standard deviation of different people's answers to the same item.
        null: the value that is to be told from.
        horizon: as the estimate was made with.
        comparisons: that are made together; p-values are multiplied by their number.
        fewest: images with answers before a comparison counts as decided.
    """
    # Variance at n of N images: spread² · ((1 - r²) / n + r² / N), see PPI++.
    spread = judged_images * found.error_without**2
    explained = 1 - (found.error / found.error_without) ** 2 if found.error_without else 0.0
    left = 1 - judged_images / images
    correlation = min(1.0, max(0.0, explained) / left) if left > 0 else 0.0
    each_image = items / images
    each_item = answers / (judged_images * each_image)
    distance = abs(found.value - null)
    steps = np.unique(np.linspace(answers, most, FORECAST_STEPS).round().astype(int))
    for count in map(int, steps):
        reached = min(images, max(judged_images, round(count / each_image)))
        if reached < fewest:
            continue
        people = max(each_item, count / (reached * each_image))
        now = max(spread - scatter**2 * (1 / each_item - 1 / people) / each_image, 0.0)
        error = math.sqrt(now * ((1 - correlation) / reached + correlation / images))
        p = p_of_distance(distance, error, max(1, reached - 2), reached, horizon)
        if p * comparisons <= 1 - found.confidence:
            return max(1, count - answers)
    return None


def order_evenly(predictions: Floats, seed: int = 0) -> NDArray[np.int64]:
    """Return an order of items in which every prefix is representative of all items.

    Items are sorted by predictions and taken by bit reversal (van der Corput 1935): one of each
    half, of each quarter, and so on. The start is random, so that every item is equally likely to
    come first and means of judged items are unbiased.

    ```python
    order_evenly(np.array([0.1, 0.9, 0.2, 0.8]), seed=1)
    ```
    """
    count = len(predictions)
    rng = np.random.default_rng(seed)
    # Equal predictions are in random order.
    ranked = np.lexsort((rng.random(count), predictions))
    place = (np.arange(count) + rng.integers(max(count, 1))) % max(count, 1)
    bits = max(count - 1, 1).bit_length()
    reverse = np.zeros(count, np.int64)
    for bit in range(bits):
        reverse |= ((place >> bit) & 1) << (bits - 1 - bit)
    return np.asarray(ranked[np.argsort(reverse, kind="stable")], np.int64)
