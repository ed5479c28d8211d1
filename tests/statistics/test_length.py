"""Scores with the effect of length taken out."""

from __future__ import annotations

import numpy as np
import pytest

from cidery.statistics import LengthControl


def test_the_slope_is_that_within_systems() -> None:
    rng = np.random.default_rng(0)
    images = np.arange(200)
    short, long = rng.normal(0.0, 0.3, 200), rng.normal(1.5, 0.3, 200)
    noise = rng.normal(0, 0.02, (2, 200))
    scores = [0.5 + 0.1 * short + noise[0], 0.6 + 0.1 * long + noise[1]]
    found = LengthControl.fit(scores, [short, long], [images, images], resamples=200)
    assert found.slope == pytest.approx(0.1, abs=0.01)
    assert [system.score for system in found.systems] == pytest.approx([0.5, 0.6], abs=0.02)
    for system, expected in zip(found.systems, (0.5, 0.6), strict=True):
        assert system.low < expected < system.high
    controlled = found.each(scores[1], long)
    assert controlled.mean() == pytest.approx(found.systems[1].score)
    assert abs(np.corrcoef(controlled, long)[0, 1]) < 0.2


def test_it_is_least_squares() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=50), rng.normal(size=50)
    slope, intercept = np.polyfit(x, y, 1)
    found = LengthControl.fit([y], [x], [np.arange(50)], resamples=10)
    assert found.slope == pytest.approx(slope)
    assert found.systems[0].score == pytest.approx(intercept)


def test_equal_lengths_change_nothing() -> None:
    scores = np.asarray([0.2, 0.4])
    found = LengthControl.fit([scores], [np.zeros(2)], [np.arange(2)], resamples=10)
    assert found.slope == 0.0
    assert found.systems[0].score == pytest.approx(0.3)


def test_systems_may_lack_images() -> None:
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=5), rng.normal(size=5)
    found = LengthControl.fit([y, y[:1]], [x, x[:1]], [np.arange(5), np.arange(1)], resamples=50)
    assert all(np.isfinite([s.low, s.score, s.high]).all() for s in found.systems)
