"""Settings of metrics are declared by annotations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pytest

import cidery
from cidery.errors import SettingError
from cidery.metrics import FunctionMetric
from cidery.metrics.settings import Interval, parse_settings, split_settings

if TYPE_CHECKING:
    from decimal import Decimal


@dataclass(frozen=True)
class Declared(FunctionMetric):
    side: Literal["left", "right"] = "left"
    size: Annotated[int | None, Interval(1, 3)] = None
    share: Annotated[float, Interval(0, 1)] = 0.5
    weights: Literal["equal"] | tuple[float, ...] = "equal"
    source: Literal["none"] | str = "none"
    exact: bool = True


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"side": "up"}, "side must be one of left, right, not 'up'"),
        ({"side": 3}, "side must be one of left, right, not 3"),
        ({"side": None}, "side must be one of left, right, not None"),
        ({"size": 4}, "size must be an integer between 1 and 3, not 4"),
        ({"size": 2.0}, "size must be an integer between 1 and 3, not 2.0"),
        ({"size": True}, "size must be an integer between 1 and 3, not True"),
        ({"share": float("nan")}, "share must lie between 0 and 1, not nan"),
        ({"weights": "random"}, "weights must be one of equal, not 'random'"),
    ],
)
def test_values_outside_the_declaration_are_refused(settings: Any, message: str) -> None:
    with pytest.raises(SettingError) as raised:
        Declared(max, **settings)
    assert str(raised.value) == message


def test_values_inside_the_declaration_are_accepted() -> None:
    Declared(max, size=3, share=1, weights=(1.0, 2.0), source="a file")


def test_text_is_parsed_by_the_declared_types() -> None:
    name, pairs = split_settings("m:side=right,size=none,share=0.25,source=x,exact=no")
    assert name == "m"
    parsed = parse_settings(Declared(max), pairs)
    expected = {"side": "right", "size": None, "share": 0.25, "source": "x", "exact": False}
    assert parsed == expected
    with pytest.raises(SettingError, match=r"^max: exact must be yes or no, not 'perhaps'$"):
        parse_settings(Declared(max), {"exact": "perhaps"})


def test_annotations_for_type_checkers_are_not_checked() -> None:
    @dataclass(frozen=True)
    class Typed(cidery.CiderD):
        amount: Decimal | None = None

    assert Typed(amount=None).name == "cider-d"
