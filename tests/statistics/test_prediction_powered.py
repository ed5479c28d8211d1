"""Means from few answers and predictions of everything."""

from __future__ import annotations

import numpy as np
import pytest

from cidery.errors import InputError, SettingError
from cidery.statistics import (
    Floats,
    Sample,
    adjust_together,
    estimate_contrast,
    order_evenly,
    plan_images,
)

pytest.importorskip("scipy", reason="intervals need SciPy")


def make_sample(rng: np.random.Generator, images: int, judged: int, noise: float) -> Sample:
    """Two captions of each image, whose ratings are skewed and go together."""
    groups = np.repeat(np.arange(images), 2)
    truth = rng.exponential(1.0, images)[groups] + rng.exponential(1.0, 2 * images)
    answers = np.where(groups < judged, truth, np.nan)
    return Sample(answers, truth + noise * rng.normal(size=2 * images), groups)


def test_nothing_but_the_mean_without_predictions() -> None:
    """With a group per answer it is the mean and Student's interval."""
    from scipy import stats

    values = np.random.default_rng(0).normal(3, 1, 40)
    found = estimate_contrast([Sample(values, None, np.arange(40))])
    low, high = stats.t.interval(0.95, 39, values.mean(), stats.sem(values))
    assert found.value == pytest.approx(values.mean())
    # Leaving out one after the other instead of dividing by n - 1 changes as little as this.
    assert (found.low, found.high) == pytest.approx((low, high), abs=2e-2)
    assert (found.weight, found.saved, found.judged) == (0.0, 0.0, 40)
    assert found.p == pytest.approx(0.0, abs=1e-9)


def test_scale_and_offset_of_predictions_do_not_matter() -> None:
    sample = make_sample(np.random.default_rng(1), 300, 60, 0.7)
    assert sample.predictions is not None
    found = estimate_contrast([sample])
    other = estimate_contrast([Sample(sample.answers, 7 - 20 * sample.predictions, sample.groups)])
    assert other.value == pytest.approx(found.value)
    assert (other.low, other.high) == pytest.approx((found.low, found.high))
    assert other.weight == pytest.approx(-found.weight / 20)


@pytest.mark.parametrize("noise", [0.5, 30.0])
def test_intervals_hold_and_a_bad_metric_costs_nothing(noise: float) -> None:
    """Coverage of 500 worlds; chance may take it two points below 95 %."""
    rng = np.random.default_rng(2)
    hits, ratios = [], []
    for _ in range(500):
        found = estimate_contrast([make_sample(rng, 200, 50, noise)])
        hits.append(found.low <= 2.0 <= found.high)
        ratios.append(found.error / found.error_without)
    assert np.mean(hits) >= 0.93
    assert np.max(ratios) <= 1.0
    assert np.mean(ratios) < 0.75 if noise < 1 else np.mean(ratios) > 0.95


def test_a_sequence_holds_at_all_times() -> None:
    """People look after every fifth image, and in at most one of twenty studies it ever fails."""
    rng = np.random.default_rng(3)
    failed, wide = 0, []
    for _ in range(120):
        whole = make_sample(rng, 150, 150, 0.7)
        looks = []
        for judged in range(10, 151, 5):
            answers = np.where(whole.groups < judged, whole.answers, np.nan)
            sample = Sample(answers, whole.predictions, whole.groups)
            found = estimate_contrast([sample], horizon=100)
            looks.append(found.low <= 2.0 <= found.high)
        wide.append((found.high - found.low) / found.error)
        failed += not all(looks)
    assert failed <= 0.05 * 120
    assert np.mean(wide) < 2 * 3.2  # against 2 · 1.96 for a fixed number


def test_p_agrees_with_the_interval() -> None:
    sample = make_sample(np.random.default_rng(4), 100, 40, 0.7)
    for horizon in (None, 60):
        found = estimate_contrast([sample], horizon=horizon)
        edge = estimate_contrast([sample], horizon=horizon, null=found.low)
        assert edge.p == pytest.approx(0.05, abs=1e-6)
        assert estimate_contrast([sample], horizon=horizon, null=found.value).p == 1.0


def test_a_difference_is_paired_by_image() -> None:
    """What makes an image hard for both systems does not blur their difference."""
    rng = np.random.default_rng(5)
    hard, groups = 3 * rng.normal(size=80), np.arange(80)
    one = Sample(hard + rng.normal(0.5, 0.1, 80), None, groups)
    other = Sample(hard + rng.normal(0.0, 0.1, 80), None, groups)
    found = estimate_contrast([one, other], [1, -1])
    assert found.value == pytest.approx(one.answers.mean() - other.answers.mean())
    assert found.high - found.low < 0.1
    assert found.judged == 160


def test_shares_stay_inside_and_are_never_certain() -> None:
    sample = Sample(np.ones(20), np.linspace(0, 1, 20), np.arange(20))
    found = estimate_contrast([sample], bounds=(0, 1), null=0.5)
    assert found.high == 1.0
    assert 0.75 < found.low < 0.9  # Agresti and Coull: 0.81, the rule of three: 0.85
    assert found.p < 0.001


@pytest.mark.parametrize(
    ("values", "chances", "images", "before"),
    [
        ([5, 4, 3, 2, 1], [0.85, 0.06, 0.04, 0.02, 0.03], 10, 0.85),
        ([5, 4, 3, 2, 1], [0.85, 0.06, 0.04, 0.02, 0.03], 30, 0.91),
        ([5, 1], [0.95, 0.05], 10, 0.5),
        ([1, 2, 3, 4, 5], [0.05, 0.12, 0.23, 0.4, 0.2], 20, 0.97),
    ],
)
def test_a_scale_makes_skewed_ratings_hold(
    values: list[float], chances: list[float], images: int, before: float
) -> None:
    """Of 95 % intervals at least 94 % hold the mean, also where nearly all ratings are the same."""
    rng = np.random.default_rng(10)
    truth = float(np.dot(values, chances))
    held = {None: 0, (1.0, 5.0): 0}
    for _ in range(500):
        sample = Sample(rng.choice(values, images, p=chances) * 1.0, None, np.arange(images))
        for scale in held:
            found = estimate_contrast([sample], scale=scale)
            held[scale] += found.low <= truth <= found.high
    assert held[None] / 500 < before
    assert held[1.0, 5.0] / 500 >= 0.94


def test_a_scale_lets_usual_ratings_be() -> None:
    """And means of many captions of an image, which lie closer together than ratings can."""
    rng = np.random.default_rng(11)
    images = np.repeat(np.arange(100), 6)
    ratings = np.clip(rng.normal(2.0, 1.0, 600).round(), 1, 5)
    alone, known = (
        estimate_contrast([Sample(ratings, None, images)], scale=scale) for scale in (None, (1, 5))
    )
    assert (known.low, known.high) == pytest.approx((alone.low, alone.high), abs=0.01)
    with pytest.raises(SettingError, match="cannot be combined"):
        estimate_contrast([Sample(ratings, None, images)], bounds=(0, 1), scale=(1, 5))


def test_a_scale_and_a_good_metric() -> None:
    """Intervals that a metric makes narrow do not move away from what they are to hold."""
    rng = np.random.default_rng(12)
    images = np.repeat(np.arange(300), 6)
    held = 0
    for _ in range(400):
        hard = np.repeat(rng.normal(0, 0.3, 300), 6)
        truth = 1.8 + hard + rng.normal(0, 0.2, 1800)
        guess = truth + rng.normal(0, 0.1, 1800)
        found = estimate_contrast(
            [Sample(np.where(images < 50, truth, np.nan), guess, images)], scale=(1, 5)
        )
        held += found.low <= 1.8 <= found.high
    assert held / 400 > 0.94


def test_few_images_decide_nothing() -> None:
    for images in (29, 30):
        sample = Sample(np.ones(images), None, np.arange(images))
        found = estimate_contrast([sample], bounds=(0, 1), null=0.5)
        assert found.p < 1e-6
        assert found.is_decided is (images == 30)


def test_corrected_together() -> None:
    sample = make_sample(np.random.default_rng(6), 60, 30, 0.7)
    close = estimate_contrast([sample], null=estimate_contrast([sample]).value + 0.4)
    first, second = adjust_together([close, close])
    assert first.adjusted_p == second.adjusted_p == pytest.approx(2 * close.p)


@pytest.mark.parametrize(
    ("answers", "predictions", "options", "message"),
    [
        ([np.nan] * 9, None, {}, "there are no judgments"),
        ([1.0] * 4, None, {}, "at least 5 images, not 4"),
        ([1.0] * 9, [np.nan] * 9, {}, "predictions must be finite"),
        ([1.0] * 9, [1.0] * 8, {}, "equal length"),
        ([np.inf] * 9, None, {}, "judgments must be finite"),
        ([1.0] * 9, None, {"confidence": 1.0}, "between 0 and 1, not 1.0"),
        ([1.0] * 9, None, {"horizon": 0}, "horizon must be at least 1 image, not 0"),
    ],
)
def test_refusals(
    answers: list[float], predictions: list[float] | None, options: dict[str, float], message: str
) -> None:
    guesses = None if predictions is None else np.asarray(predictions)
    with pytest.raises((InputError, SettingError), match=message):
        estimate_contrast(
            [Sample(np.asarray(answers), guesses, np.arange(len(answers)))],
            **options,  # type: ignore[arg-type]
        )


def test_the_interval_of_a_share_is_agresti_and_coulls() -> None:
    """Its center has two answers of each kind added."""
    wins = np.repeat([1.0, 0.0], [25, 15])
    found = estimate_contrast([Sample(wins, None, np.arange(40))], bounds=(0, 1))
    assert (found.low + found.high) / 2 == pytest.approx(27 / 44)


def test_a_sequence_is_narrowest_at_its_horizon() -> None:
    answers: Floats = np.random.default_rng(0).normal(size=100)
    widths = []
    for horizon in (71, 100, 140):
        found = estimate_contrast([Sample(answers, None, np.arange(100))], horizon=horizon)
        widths.append(found.high - found.low)
    assert widths[1] < widths[0] and widths[1] < widths[2]
    fixed = estimate_contrast([Sample(answers, None, np.arange(100))])
    assert fixed.high - fixed.low < widths[1]
    shortest = estimate_contrast([Sample(answers, None, np.arange(100))], horizon=1)
    assert shortest.high - shortest.low > widths[0]


# Planning


def test_planned_numbers() -> None:
    assert plan_images(0.2, 1.0) == 199  # as G*Power and R's power.t.test say: 198.15
    assert plan_images(0.2, 1.0, power=0.5) == 98
    assert plan_images(0.2, 1.0, correlation=0.6) == 128  # 64 % of it
    assert plan_images(0.2, 1.0, correlation=0.6, images=1000) == 138
    assert plan_images(0.2, 1.0, images=150) == float("inf")
    for wrong in ({"power": 0.3}, {"confidence": 2.0}):
        with pytest.raises(SettingError):
            plan_images(0.2, 1.0, **wrong)
    for difference in (0.0, float("inf"), float("nan")):
        with pytest.raises(SettingError, match=f"must be positive, not {difference:g}"):
            plan_images(difference, 1.0)
    for spread in (-1.0, float("inf"), float("nan")):
        with pytest.raises(SettingError, match=f"spread must be .* not {spread:g}"):
            plan_images(0.2, spread)
    for count in (0, -5, float("nan")):
        with pytest.raises(SettingError, match=f"images must be at least 1, not {count:g}"):
            plan_images(0.2, 1.0, images=count)
    with pytest.raises(SettingError, match="correlation must be between -1 and 1, not 2"):
        plan_images(0.2, 1.0, correlation=2)
    # Fewer decide nothing, and an error is believed only as far as the scale lets it.
    assert plan_images(2.0, 1.0) == plan_images(2.0, 0.0) == 30
    assert plan_images(2.0, 1.0, images=20) == float("inf")
    assert plan_images(0.2, 0.3, reach=4.0) == 55


@pytest.mark.parametrize("difference", [0.1, 0.2])
def test_a_planned_share_is_found(difference: float) -> None:
    """As often as the power says, though intervals of shares are drawn to the middle."""
    rng = np.random.default_rng(9)
    share = 0.5 + difference
    judged = int(plan_images(difference, float(np.sqrt(share * (1 - share))), added=4))
    found = 0
    for _ in range(600):
        wins = (rng.random(judged) < share).astype(np.float64)
        sample = Sample(wins, None, np.arange(judged))
        found += estimate_contrast([sample], bounds=(0, 1), null=0.5).p < 0.05
    assert 0.75 < found / 600 < 0.87


def test_the_plan_is_what_the_estimate_needs() -> None:
    """A difference that was planned for is found about as often as the power says."""
    rng = np.random.default_rng(7)
    judged = int(plan_images(0.35, 1.0, correlation=0.8, images=200, power=0.8))
    found = 0
    for _ in range(300):
        truth = rng.normal(0.35, 1.0, 200)
        guess = 0.8 * (truth - 0.35) + 0.6 * rng.normal(size=200)
        answers = np.where(np.arange(200) < judged, truth, np.nan)
        found += estimate_contrast([Sample(answers, guess, np.arange(200))]).p < 0.05
    assert 0.72 < found / 300 < 0.9


@pytest.mark.parametrize("count", [1, 2, 7, 100])
def test_an_even_order(count: int) -> None:
    values: Floats = np.random.default_rng(8).random(count)
    order = order_evenly(values, seed=3)
    assert sorted(order) == list(range(count))
    if count == 100:
        ranks = np.argsort(np.argsort(values))
        for start in (8, 16, 32):
            quarters = np.bincount(ranks[order[:start]] // 25, minlength=4)
            assert quarters.max() - quarters.min() <= 3
        firsts = [order_evenly(values, seed)[0] for seed in range(400)]
        assert len({*firsts}) > 90  # every item may come first
