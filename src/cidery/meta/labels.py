"""Metrics and measures by label, from whatever the caller gives: names, objects, functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from cidery.diversity import Measure, get_measures
from cidery.errors import SettingError
from cidery.meta.judgments import Dataset, Sets, Systems
from cidery.meta.scoring import CaptionFunction
from cidery.metrics import Metric, get_metrics

AnyMetric: TypeAlias = str | Metric | CaptionFunction | Measure | Callable[[list[str]], float]
AnyMetrics: TypeAlias = "AnyMetric | Iterable[AnyMetric] | Mapping[str, AnyMetric] | None"
_Get: TypeAlias = Callable[[Any], Mapping[str, Any]]


def label_for(dataset: Dataset, metrics: AnyMetrics) -> dict[str, Any]:
    """Return what a data set can be judged by: metrics, measures of diversity or known scores."""
    if isinstance(dataset, Sets):
        return _label(metrics, Measure, get_measures)
    if isinstance(dataset, Systems):
        return _label_known(dataset, metrics)
    return _label(metrics, Metric, get_metrics)


def label_metrics(metrics: AnyMetrics) -> dict[str, Metric | CaptionFunction]:
    """Return metrics by label; a function goes by its name, a mapping's keys are labels.

    ```python
    label_metrics(["bleu", CiderD(sigma=4), my_function])
    label_metrics({"stemless": Cider(stemmer=None), "mine": my_function})
    ```
    """
    return _label(metrics, Metric, get_metrics)


def _label_known(dataset: Systems, metrics: AnyMetrics) -> dict[str, Any]:
    """Return the metrics that the data set has scores of; the protocol refuses others."""
    known = next(iter(dataset.scores.values()))
    if metrics is None:
        return dict.fromkeys(known)
    given = [metrics] if isinstance(metrics, str) else metrics
    if isinstance(given, Iterable):
        given = list(given)
        names = [metric for metric in given if isinstance(metric, str) and metric in known]
        if names == given:
            return dict.fromkeys(names)
    return dict(label_metrics(metrics))


def _label(given: Any, kind: type[Any], get: _Get) -> dict[str, Any]:
    """Return metrics of one kind, and functions, by label; `get` labels names and objects."""
    if isinstance(given, Mapping):
        return {label: _resolve_one(label, metric, kind, get) for label, metric in given.items()}
    if given is None or isinstance(given, str | kind) or callable(given):
        given = [] if given is None else [given]
    given = list(given)
    known = [metric for metric in given if isinstance(metric, str | kind)]
    labelled: dict[str, Any] = {}
    if known or not given:
        labelled.update(get(known or None))
    for function in given:
        if isinstance(function, str | kind):
            continue
        name = _name_function(function, kind)
        if name in labelled:
            raise SettingError(f"two metrics are called {name!r}; pass a dict to name them")
        labelled[name] = function
    return labelled


def _resolve_one(label: str, metric: Any, kind: type[Any], get: _Get) -> Any:
    if not isinstance(metric, str | kind):
        _name_function(metric, kind)
        return metric
    found = list(get(metric).values())
    if len(found) > 1:
        raise SettingError(f"{label!r} names {metric!r}, which is {len(found)} metrics")
    return found[0]


def _name_function(function: Any, kind: type) -> str:
    if not callable(function):
        what = f"a metric is a name, a {kind.__name__} or a function"
        raise SettingError(f"{what}, not {type(function).__name__}")
    return str(getattr(function, "__name__", type(function).__name__))
