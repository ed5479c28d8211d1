"""Metrics and measures by label, from names, objects and functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from cidery.diversity import Measure, get_measures
from cidery.errors import SettingError
from cidery.meta.judgments import Dataset, Sets, Systems
from cidery.meta.protocols.base import HUMAN
from cidery.metrics import MetricLike, get_metrics

AnyMetric: TypeAlias = MetricLike | Measure | Callable[[list[str]], float]
AnyMetrics: TypeAlias = "AnyMetric | Iterable[AnyMetric] | Mapping[str, AnyMetric] | None"


def label_for(dataset: Dataset, metrics: Any, language: str | None = None) -> dict[str, Any]:
    """Return label -> metric, diversity measure or name of known scores, by the kind of data set.

    Metrics given by name get the settings of the language.
    """
    if isinstance(dataset, Sets):
        labeled = _label_measures(metrics)
    elif isinstance(dataset, Systems):
        labeled = _label_known(dataset, metrics)
    else:
        labeled = dict(get_metrics(metrics, language=language))
    if HUMAN in labeled:
        raise SettingError(f"{HUMAN!r} is the label of annotator agreement; choose another label")
    return labeled


def _label_known(dataset: Systems, metrics: Any) -> dict[str, Any]:
    """Return the metrics with known scores; the protocol refuses others."""
    known = next(iter(dataset.scores.values()))
    if metrics is None:
        return dict.fromkeys(known)
    given = [metrics] if isinstance(metrics, str) else metrics
    if isinstance(given, Iterable):
        given = list(given)
        names = [metric for metric in given if isinstance(metric, str) and metric in known]
        if names == given:
            return dict.fromkeys(names)
    return dict(get_metrics(metrics))


def _label_measures(given: Any) -> dict[str, Any]:
    """Return diversity measures and functions by label."""
    if isinstance(given, Mapping):
        return {label: _resolve_one(label, measure) for label, measure in given.items()}
    if given is None or isinstance(given, str | Measure) or callable(given):
        given = [] if given is None else [given]
    given = list(given)
    known = [measure for measure in given if isinstance(measure, str | Measure)]
    labeled: dict[str, Any] = {}
    if known or not given:
        labeled.update(get_measures(known or None))
    for function in given:
        if isinstance(function, str | Measure):
            continue
        name = _name_function(function)
        if name in labeled:
            raise SettingError(f"two measures have the name {name!r}; pass a dict with labels")
        labeled[name] = function
    return labeled


def _resolve_one(label: str, measure: Any) -> Any:
    if not isinstance(measure, str | Measure):
        _name_function(measure)
        return measure
    found = list(get_measures(measure).values())
    if len(found) > 1:
        raise SettingError(f"{label!r}: {measure!r} names {len(found)} measures, expected one")
    return found[0]


def _name_function(function: Any) -> str:
    if not callable(function):
        what = "a measure is a name, a Measure or a function"
        raise SettingError(f"{what}, not {type(function).__name__}")
    return str(getattr(function, "__name__", type(function).__name__))
