from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import cidery
from cidery.errors import SettingError
from cidery.statistics import bootstrap_interval, holm, paired_test, sum_by_group
from cidery.statistics.resampling import find_bounds
from support.example import Example

pytestmark = pytest.mark.filterwarnings("ignore::cidery.errors.UnreliableWarning")


def mean(sums: Any) -> Any:
    return sums[..., 0] / sums[..., 1]


def counted(values: Any) -> Any:
    return np.stack([values, np.ones(len(values))], axis=1)


def test_the_interval_of_a_mean_is_the_normal_one() -> None:
    values = np.random.default_rng(0).normal(3.0, 2.0, 4000)
    interval = bootstrap_interval(counted(values), mean, resamples=10_000)
    error = values.std(ddof=1) / math.sqrt(len(values))
    assert interval.score == pytest.approx(values.mean())
    assert interval.low == pytest.approx(values.mean() - 1.96 * error, abs=0.1 * error)
    assert interval.high == pytest.approx(values.mean() + 1.96 * error, abs=0.1 * error)


def test_intervals_cover_as_often_as_they_say() -> None:
    rng = np.random.default_rng(1)
    covered = 0
    for trial in range(400):
        values = rng.exponential(1.0, 150)
        interval = bootstrap_interval(counted(values), mean, confidence=0.9, seed=trial)
        covered += interval.low <= 1.0 <= interval.high
    assert 0.85 <= covered / 400 <= 0.94


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.95, 0.99])
def test_bounds_are_numpys_quantiles(confidence: float) -> None:
    rng = np.random.default_rng(2)
    for count in (1, 2, 3, 10, 999, 1000):
        for samples in (rng.normal(size=count), rng.integers(0, 3, count) / 7):
            expected = np.quantile(samples, [(1 - confidence) / 2, (1 + confidence) / 2])
            assert find_bounds(samples, confidence) == tuple(expected)
    assert np.isnan(find_bounds(np.array([1.0, np.nan, 2.0]), confidence)).all()


def test_samples_draw_every_row_equally_often() -> None:
    rows = np.eye(7)
    sums = cidery._native.resample_sums(rows, 20_000, 5)
    assert (sums.sum(axis=1) == 7).all()
    # 140,000 draws over 7 rows: each 20,000 with a standard deviation of 131
    np.testing.assert_allclose(sums.sum(axis=0), 20_000, atol=6 * 131)


def test_same_seed_same_samples_for_any_number_of_threads() -> None:
    rows = np.random.default_rng(0).normal(size=(501, 3))
    thresholds = np.random.default_rng(1).integers(1, 65536, 501).astype(np.uint32)
    native = cidery._native
    for threads in (2, 5):
        one, more = (native.resample_sums(rows, 100, 7, t) for t in (1, threads))
        assert one.tobytes() == more.tobytes()
        one, more = (native.signed_sums(rows, thresholds, 100, 7, t) for t in (1, threads))
        assert one.tobytes() == more.tobytes()
    assert native.resample_sums(rows, 9, 7).tobytes() != native.resample_sums(rows, 9, 8).tobytes()


def test_signs_are_those_of_whole_rows_with_their_probability() -> None:
    rows = np.repeat(np.eye(3), 2, axis=1)
    thresholds = np.array([1 << 15, 1 << 14, 1], np.uint32)
    sums = cidery._native.signed_sums(rows, thresholds, 20_000, 3)
    assert set(np.unique(sums)) <= {-1.0, 1.0}
    np.testing.assert_array_equal(sums[:, ::2], sums[:, 1::2])
    shares = (sums[:, ::2] > 0).mean(axis=0)
    np.testing.assert_allclose(shares, [0.5, 0.25, 0.0], atol=0.015)
    many = cidery._native.signed_sums(
        np.ones((1000, 1)), np.full(1000, 1 << 15, np.uint32), 2000, 3
    )
    assert many.mean() == pytest.approx(0, abs=4)
    assert many.std() == pytest.approx(math.sqrt(1000), rel=0.1)
    with pytest.raises(ValueError, match="one threshold per row"):
        cidery._native.signed_sums(rows, thresholds[:2], 10, 0)


def test_no_difference_gives_uniform_p_values() -> None:
    rng = np.random.default_rng(2)
    found = []
    for trial in range(300):
        one, two = rng.normal(size=(2, 80))
        test = paired_test(counted(one), counted(two), mean, (one, two), seed=trial, resamples=200)
        found.append(test.p)
    assert np.mean(np.asarray(found) < 0.05) == pytest.approx(0.05, abs=0.04)
    assert np.mean(found) == pytest.approx(0.5, abs=0.06)


def test_a_clear_difference_is_found() -> None:
    rng = np.random.default_rng(3)
    base = rng.normal(size=400)
    better = base + 0.5 + 0.1 * rng.normal(size=400)
    test = paired_test(counted(better), counted(base), mean, (better, base))
    assert test.difference == pytest.approx(0.5, abs=0.02)
    assert test.low < test.difference < test.high
    assert test.method == "importance sampling"
    assert test.p == pytest.approx(2.0**-399, rel=0.02, abs=0)  # all differences have one sign
    assert test.p_bootstrap == pytest.approx(2 / 1001)
    assert test.effect > 3
    assert test.wins > 0.99


def test_equal_systems_do_not_differ(example: Example) -> None:
    comparison = cidery.compare(
        {"one": example.system_a, "same": dict(example.system_a)}, example.references
    )
    for pairs in comparison.tests.values():
        test = pairs["one", "same"]
        assert test.difference == 0
        assert test.p == 1
        assert test.adjusted_p == 1
        assert test.wins == 0.5
        assert test.effect == 0


def test_pooled_bleu_is_resampled_as_counts(example: Example) -> None:
    """The interval of BLEU must be that of pooled counts, not of the captions' mean."""
    table = cidery.score(example.system_a, example.references, ["bleu-4"])
    interval = table.interval("bleu-4", resamples=500, seed=4)
    assert interval.low < table.corpus["bleu-4"] < interval.high
    rows = table.resampling["bleu-4"].rows
    metric = cidery.Bleu(4)
    sums = cidery._native.resample_sums(rows, 500, 4)
    by_hand = np.quantile([metric.pool(s[:-1], s[-1]) for s in sums], [0.025, 0.975])
    np.testing.assert_allclose([interval.low, interval.high], by_hand, rtol=1e-12)
    assert not interval.low < table.each["bleu-4"].mean() < interval.high


def test_images_are_drawn_not_captions(example: Example) -> None:
    """Ten copies of each caption say nothing new: the interval must not shrink."""
    copies = {image: [caption] * 10 for image, caption in example.system_a.items()}
    once = cidery.score(example.system_a, example.references, ["rouge-l"]).interval("rouge-l")
    often = cidery.score(copies, example.references, ["rouge-l"]).interval("rouge-l")
    assert often.low == pytest.approx(once.low)
    assert often.high == pytest.approx(once.high)


def test_holm() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_sum_by_group() -> None:
    rows = np.arange(8.0).reshape(4, 2)
    np.testing.assert_array_equal(sum_by_group(rows, np.array([1, 0, 1, 1]), 2), [[2, 3], [10, 13]])


def test_bad_settings_are_explained(example: Example) -> None:
    table = cidery.score(example.system_a, example.references, ["rouge-l"])
    with pytest.raises(SettingError, match="no interval for 'bleu-4'; scored: rouge-l"):
        table.interval("bleu-4")
    with pytest.raises(SettingError, match="between 0 and 1, not 95"):
        table.interval("rouge-l", confidence=95)
    with pytest.raises(SettingError, match="resamples must be at least 2"):
        table.interval("rouge-l", resamples=0)
    with pytest.raises(SettingError, match="at least two systems"):
        cidery.compare({"one": example.system_a}, example.references)
