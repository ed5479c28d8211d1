"""What trainers make of rewards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from cidery.errors import InputError, SettingError
from cidery.rewards import (
    group_normalize,
    leave_one_out,
    mix_losses,
    mix_rewards,
    per_token,
    self_critical,
)

groups = arrays.arrays(
    np.float64,
    st.tuples(st.integers(1, 5), st.integers(2, 6)),
    elements=st.floats(0, 10, allow_subnormal=False),
)


def test_self_critical_takes_the_greedy_reward_away() -> None:
    np.testing.assert_array_equal(self_critical([1.0, 3.0], [1.0, 1.0]), [0.0, 2.0])
    np.testing.assert_array_equal(self_critical([1, 2, 3, 4], [1, 10]), [0, 1, -7, -6])
    np.testing.assert_array_equal(self_critical([[1, 2], [3, 4]], [1, 10]), [0, 1, -7, -6])


@given(groups)
def test_leave_one_out_compares_with_the_others(rewards: np.ndarray) -> None:
    samples = rewards.shape[1]
    advantages = leave_one_out(rewards.ravel(), samples).reshape(rewards.shape)
    for group, found in zip(rewards, advantages, strict=True):
        expected = [r - np.delete(group, i).mean() for i, r in enumerate(group)]
        np.testing.assert_allclose(found, expected, atol=1e-9)
    np.testing.assert_allclose(advantages.sum(axis=1), 0, atol=1e-9)


@given(groups)
def test_group_normalized_advantages_are_centred_and_scaled(rewards: np.ndarray) -> None:
    samples = rewards.shape[1]
    centered = group_normalize(rewards, samples, scale=False).reshape(rewards.shape)
    np.testing.assert_allclose(centered, rewards - rewards.mean(1, keepdims=True), atol=1e-12)
    scaled = group_normalize(rewards, samples, epsilon=1e-12).reshape(rewards.shape)
    spread = rewards.std(axis=1) > 1e-3
    np.testing.assert_allclose(scaled.std(axis=1)[spread], 1, rtol=1e-6)
    np.testing.assert_array_equal(scaled[np.ptp(rewards, axis=1) == 0], 0)


def test_equal_rewards_give_no_advantage_however_they_round() -> None:
    np.testing.assert_array_equal(group_normalize([0.1] * 3, 3, epsilon=1e-300), [0.0] * 3)


def test_advantages_spread_over_tokens() -> None:
    found = per_token([0.5, -1.0], np.array([[1, 1, 0], [0, 1, 1]], bool))
    np.testing.assert_array_equal(found, [[0.5, 0.5, 0.0], [0.0, -1.0, -1.0]])


def test_mixing() -> None:
    np.testing.assert_array_equal(mix_rewards([1.0, 2.0], [0.5, 0.0], weight=4.0), [3.0, 2.0])
    assert mix_losses(2.0, -0.5, weight=5.0) == -0.5
    np.testing.assert_array_equal(
        mix_losses(np.ones(2), np.array([0.0, 2.0]), weight=0.5), [1.0, 2.0]
    )


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: self_critical([1, 2, 3], [1, 2]), InputError, "3 sampled rewards .* 2 greedy"),
        (lambda: self_critical([1], []), InputError, "multiple of 0 greedy"),
        (lambda: leave_one_out([1.0, 2.0, 3.0], 2), InputError, "not a multiple of 2"),
        (lambda: leave_one_out([1.0], 1), SettingError, "at least 2 samples"),
        (lambda: group_normalize([1, 2], 2, epsilon=0.0), SettingError, "epsilon"),
        (lambda: group_normalize(np.ones((1, 1, 1)), 2), InputError, r"shape \(1, 1, 1\)"),
        (lambda: per_token([1.0], np.ones((2, 3))), InputError, r"shape \(1, tokens\), not \(2, 3"),
        (lambda: mix_rewards([1.0], [1.0, 2.0], 1.0), InputError, "1 rewards and 2 external"),
        (lambda: mix_losses(1.0, 1.0, -1.0), SettingError, "must not be negative"),
    ],
)
def test_what_does_not_fit_is_refused(
    call: Callable[[], Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        call()
