"""Errors over images and runs, Student's distribution, power, equivalence."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import cidery
from cidery.errors import InputError, MismatchError, SettingError
from cidery.statistics import (
    MeanOfRuns,
    PairedTest,
    RunScores,
    StandardError,
    draw_sums,
    find_detectable,
    find_error,
    find_interval,
    holm,
    paired_test,
    paired_test_of_runs,
    plan_comparison,
    pool_run_variance,
    student_p,
    student_quantile,
)
from cidery.statistics.paired_tests import equivalence_p


def mean(sums: Any) -> Any:
    return sums[..., 0] / sums[..., 1]


def score_runs(values: Any, resamples: int = 2000, seed: int = 0) -> RunScores:
    """Return the scores of runs, float64[images, runs], and of their bootstrap samples."""
    rows = np.stack([values, np.ones_like(values)], axis=-1).reshape(len(values), -1)
    pool = MeanOfRuns(mean, values.shape[1])
    return RunScores(
        pool.score_runs(rows.sum(axis=0)), pool.score_runs(draw_sums(rows, resamples, seed))
    )


def compare_runs(first: Any, second: Any, **settings: Any) -> PairedTest:
    scores = score_runs(first), score_runs(second)
    return paired_test_of_runs(*scores, (first.mean(axis=1), second.mean(axis=1)), **settings)


def draw_runs(rng: Any, images: int, runs: int, spread: float) -> Any:
    return (
        rng.normal(size=(images, 1))
        + rng.normal(size=(images, runs))
        + spread * rng.normal(size=runs)
    )


# --- Student's distribution ---


@pytest.mark.parametrize("freedom", [0.3, 1, 1.7, 2, 4, 10.5, 30, 100, math.inf])
def test_student_p_is_scipys(freedom: float) -> None:
    for distance in (0.01, 0.1, 0.5, 1, 1.96, 3, 5, 10, 30, 1e3, 1e6, 1e20, 1e40, 1e100):
        expected = 2 * float(stats.t.sf(distance, freedom))
        if expected > 1e-300:
            assert student_p(distance, freedom) == pytest.approx(expected, rel=1e-12, abs=0)
            assert student_p(-distance, freedom) == student_p(distance, freedom)


@pytest.mark.parametrize(
    ("freedom", "close"), [(1e4, 1e-10), (1e6, 1e-8), (1e7, 1e-7), (1e9, 1e-7)]
)
def test_student_p_with_much_freedom(freedom: float, close: float) -> None:
    """Digits are lost in the difference of two logarithms of the gamma function."""
    for distance in (0.1, 1, 2, 3):
        expected = 2 * float(stats.t.sf(distance, freedom))
        assert student_p(distance, freedom) == pytest.approx(expected, rel=close, abs=0)


def test_student_p_of_tiny_probabilities() -> None:
    # of Student's distribution with 1 and 2 degrees of freedom, in closed form
    for exponent in (1, 10, 100, 150):
        distance = 10.0**exponent
        assert student_p(distance, 1) == pytest.approx(
            2 / math.pi * math.atan(1 / distance), rel=1e-12, abs=0
        )
        root = math.sqrt(2 + distance**2)
        assert student_p(distance, 2) == pytest.approx(
            2 / (root * (root + distance)), rel=1e-12, abs=0
        )
    assert 1e-210 < student_p(1e20, 10.5) < 1e-200
    assert student_p(math.inf, 3) == 0
    assert student_p(0, 3) == 1
    assert math.isnan(student_p(math.nan, 3))


@pytest.mark.parametrize("freedom", [0.3, 1, 1.7, 4, 10.5, 100, math.inf])
def test_student_quantile_is_scipys(freedom: float) -> None:
    for confidence in (0.1, 0.5, 0.6, 0.8, 0.95, 0.99, 0.999, 1 - 1e-6):
        expected = float(stats.t.isf((1 - confidence) / 2, freedom))
        assert student_quantile(confidence, freedom) == pytest.approx(expected, rel=1e-9)
        assert student_p(student_quantile(confidence, freedom), freedom) == pytest.approx(
            1 - confidence, rel=1e-9
        )


# --- Variance components ---


def test_components_of_a_balanced_model() -> None:
    """One system: image x run without replication, whose analysis of variance is exact."""
    rng = np.random.default_rng(0)
    images, runs = 150, 4
    values = draw_runs(rng, images, runs, 0.3)
    found = score_runs(values, 20_000)
    grand, by_image, by_run = values.mean(), values.mean(axis=1), values.mean(axis=0)
    residuals = values - by_image[:, None] - by_run + grand
    interaction = np.square(residuals).sum() / ((images - 1) * (runs - 1)) / images
    variance = found.run_variance
    assert variance is not None and variance.freedom == runs - 1
    assert variance.variance == pytest.approx(by_run.var(ddof=1))
    assert variance.interaction == pytest.approx(interaction, rel=0.02)
    parts = find_error([found], images)
    assert parts.runs == pytest.approx(variance.variance / runs)
    over_images = by_image.var(ddof=1) / images
    assert parts.images == pytest.approx(over_images - interaction / runs, rel=0.05)
    assert parts.images_freedom == images - 1
    assert parts.runs_freedom == pytest.approx(runs - 1)
    interval = find_interval(found, images, 0.95)
    limits = [stats.t.isf(0.025, freedom) ** 2 for freedom in (images - 1, runs - 1)]
    reach = math.sqrt(limits[0] * parts.images + limits[1] * parts.runs)
    assert interval.low == pytest.approx(grand - reach)
    assert interval.high == pytest.approx(grand + reach)


def test_difference_of_systems_with_runs() -> None:
    rng = np.random.default_rng(1)
    first, second = draw_runs(rng, 200, 5, 0.1) + 0.3, draw_runs(rng, 200, 3, 0.1)
    test = compare_runs(first, second)
    assert test.method == "images and runs"
    assert test.difference == pytest.approx(first.mean() - second.mean())
    variances = [np.var(v.mean(axis=0), ddof=1) / v.shape[1] for v in (first, second)]
    assert test.run_error**2 == pytest.approx(sum(variances))
    assert test.error**2 == pytest.approx(test.parts.images + test.parts.runs)
    spread = variances[0] ** 2 / 4 + variances[1] ** 2 / 2
    assert test.parts.runs_freedom == pytest.approx(sum(variances) ** 2 / spread)
    # p is 1 less the confidence of the interval that ends at 0
    assert test.parts.reach(1 - test.p) == pytest.approx(test.difference, rel=1e-9)
    assert test.low < test.difference < test.high
    assert (test.low > 0) == (test.p < 0.05)
    back = compare_runs(second, first)
    assert (back.p, back.error) == (test.p, test.error)
    assert (back.low, back.high) == (-test.high, -test.low)


def test_p_of_two_variances() -> None:
    for images, runs, freedom in ((0.01, 0.02, 1.0), (1e-4, 1.0, 2.7), (1.0, 1e-4, 4.0)):
        parts = StandardError(images, 99, runs, freedom)
        for distance in (1e-3, 0.1, 0.5, 2.0, 50.0):
            p = parts.find_p(distance)
            known = [student_p(distance / parts.error, f) for f in (99, freedom)]
            assert min(known) <= p <= max(known)
            squares = [stats.t.isf(p / 2, f) ** 2 for f in (99, freedom)]
            reach = math.sqrt(squares[0] * images + squares[1] * runs)
            assert reach == pytest.approx(distance, rel=1e-8)
    assert StandardError(0.04, 10).find_p(0.5) == student_p(2.5, 10)
    assert StandardError(0.0, 10).find_p(0.5) == 0
    assert StandardError(0.0, 10).find_p(0.0) == 1
    assert math.isnan(StandardError(math.nan, 0).find_p(1.0))


def test_runs_without_variance_cost_little() -> None:
    """Equal runs are one run: the error is that of the images."""
    values = np.random.default_rng(2).normal(size=(300, 1))
    once = paired_test(
        *[np.stack([v, np.ones(300)], axis=1) for v in (values[:, 0], 0 * values[:, 0])],
        mean,
        (values[:, 0], 0 * values[:, 0]),
        resamples=2000,
    )
    often = compare_runs(np.repeat(values, 3, axis=1), np.zeros((300, 2)))
    assert often.error == pytest.approx(once.error)
    assert often.run_error == 0
    assert often.parts.images_freedom == once.parts.images_freedom == 299


def test_a_single_run_takes_the_variance_of_the_others() -> None:
    rng = np.random.default_rng(3)
    many, one = draw_runs(rng, 200, 5, 0.5), draw_runs(rng, 200, 1, 0.5)
    scores = score_runs(many), score_runs(one)
    assumed = pool_run_variance(scores)
    assert assumed is not None
    assert assumed == scores[0].run_variance
    assert pool_run_variance(scores[1:]) is None
    # The variance of one run, and of the mean of five, by one estimate with 4 degrees of freedom.
    parts = find_error(scores, 200, assumed)
    assert parts.runs == pytest.approx(assumed.variance * (1 + 1 / 5))
    assert parts.runs_freedom == 4
    assert find_error(scores, 200).runs == pytest.approx(assumed.variance / 5)
    assert find_interval(scores[1], 200, 0.95, assumed).high - one.mean() > 1


def test_intervals_over_runs_cover_as_often_as_they_say() -> None:
    rng = np.random.default_rng(4)
    for runs, spread in ((3, 0.0), (3, 0.1), (5, 0.2), (10, 0.1)):
        covered = 0
        for _ in range(60):
            first, second = (draw_runs(rng, 60, runs, spread) for _ in range(2))
            scores = score_runs(first, 200), score_runs(second, 200)
            values = first.mean(axis=1), second.mean(axis=1)
            test = paired_test_of_runs(*scores, values)
            covered += test.low <= 0 <= test.high
        assert covered >= 50


# --- Power ---


def of_images(error: float, freedom: float = math.inf) -> StandardError:
    return StandardError(error**2, freedom)


def test_detectable_difference_of_a_normal_test() -> None:
    for confidence in (0.9, 0.95, 0.995):
        limit = stats.norm.isf((1 - confidence) / 2)
        size = find_detectable(of_images(2.0), confidence)
        assert stats.norm.sf(limit - size / 2) == pytest.approx(0.8)
    assert find_detectable(of_images(1.0, 10)) > find_detectable(of_images(1.0))
    assert math.isnan(find_detectable(of_images(math.nan)))
    assert math.isnan(find_detectable(of_images(0.0)))


def test_detectable_difference_of_students_test() -> None:
    """Shifted quantiles are close to the noncentral distribution."""
    for freedom, close in ((3, 0.06), (10, 0.02), (50, 0.005)):
        limit = stats.t.isf(0.025, freedom)
        power = stats.nct.sf(limit, freedom, find_detectable(of_images(1.0, freedom)))
        assert power == pytest.approx(0.8, abs=close)


def plan_of(parts: StandardError) -> PairedTest:
    return PairedTest(
        **dict.fromkeys(("difference", "p", "p_error", "adjusted_p", "p_bootstrap"), 0.0),
        **dict.fromkeys(("low", "high", "effect", "wins"), 0.0),
        **{"error": parts.error, "method": "permutation", "paired_images": 100},
        **{"confidence": 0.95, "parts": parts, "detectable": find_detectable(parts)},
    )


def test_plans_of_images() -> None:
    parts = of_images(0.05, 99)
    test = plan_of(parts)
    size = find_detectable(parts)
    assert plan_comparison(test, size * (1 - 1e-9), images=100)[0] == 101
    assert plan_comparison(test, size * (1 + 1e-9), images=100)[0] == 100
    assert plan_comparison(test, size / 2, images=100)[0] == pytest.approx(400, rel=0.03)
    assert math.isnan(plan_comparison(test, size, images=100)[1])
    corrected = plan_comparison(test, size, images=100, confidence=0.995)[0]
    expected = 100 * (find_detectable(parts, 0.995) / size) ** 2
    assert corrected == pytest.approx(expected, rel=0.02)
    for difference in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(SettingError, match="difference must be positive"):
            plan_comparison(test, difference, images=100)
    undefined = plan_of(of_images(math.nan))
    assert all(map(math.isnan, plan_comparison(undefined, 1.0, images=100)))


def test_plans_of_runs() -> None:
    # half of the variance is due to 4 runs each
    test = plan_of(StandardError(0.05**2, 99, 0.05**2, 6))
    size = find_detectable(of_images(0.05, 99)) * 0.9
    images, runs = plan_comparison(test, size, images=100, runs=4)
    assert math.isinf(images)  # the variance over runs remains
    assert math.isinf(runs)  # that over images remains
    smaller, fewer = plan_comparison(test, 0.26, images=100, runs=4)
    more, many = plan_comparison(test, 0.2, images=100, runs=4)
    assert smaller < 100 < more < math.inf
    assert 2 <= fewer <= 4 < many < math.inf


def test_plans_of_runs_that_differ_by_chance_on_each_image() -> None:
    """The variance over images is that of images x runs: half as many runs, twice the variance."""
    rng = np.random.default_rng(25)
    test = compare_runs(rng.normal(size=(300, 8)), rng.normal(size=(300, 8)))
    for expected in (8, 5):
        parts = replace(
            test.parts, runs=test.parts.runs * 8 / expected, runs_freedom=2 * (expected - 1)
        )
        size = find_detectable(parts) * 1.03
        _, runs = plan_comparison(test, size, images=300, runs=8)
        assert runs == pytest.approx(expected, abs=2)


# --- Equivalence ---


def test_equivalence_is_two_one_sided_z_tests() -> None:
    for difference, error, margin in ((0.0, 1.0, 2.0), (-0.5, 0.3, 1.0), (1.2, 0.4, 1.0)):
        above = stats.norm.sf((margin - difference) / error)
        below = stats.norm.sf((margin + difference) / error)
        p = equivalence_p(difference, of_images(error), margin, 1000)
        assert p == pytest.approx(max(above, below), rel=1e-12)
        t = stats.t.sf((margin - abs(difference)) / error, 7.5)
        p = equivalence_p(difference, of_images(error, 7.5), margin, 1000)
        assert p == pytest.approx(t, rel=1e-12)
    assert equivalence_p(0.1, of_images(0.0), 0.2, 1000) < 1e-290
    assert equivalence_p(0.1, of_images(0.0), 0.2, 3) == 0.25  # of two images that differ by chance
    assert equivalence_p(0.3, of_images(0.0), 0.2, 1000) == 1
    assert math.isnan(equivalence_p(math.nan, of_images(0.1), 0.2, 1000))


def test_equivalence_agrees_with_a_z_test_of_the_images() -> None:
    rng = np.random.default_rng(6)
    first = rng.normal(size=2000)
    second = first + 0.02 + 0.5 * rng.normal(size=2000)
    rows = [np.stack([v, np.ones(2000)], axis=1) for v in (first, second)]
    test = paired_test(*rows, mean, (first, second), margin=0.05, resamples=5000)
    deltas = first - second
    error = deltas.std(ddof=1) / math.sqrt(2000)
    expected = stats.norm.sf((0.05 - abs(deltas.mean())) / error)
    assert test.p_equivalence == pytest.approx(expected, rel=0.15)


def test_equivalence_of_few_images_has_the_level() -> None:
    """The true difference is the margin."""
    rng = np.random.default_rng(12)
    found = 0
    for seed in range(500):
        deltas = rng.normal(6.0, 1.0, 5)
        rows = [np.stack([v, np.ones(5)], axis=1) for v in (deltas, np.zeros(5))]
        test = paired_test(*rows, mean, (deltas, 0 * deltas), margin=6.0, resamples=300, seed=seed)
        found += (test.p_equivalence or 0.0) < 0.05
    assert found / 500 <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 500)


def test_verdicts() -> None:
    rng = np.random.default_rng(7)
    base = rng.normal(size=1000)
    found = {}
    for shift, noise in ((0.5, 0.1), (0.05, 0.1), (0.0, 0.1), (0.0, 20.0)):
        other = base + shift + noise * rng.permutation(base) - noise * base.mean()
        rows = [np.stack([v, np.ones(1000)], axis=1) for v in (base, other)]
        found[shift, noise] = paired_test(*rows, mean, (base, other), margin=0.1).verdict
    assert found == {
        (0.5, 0.1): "different",
        (0.05, 0.1): "different, within the margin",
        (0.0, 0.1): "equivalent",
        (0.0, 20.0): "undecided",
    }
    for margin in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(SettingError, match="margin must be positive"):
            paired_test(rows[0], rows[1], mean, (base, other), margin=margin)


def test_holm_ignores_comparisons_without_scores() -> None:
    p = [0.01, math.nan, 0.04, 0.03, math.nan]
    adjusted = holm(p)
    assert np.isnan([adjusted[1], adjusted[4]]).all()
    assert [adjusted[i] for i in (0, 2, 3)] == holm([0.01, 0.04, 0.03])
    assert np.isnan(holm([math.nan])).all()
    assert holm([1e-300, 1e-308, 2e-308]) == pytest.approx([1e-300, 3e-308, 4e-308])
    # at least the unadjusted p, in the same order
    p = list(np.random.default_rng(0).random(50) ** 3)
    assert all(a >= b for a, b in zip(holm(p), p, strict=True))
    assert (np.argsort(holm(p), kind="stable")[:5] == np.argsort(p)[:5]).all()


# --- Bad input and degenerate cases ---


def test_undefined_scores_of_runs_are_no_difference() -> None:
    values = np.random.default_rng(8).normal(size=(50, 2))
    known = score_runs(values)
    undefined = RunScores(np.array([np.nan, 1.0]), known.samples)
    test = paired_test_of_runs(undefined, known, (values[:, 0], values[:, 1]), margin=1.0)
    assert math.isnan(test.p)
    assert not test.is_different


def test_a_sample_without_score_is_no_difference() -> None:
    values = np.random.default_rng(9).normal(size=(50, 2))
    known = score_runs(values)
    samples = known.samples.copy()
    samples[3] = np.nan
    test = paired_test_of_runs(
        RunScores(known.scores + 0.01, samples), known, (values[:, 0], values[:, 1])
    )
    assert not test.is_different


REFERENCES = {image: ["a dog runs on the grass", "the dog is running"] for image in range(6)}
FIRST = dict.fromkeys(REFERENCES, "a dog runs")
SECOND = dict.fromkeys(REFERENCES, "a cat sleeps on a mat")


def compare_captions(first: Any, second: Any, references: Any = REFERENCES) -> PairedTest:
    found = cidery.compare({"a": first, "b": second}, references, ["rouge-l"], margin=0.5)
    return found.tests["rouge-l"]["a", "b"]


@pytest.mark.filterwarnings("ignore::cidery.errors.UnreliableWarning")
class TestFewImages:
    def test_one_image_shows_no_difference(self) -> None:
        test = compare_captions({0: FIRST[0]}, {0: SECOND[0]}, {0: REFERENCES[0]})
        assert test.p == 1
        assert not test.is_different

    def test_one_image_shows_no_equivalence(self) -> None:
        test = compare_captions({0: FIRST[0]}, {0: SECOND[0]}, {0: REFERENCES[0]})
        assert test.verdict == "undecided"
        assert math.isnan(test.detectable)

    def test_equal_runs_of_one_image_show_no_difference(self) -> None:
        runs = [[{0: captions[0]}] * 2 for captions in (FIRST, SECOND)]
        test = compare_captions(*runs, {0: REFERENCES[0]})
        assert not test.is_different

    def test_equal_differences_of_runs_are_those_of_images(self) -> None:
        """p of six images that differ by the same: 2 / 2**6, if runs do not vary."""
        test = compare_captions([FIRST] * 2, [SECOND] * 2)
        assert test.p >= 2.0**-5

    def test_equal_differences(self) -> None:
        test = compare_captions(FIRST, SECOND)
        assert (test.p, test.method) == (2.0**-5, "exact")

    def test_identical_systems(self) -> None:
        for given in (FIRST, [FIRST, FIRST]):
            test = compare_captions(given, given)
            assert (test.difference, test.p, test.adjusted_p) == (0, 1, 1)
            assert test.verdict in ("equivalent", "undecided")

    def test_errors(self) -> None:
        with pytest.raises(MismatchError, match="no ids match"):
            compare_captions(FIRST, {9: "a dog"})
        with pytest.raises(MismatchError, match="have references but no candidates"):
            compare_captions([FIRST, {0: "a dog"}], SECOND)
        with pytest.raises(InputError, match="there are no captions"):
            compare_captions([], SECOND)
