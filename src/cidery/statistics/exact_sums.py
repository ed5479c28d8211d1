"""Sums that do not depend on the order or grouping of rows.

A float64 is a whole multiple of 2^-1074, so a sum of them is an integer in that unit. Integers are
added without rounding; the sum is rounded once, when it is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import repeat
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np

from cidery._native import exact_sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

_UNIT = 1 << 1074
_MOST = 1 << 2098


@dataclass(frozen=True)
class ExactSums:
    """Exact sums of columns, and the number of rows.

    ```python
    rows = np.random.default_rng(1).random((20, 3))
    ExactSums.of(rows) == ExactSums.of(rows[7:]) + ExactSums.of(rows[:7])   # True
    ```
    """

    units: tuple[int, ...]
    """Sum of the finite values of each column, in units of 2^-1074."""
    others: tuple[float, ...]
    """Sum of the other values of each column: 0, an infinity or nan."""
    count: int

    @classmethod
    def of(cls, rows: NDArray[np.float64]) -> ExactSums:
        """Return the sums of rows, float64[rows, k]."""
        units, others = exact_sums(np.ascontiguousarray(rows, np.float64))
        whole = (int.from_bytes(unit, "little", signed=True) for unit in units)
        return cls(tuple(whole), tuple(others), len(rows))

    @classmethod
    def nothing(cls, columns: int) -> ExactSums:
        """Return the sums of no rows."""
        return cls((0,) * columns, (0.0,) * columns, 0)

    def __add__(self, other: ExactSums) -> ExactSums:
        if not isinstance(other, ExactSums):
            return NotImplemented
        if len(self.units) != len(other.units):
            raise ValueError("sums of rows with different columns cannot be added")
        return ExactSums(
            tuple(map(add, self.units, other.units)),
            tuple(map(add, self.others, other.others)),
            self.count + other.count,
        )

    def round(self) -> NDArray[np.float64]:
        """Return the sums, each rounded once to the nearest float64: float64[k]."""
        return np.array(list(map(_round, self.units, self.others)), np.float64)

    def to_dict(self) -> dict[str, Any]:
        """Return the sums, ready for JSON."""
        return {
            "units": [f"{unit:x}" for unit in self.units],
            "others": list(map(repr, self.others)),
            "count": self.count,
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> ExactSums:
        """Return the sums that `to_dict` wrote."""
        units = map(int, content["units"], repeat(16))
        return cls(tuple(units), tuple(map(float, content["others"])), content["count"])


def _round(units: int, other: float) -> float:
    if other != 0:  # nan too
        return other
    if abs(units) >= _MOST:  # too large for float64
        return float("inf") if units > 0 else float("-inf")
    try:
        return units / _UNIT  # Python rounds the quotient of integers correctly
    except OverflowError:
        return float("inf") if units > 0 else float("-inf")


def sum_exactly(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sums of the columns, each rounded once: float64[rows, k] -> float64[k].

    ```python
    sum_exactly(np.array([[1e100], [1.0], [-1e100]]))   # array([1.])
    ```
    """
    return ExactSums.of(rows).round()
