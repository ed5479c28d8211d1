"""The metrics, by name."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType, NoneType, UnionType
from typing import Any, TypeAlias

from cidery.errors import SettingError
from cidery.metrics.base import Faithful, Metric
from cidery.metrics.contextual.bertscore import BertScore
from cidery.metrics.contextual.consensus import Consensus
from cidery.metrics.contextual.irv import Irv, IrvUnigram
from cidery.metrics.meteor import Meteor
from cidery.metrics.ngram.bleu import Bleu
from cidery.metrics.ngram.cider import Cider, CiderD, CiderR
from cidery.metrics.ngram.rouge import RougeL, RougeN, RougeS, RougeW
from cidery.metrics.spice.metric import Spice, Spider

MetricLike: TypeAlias = str | Metric

METRICS: Mapping[str, Metric] = MappingProxyType(
    {
        metric.name: metric
        for metric in (
            Cider(),
            CiderD(),
            CiderR(),
            *(Bleu(n) for n in (1, 2, 3, 4)),
            RougeN(1),
            RougeN(2),
            RougeL(),
            RougeS(),
            RougeW(),
            Meteor(),
            IrvUnigram(),
            BertScore(),
            BertScore(measure="precision"),
            BertScore(measure="recall"),
            Irv(),
            Consensus(),
            Spice(),
            Spider(),
        )
    }
)
"""Every metric with its default settings."""

FAMILIES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "bleu": ("bleu-1", "bleu-2", "bleu-3", "bleu-4"),
        "rouge": ("rouge-1", "rouge-2", "rouge-l", "rouge-s", "rouge-w"),
    }
)
"""Names that mean several metrics."""

DEFAULT: tuple[str, ...] = ("bleu", "rouge-l", "cider-d", "cider-r")


def get_metrics(
    metrics: MetricLike | Iterable[MetricLike] | None = None, faithful: Faithful | None = None
) -> dict[str, Metric]:
    """Return metrics by label, from names, families, `name:setting=value,…` or Metric objects.

    `faithful` applies to those given by name that know both modes. A label is the metric's name;
    where two metrics share it, the settings in which the later one differs are added.

    ```python
    list(get_metrics(["bleu", "cider-d:sigma=4"]))   # ["bleu-1", …, "bleu-4", "cider-d"]
    ```
    """
    if metrics is None:
        metrics = DEFAULT
    if isinstance(metrics, (str, Metric)):
        metrics = [metrics]
    labelled: dict[str, Metric] = {}
    for given in metrics:
        for metric in _resolve(given, faithful):
            if metric in labelled.values():
                continue
            label = metric.name
            if label in labelled:
                label += _difference(metric, labelled[label])
            labelled[label] = metric
    if not labelled:
        raise SettingError("no metrics were asked for")
    return labelled


def _resolve(given: MetricLike, faithful: Faithful | None) -> Sequence[Metric]:
    if isinstance(given, Metric):
        return [given]
    if not isinstance(given, str):
        raise SettingError(f"a metric is a name or a Metric, not {type(given).__name__}")
    name, _, settings = given.partition(":")
    names = FAMILIES.get(name, (name,))
    unknown = [n for n in names if n not in METRICS]
    if unknown:
        known = ", ".join([*METRICS, *FAMILIES])
        raise SettingError(f"unknown metric {name!r}; known: {known}")
    resolved = []
    for member in names:
        metric = METRICS[member]
        if faithful is not None and any(f.name == "faithful" for f in dataclasses.fields(metric)):
            metric = _with_settings(metric, {"faithful": faithful})
        if settings:
            pairs = dict(_split_pair(pair, given) for pair in settings.split(","))
            metric = _with_settings(metric, _read_settings(metric, pairs))
            if metric.name != member:
                raise SettingError(f"{given!r} is {metric.name!r}: ask for that by its name")
        resolved.append(metric)
    return resolved


def _with_settings(metric: Metric, changes: Mapping[str, Any]) -> Metric:
    """Like dataclasses.replace, but settings that were not chosen follow the ones that were."""
    kept = {
        f.name: getattr(metric, f.name)
        for f in dataclasses.fields(metric)
        if f.default is dataclasses.MISSING or f.name in ("n", "measure")
    }
    chosen = {
        f.name: getattr(metric, f.name) for f in dataclasses.fields(metric) if f.name == "faithful"
    }
    return type(metric)(**(kept | chosen | dict(changes)))


def _split_pair(pair: str, given: str) -> tuple[str, str]:
    key, equals, value = pair.partition("=")
    if not equals:
        raise SettingError(f"{given!r}: expected setting=value, found {pair!r}")
    return key.strip(), value.strip()


def _read_settings(metric: Metric, pairs: Mapping[str, str]) -> dict[str, Any]:
    kinds = typing.get_type_hints(type(metric))
    known = [f.name for f in dataclasses.fields(metric)]
    read: dict[str, Any] = {}
    for key, text in pairs.items():
        if key not in known:
            raise SettingError(f"{metric.name} has no setting {key!r}; it has: {', '.join(known)}")
        read[key] = _read_value(f"{metric.name}: {key}", text, kinds[key])
    return read


def _read_value(where: str, text: str, kind: Any) -> Any:
    """Read a setting from the command line by its declared type."""
    options = typing.get_args(kind) if isinstance(kind, UnionType) else (kind,)
    if text == "none" and NoneType in options:
        return None
    for option in options:
        if option is bool and text in ("yes", "no", "true", "false"):
            return text in ("yes", "true")
        if option in (int, float):
            try:
                return option(text)
            except ValueError:
                continue
        if option is str or typing.get_origin(option) is typing.Literal:
            return text
        if typing.get_origin(option) is typing.Union:
            return _read_value(where, text, typing.get_args(option)[0])
    raise SettingError(f"{where} cannot be {text!r}")


def _difference(metric: Metric, other: Metric) -> str:
    mine, theirs = metric.settings(), other.settings()
    return "".join(f":{k}={v}" for k, v in mine.items() if theirs.get(k) != v)


__all__ = [
    "DEFAULT",
    "FAMILIES",
    "METRICS",
    "BertScore",
    "Bleu",
    "Cider",
    "CiderD",
    "CiderR",
    "Consensus",
    "Irv",
    "IrvUnigram",
    "Meteor",
    "Metric",
    "RougeL",
    "RougeN",
    "RougeS",
    "RougeW",
    "Spice",
    "Spider",
    "get_metrics",
]
