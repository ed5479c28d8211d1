"""Registry of diversity measures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TypeAlias

from cidery.diversity.base import Measure
from cidery.diversity.distinct import Distinct, Novel, Unique, Vocabulary
from cidery.diversity.kernels import Kernel
from cidery.diversity.mbleu import MBleu
from cidery.diversity.self_cider import Lsa, SelfCider
from cidery.errors import SettingError
from cidery.metrics.settings import parse_settings, split_settings

MEASURES: Mapping[str, Measure] = MappingProxyType(
    {
        measure.name: measure
        for measure in (
            SelfCider(),
            Lsa(),
            *(MBleu(n) for n in (1, 2, 3, 4, None)),
            Distinct(1),
            Distinct(2),
            Unique(),
            Novel(),
            Vocabulary(),
        )
    }
)
"""Every measure with its default settings."""

FAMILIES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "mbleu": ("mbleu-1", "mbleu-2", "mbleu-3", "mbleu-4", "mbleu-mix"),
        "distinct": ("distinct-1", "distinct-2"),
    }
)
"""Names of groups of measures."""

DEFAULT: tuple[str, ...] = ("self-cider", "lsa", "mbleu", "distinct", "unique", "vocabulary")

MeasureLike: TypeAlias = str | Measure


def get_measures(
    measures: MeasureLike | Iterable[MeasureLike] | None = None,
    *,
    kernel: Kernel = "cider",
    stop_words: str | tuple[str, ...] | None = None,
) -> dict[str, Measure]:
    """Return measures by label, from names, families or Measure objects.

    A name may have settings: `self-cider:kernel=minilm`. `kernel` and `stop_words` are the defaults
    of `self-cider` and `lsa` given by name. Labels are names with settings; of two objects with the
    same name, the later one's label has the settings that differ.

    ```python
    list(get_measures(["self-cider", "distinct"]))   # ["self-cider", "distinct-1", "distinct-2"]
    ```
    """
    if measures is None:
        measures = DEFAULT
    if isinstance(measures, (str, Measure)):
        measures = [measures]
    chosen: dict[str, Measure] = {}
    for given in measures:
        for measure in _resolve(given, kernel, stop_words):
            if measure in chosen.values():
                continue
            label = measure.name
            if isinstance(given, str) and ":" in given:
                label += given[given.index(":") :]
            elif label in chosen:
                label += _difference(measure, chosen[label])
            chosen[label] = measure
    if not chosen:
        raise SettingError("no diversity measures given")
    return chosen


def _resolve(
    given: MeasureLike, kernel: Kernel, stop_words: str | tuple[str, ...] | None
) -> Iterator[Measure]:
    if isinstance(given, Measure):
        yield given
        return
    asked_name, pairs = split_settings(given)
    for name in FAMILIES.get(asked_name, (asked_name,)):
        if name not in MEASURES:
            known = ", ".join([*MEASURES, *FAMILIES])
            raise SettingError(f"unknown diversity measure {name!r}; known: {known}")
        measure = MEASURES[name]
        asked = parse_settings(measure, pairs)
        if isinstance(measure, SelfCider):
            measure = replace(measure, **{"kernel": kernel, **asked})
        elif isinstance(measure, Lsa):
            measure = replace(measure, **{"stop_words": stop_words, **asked})
        elif asked:
            measure = replace(measure, **asked)
        if measure.name != name:
            raise SettingError(f"{given!r} is {measure.name!r}; use that name")
        yield measure


def _difference(measure: Measure, other: Measure) -> str:
    """Return the settings in which a measure differs from another one of the same name."""
    mine, theirs = measure.settings(), other.settings()
    return "".join(f":{key}={value}" for key, value in mine.items() if theirs.get(key) != value)
