"""Settings of metrics: declared by annotations, checked, parsed and formatted.

A field of type `Literal` takes one of its values, a number with an `Interval` lies in it:

    smoothing: Literal["none", "add-one"] = "none"
    penalty: Annotated[float, Interval(0, 1)] = 0.9
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAlias

from cidery.errors import SettingError
from cidery.frequencies import MAX_ORDER


@dataclasses.dataclass(frozen=True)
class Interval:
    """Closed interval of the values of a setting."""

    low: float
    high: float


Faithful: TypeAlias = Literal["coco", "paper"]
NgramOrder: TypeAlias = Annotated[int, Interval(1, MAX_ORDER)]
Proportion: TypeAlias = Annotated[float, Interval(0, 1)]

_AS_TEXT: Mapping[Any, str] = {
    int: "a whole number",
    float: "a number",
    bool: "yes or no",
    NoneType: "none",
}


@dataclasses.dataclass(frozen=True)
class _Setting:
    """Values that a setting may have."""

    kinds: tuple[Any, ...]
    """Types, without literals."""
    choices: tuple[str, ...]
    """Values of literals."""
    interval: Interval | None

    @classmethod
    def read(cls, hint: Any) -> _Setting:
        interval = None
        if typing.get_origin(hint) is Annotated:
            hint, interval = typing.get_args(hint)
        is_union = isinstance(hint, UnionType) or typing.get_origin(hint) is typing.Union
        kinds = typing.get_args(hint) if is_union else (hint,)
        literals = [kind for kind in kinds if typing.get_origin(kind) is Literal]
        return cls(
            tuple(kind for kind in kinds if kind not in literals),
            tuple(value for kind in literals for value in typing.get_args(kind)),
            interval,
        )

    def check(self, name: str, value: Any) -> None:
        """Raise a SettingError unless the value is declared."""
        if value is None and NoneType in self.kinds:
            return
        is_other = str in self.kinds if isinstance(value, str) else self.kinds
        if self.choices and not is_other:
            require_choice(name, value, self.choices)
        if self.interval is not None:
            require_between(name, value, self.interval, whole=float not in self.kinds)

    def parse(self, name: str, text: str) -> Any:
        """Return the value of text from the command line; `check` comes later."""
        if text == "none" and NoneType in self.kinds:
            return None
        for kind in self.kinds:
            if kind is bool and text in ("yes", "no", "true", "false"):
                return text in ("yes", "true")
            if kind in (int, float):
                with suppress(ValueError):
                    return kind(text)
        if self.choices or str in self.kinds:
            return text
        expected = " or ".join(_AS_TEXT[kind] for kind in self.kinds if kind in _AS_TEXT)
        if not expected:
            raise SettingError(f"{name} cannot be given as text; pass an object from Python")
        raise SettingError(f"{name} must be {expected}, not {text!r}")


@cache
def _list_settings(metric: type) -> Mapping[str, _Setting]:
    hints = typing.get_type_hints(metric, include_extras=True)
    fields = [field for field in dataclasses.fields(metric) if field.init]
    return {field.name: _Setting.read(hints[field.name]) for field in fields}


def check_settings(metric: Any) -> None:
    """Raise a SettingError unless all settings have values that their annotations declare."""
    try:
        settings = _list_settings(metric.__class__)
    except NameError:  # annotations that are imported for type checkers only
        return
    for name, setting in settings.items():
        setting.check(name, getattr(metric, name))


def list_choices(metric: Any, name: str) -> tuple[str, ...]:
    """Return the words that a setting of a metric may be; empty if they are not declared."""
    try:
        setting = _list_settings(metric.__class__).get(name)
    except NameError:  # as in check_settings
        return ()
    return setting.choices if setting else ()


def split_settings(given: str) -> tuple[str, dict[str, str]]:
    """Return the name and the settings in `name:setting=value,…`.

    ```python
    split_settings("cider-d:sigma=4,n=2")   # ("cider-d", {"sigma": "4", "n": "2"})
    ```
    """
    name, _, text = given.partition(":")
    settings = {}
    for pair in text.split(",") if text else ():
        key, equals, value = pair.partition("=")
        if not equals:
            raise SettingError(f"{given!r}: expected setting=value, found {pair!r}")
        settings[key.strip()] = value.strip()
    return name, settings


def parse_settings(metric: Any, pairs: Mapping[str, str]) -> dict[str, Any]:
    """Return settings of a metric, or of a measure of diversity, in their declared types."""
    known = _list_settings(metric.__class__) if pairs else {}
    parsed: dict[str, Any] = {}
    for key, text in pairs.items():
        if key not in known:
            listed = f"; it has: {', '.join(known)}" if known else " and no others"
            raise SettingError(f"{metric.name} has no setting {key!r}{listed}")
        parsed[key] = known[key].parse(f"{metric.name}: {key}", text)
    return parsed


def format_setting(value: object) -> str:
    """Return the text of a setting in signatures and labels."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.12g}"
    if isinstance(value, tuple):
        return ",".join(map(format_setting, value))
    return str(value)


def require(holds: bool, message: str) -> None:
    """Raise a SettingError unless the condition holds."""
    if not holds:
        raise SettingError(message)


def require_between(name: str, value: float, interval: Interval, *, whole: bool = False) -> None:
    """Raise a SettingError unless the value lies in the interval (nan does not)."""
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    kind = "be an integer" if whole else "lie"
    require(
        interval.low <= value <= interval.high and (is_integer or not whole),
        f"{name} must {kind} between {interval.low:g} and {interval.high:g}, not {value}",
    )


def require_choice(name: str, value: object, choices: Iterable[str]) -> None:
    """Raise a SettingError unless the value is one of the choices."""
    choices = tuple(choices)
    require(value in choices, f"{name} must be one of {', '.join(choices)}, not {value!r}")
