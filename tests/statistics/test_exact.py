"""Sums that do not depend on order or grouping."""

from __future__ import annotations

import json
import math
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cidery.statistics import ExactSums, sum_exactly

finite = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(finite, max_size=40), st.randoms(use_true_random=False), st.integers(0, 40))
def test_any_order_and_grouping(values: list[float], random: Random, cut: int) -> None:
    rows = np.asarray(values, np.float64)[:, None]
    mixed = list(values)
    random.shuffle(mixed)
    other = np.asarray(mixed, np.float64)[:, None]
    whole = ExactSums.of(rows)
    assert whole == ExactSums.of(other[cut:]) + ExactSums.of(other[:cut])
    assert ExactSums.from_dict(json.loads(json.dumps(whole.to_dict()))) == whole


@given(st.lists(st.floats(-1e300, 1e300), max_size=40))
def test_rounded_once_as_fsum_is(values: list[float]) -> None:
    assert sum_exactly(np.asarray(values, np.float64)[:, None])[0] == math.fsum(values)


def test_smallest_and_largest() -> None:
    rows = np.array([[5e-324, 1.7976931348623157e308], [5e-324, 1.7976931348623157e308]])
    assert sum_exactly(rows).tolist() == [1e-323, math.inf]
    assert sum_exactly(-rows).tolist() == [-1e-323, -math.inf]
    assert sum_exactly(np.array([[1e100], [1.0], [-1e100]])).tolist() == [1.0]


@pytest.mark.parametrize(
    ("values", "total"),
    [
        ([1.0, math.inf], math.inf),
        ([-math.inf, 2.0], -math.inf),
        ([math.inf, -math.inf], math.nan),
        ([1.0, math.nan], math.nan),
    ],
)
def test_what_is_not_finite(values: list[float], total: float) -> None:
    rows = np.array(values)[:, None]
    assert np.array_equal(sum_exactly(rows), [total], equal_nan=True)
    sums = ExactSums.from_dict(json.loads(json.dumps(ExactSums.of(rows).to_dict())))
    assert np.array_equal((sums + ExactSums.nothing(1)).round(), [total], equal_nan=True)


def test_sums_of_other_columns_are_refused() -> None:
    with pytest.raises(ValueError, match="different columns"):
        ExactSums.nothing(1) + ExactSums.nothing(2)
