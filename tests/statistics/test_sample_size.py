"""Forecasts of the answers that decide a comparison."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from cidery.statistics import Estimate, forecast_answers
from cidery.statistics.sample_size import FORECAST_STEPS


def make_estimate(value: float, error: float, error_without: float, images: int) -> Estimate:
    return Estimate(
        *(value, value - 1.0, value + 1.0, 0.95, error, error_without, 0.0, images),
        p=0.5,
        adjusted_p=0.5,
        images=images,
    )


def first_count(answers: int, most: int, spreads: dict[int, float], images: dict[int, int]) -> int:
    """Return the first step at which Student's test of 0.2 is significant."""
    steps = np.unique(np.linspace(answers, most, FORECAST_STEPS).round().astype(int))
    for count in map(int, steps):
        n = images[count]
        if 2 * scipy.stats.t.sf(0.2 / np.sqrt(spreads[count]), n - 2) <= 0.05:
            return count - answers
    raise AssertionError("no step is significant")


@pytest.mark.parametrize("items_per_image", [1, 2])
def test_new_images_narrow_the_interval(items_per_image: int) -> None:
    """The variance of n images is spread² / n; 50 images with a spread of 1 are judged."""
    counts = range(50 * items_per_image, 1000 * items_per_image + 1)
    images = {count: round(count / items_per_image) for count in counts}
    expected = first_count(
        counts[0], counts[-1], {count: 1 / n for count, n in images.items()}, images
    )
    error = 50**-0.5
    asked = {"answers": counts[0], "most": counts[-1], "images": 1000, "judged_images": 50}
    asked["items"] = 1000 * items_per_image
    assert forecast_answers(make_estimate(0.2, error, error, 50), **asked) == expected
    assert forecast_answers(make_estimate(0.3, error, error, 50), null=0.1, **asked) == expected
    assert forecast_answers(make_estimate(-0.2, error, error, 50), **asked) == expected


def test_predictions_help_up_to_all_images() -> None:
    """With correlation r, the variance of n of N images is spread² ((1 - r²) / n + r² / N)."""
    judged, total, squared = 50, 500, 0.5
    error_without = judged**-0.5
    error = error_without * np.sqrt(1 - squared * (1 - judged / total))
    counts = range(judged, total + 1)
    spreads = {n: (1 - squared) / n + squared / total for n in counts}
    expected = first_count(judged, total, spreads, {n: n for n in counts})
    found = make_estimate(0.2, error, error_without, judged)
    asked = {"answers": judged, "most": total, "items": total, "images": total}
    assert forecast_answers(found, judged_images=judged, **asked) == expected


@pytest.mark.parametrize("items_per_image", [1, 2])
def test_more_answers_to_each_item_reduce_the_scatter(items_per_image: int) -> None:
    """All 40 images are judged: k answers to each item reduce the scatter² of an item by 1 - 1 / k.

    An image's variance is reduced by that, divided by its number of items.
    """
    images, scatter, spread = 40, 0.8 * items_per_image**0.5, 0.81
    items = images * items_per_image
    counts = range(items, 10 * items + 1)
    reduced = {n: scatter**2 * (1 - items / n) / items_per_image for n in counts}
    spreads = {n: (spread - reduced[n]) / images for n in counts}
    expected = first_count(items, 10 * items, spreads, dict.fromkeys(counts, images))
    assert items / 2 < expected < 9 * items
    error = (spread / images) ** 0.5
    asked = {"answers": items, "most": 10 * items, "items": items, "images": images}
    found = make_estimate(0.2, error, error, images)
    assert forecast_answers(found, judged_images=images, scatter=scatter, **asked) == expected
    assert forecast_answers(found, judged_images=images, **asked) is None


def test_few_images_decide_nothing() -> None:
    """A clear difference on 10 images is decided at the first step with 30 images."""
    found = make_estimate(1.0, 0.01, 0.01, 10)
    asked = {"answers": 10, "most": 109, "items": 200, "judged_images": 10, "images": 200}
    assert forecast_answers(found, **asked) == 20
    assert forecast_answers(found, fewest=50, **asked) == 40
    assert forecast_answers(found, fewest=150, **asked) is None
