"""get_metrics(): metrics by label, from names, settings, objects and functions."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from cidery.errors import PluginError, SettingError
from cidery.metrics.base import Metric
from cidery.metrics.function import CaptionFunction, FunctionMetric, find_module
from cidery.metrics.presets import get_preset
from cidery.metrics.registry import AMBIGUOUS, FAMILIES, METRICS
from cidery.metrics.settings import (
    Faithful,
    format_setting,
    list_choices,
    parse_settings,
    split_settings,
)
from cidery.names import find_similar, find_spelling
from cidery.plugins import LoadedPlugin, find_package, list_names, list_plugins, load_plugin
from cidery.text import Language, get_language

MetricLike: TypeAlias = str | Metric | CaptionFunction
"""A metric: its name with settings, an object, or a function."""
MetricsLike: TypeAlias = "MetricLike | Iterable[MetricLike] | Mapping[str, MetricLike] | None"
"""One or several metrics, or metrics by label; None for `DEFAULT`."""

DEFAULT: tuple[str, ...] = ("bleu", "rouge-l", "cider-d", "cider-r")
"""Names of the default metrics."""


def get_metrics(
    metrics: MetricsLike = None,
    faithful: Faithful | None = None,
    language: str | None = None,
    preset: str | None = None,
) -> dict[str, Metric]:
    """Return metrics by label.

    Labels are unique:

    - a name is its own label, with the settings that were passed: `cider-d:n=3,sigma=4`, in the
      order of the metric's fields; `Bleu_4` and `CIDErD` are read as `bleu-4` and `cider-d`;
    - a metric object has its name as label; if several metrics have that name, the settings in
      which they differ are added;
    - a function has its name as label;
    - a mapping has its keys as labels.

    Duplicate metrics are dropped.

    Args:
        metrics: names, families, `name:setting=value,…`, Metric objects, functions
            `f(candidate, references) -> float`, or a mapping of labels to these.
        faithful: `"coco"` or `"paper"` for metrics given by name that support both; not part of
            labels.
        language: language of metrics given by name: its stemmer, stop words and other settings.
        preset: name of a list of metrics, such as `"coco"`, or a TOML file, `"presets.toml"`;
            `metrics` are added to it.

    ```python
    list(get_metrics(["bleu", "cider-d:sigma=4"]))   # ["bleu-1", …, "bleu-4", "cider-d:sigma=4"]
    ```
    """
    if preset is not None:
        metrics = _join(get_preset(preset).metrics, metrics)
    if metrics is None:
        metrics = DEFAULT
    common = _Common(faithful, None if language is None else get_language(language))
    if isinstance(metrics, Mapping):
        labeled = {label: _find_one(label, given, common) for label, given in metrics.items()}
    else:
        labeled = _label(_find_all(metrics, common))
    if not labeled:
        raise SettingError("no metrics given")
    return labeled


def _join(named: Sequence[str], metrics: MetricsLike) -> MetricsLike:
    if metrics is None:
        return named
    if isinstance(metrics, Mapping):
        raise SettingError("pass a preset or a dict of labels and metrics, not both")
    if isinstance(metrics, str | Metric) or callable(metrics):
        return [*named, metrics]
    return [*named, *metrics]


@dataclasses.dataclass(frozen=True)
class _Common:
    """Settings of all metrics given by name, unless they have their own."""

    faithful: Faithful | None
    language: Language | None

    def choose(self, metric: Metric) -> dict[str, Any]:
        """Return those that a metric has."""
        settings: dict[str, Any] = {} if self.faithful is None else {"faithful": self.faithful}
        modes = list_choices(metric, "faithful")
        if modes and self.faithful not in modes:
            settings = {}
        if self.language is not None:
            settings |= metric.language_settings(self.language)
        known = {f.name for f in dataclasses.fields(metric) if f.init}
        return {key: value for key, value in settings.items() if key in known}


def list_metrics() -> tuple[dict[str, Metric], list[PluginError]]:
    """Return all metrics by name, including plugins, and the errors of plugins that failed."""
    found: dict[str, Metric] = dict(METRICS)
    problems: list[PluginError] = []
    for plugin in list_plugins("metric"):
        if plugin.name in METRICS or plugin.name in FAMILIES:
            problems.append(plugin.fail("is not used: cidery has a metric of this name"))
        elif plugin.name not in found:
            try:
                found[plugin.name] = _load_plugin_metric(plugin.name)
            except PluginError as error:
                problems.append(error)
    return found, list({str(problem): problem for problem in problems}.values())


@dataclasses.dataclass(frozen=True)
class _Request:
    """A requested metric."""

    metric: Metric
    label: str | None
    """None: its name, and the settings in which it differs from others of that name."""


def _find_all(metrics: MetricLike | Iterable[MetricLike], common: _Common) -> list[_Request]:
    if isinstance(metrics, str | Metric) or callable(metrics):
        metrics = [metrics]
    if not isinstance(metrics, Iterable):
        raise _wrong_kind(metrics)
    requests: list[_Request] = []
    for given in metrics:
        for request in _find(given, common):
            if all(request.metric != known.metric for known in requests):
                requests.append(request)
    return requests


def _find_one(label: str, given: MetricLike, common: _Common) -> Metric:
    if not isinstance(label, str):
        raise SettingError(f"the label of a metric must be a string, not {label!r}")
    found = _find(given, common)
    if len(found) > 1:
        raise SettingError(
            f"{label!r}: {given!r} is a family of {len(found)} metrics; pass one of them"
        )
    return found[0].metric


def _find(given: MetricLike, common: _Common) -> list[_Request]:
    if isinstance(given, Metric):
        return [_Request(given, None)]
    if isinstance(given, str):
        return _find_named(given, common)
    if isinstance(given, type):
        raise SettingError(f"{given.__name__} is a class; pass an object: {given.__name__}()")
    if callable(given):
        return [_Request(FunctionMetric(given), None)]
    raise _wrong_kind(given)


def _wrong_kind(given: object) -> SettingError:
    return SettingError(
        f"a metric must be a name, a Metric or a function, not {type(given).__name__}"
    )


def _find_named(given: str, common: _Common) -> list[_Request]:
    name, pairs = split_settings(given)
    name = find_metric_name(name)
    requests = []
    for member in FAMILIES.get(name, (name,)):
        metric = METRICS[member] if member in METRICS else _load_plugin_metric(member)
        if pairs and isinstance(metric, FunctionMetric):
            raise SettingError(f"{metric.name} is a function and has no settings")
        own = parse_settings(metric, pairs)
        shared = common.choose(metric)
        if own or shared:
            metric = _replace(metric, shared | own)
        if metric.name != member:
            raise SettingError(f"{given!r} is {metric.name!r}; use that name")
        order = [f.name for f in dataclasses.fields(metric) if f.name in own]
        label = _add_settings(member, {key: format_setting(own[key]) for key in order})
        requests.append(_Request(metric, label))
    return requests


def find_metric_name(name: str) -> str:
    """Return the name of a metric or family, whatever its case, hyphens and underscores.

    Raises a SettingError for an unknown name, and for `CIDEr`, which is `cider-d` in the tables of
    papers and `cider` in the paper of that name; `cider` itself is exact.

    ```python
    find_metric_name("ROUGE_L")   # "rouge-l"
    ```
    """
    if name in METRICS or name in FAMILIES:
        return name
    known = [*list_names("metric", METRICS), *FAMILIES]
    found = find_spelling(name, known)
    if found == name:
        return name
    if found is not None and found in AMBIGUOUS:
        raise SettingError(f"the metric {name!r} is ambiguous; did you mean {AMBIGUOUS[found]}?")
    if found is None:
        similar = find_similar(name, known)
        if similar is None:
            raise SettingError(f"unknown metric {name!r}; known: {', '.join(known)}")
        meant = AMBIGUOUS.get(similar, repr(similar))
        raise SettingError(f"unknown metric {name!r}; did you mean {meant}?")
    return found


def _load_plugin_metric(name: str) -> Metric:
    """Return the metric that a plugin registers under that name."""
    loaded = load_plugin("metric", name)
    if loaded is None:
        raise SettingError(f"unknown metric {name!r}")
    return _read_plugin(loaded)


def _read_plugin(loaded: LoadedPlugin) -> Metric:
    value, plugin = loaded.value, loaded.plugin
    if isinstance(value, type) and issubclass(value, Metric):
        try:
            variants: Sequence[Metric] = value.variants()
        except Exception as error:
            raise plugin.fail(f"cannot be created: {type(error).__name__}: {error}") from error
    elif isinstance(value, Metric):
        variants = [value]
    elif callable(value):
        variants = [FunctionMetric(value, plugin.name)]
    else:
        raise plugin.fail(
            f"is {type(value).__name__}, expected a Metric class, a Metric or a function"
        )
    for metric in variants:
        if metric.name == plugin.name:
            return metric
    names = " or ".join(repr(metric.name) for metric in variants)
    raise plugin.fail(f"has the name {names}; the entry point must have the same name")


def is_built_in(metric: object) -> bool:
    """Return True for metrics and measures of cidery, whose version identifies their code.

    ```python
    is_built_in(Bleu(4)), is_built_in(FunctionMetric(my_function))   # (True, False)
    ```
    """
    module = type(metric).__module__
    return module.partition(".")[0] == "cidery" and not isinstance(metric, FunctionMetric)


def find_origin(metric: Metric) -> str:
    """Return the origin of a metric: `cidery`, another package with its version, or a module.

    ```python
    find_origin(Bleu(4))   # "cidery"
    ```
    """
    if is_built_in(metric):
        return "cidery"
    module = find_metric_module(metric)
    return find_package(module) or module


def find_metric_module(metric: Metric) -> str:
    """Return the module of a metric's class, or of its function."""
    if isinstance(metric, FunctionMetric):
        return find_module(metric.function)
    return type(metric).__module__


def _replace(metric: Metric, changes: Mapping[str, Any]) -> Metric:
    """Return the metric with other settings; unset ones are derived anew from these."""
    kind = type(metric)
    default = kind() if _has_defaults(kind) else None
    changed = {
        f.name: getattr(metric, f.name)
        for f in dataclasses.fields(metric)
        if f.init and (default is None or getattr(default, f.name) != getattr(metric, f.name))
    }
    return kind(**(changed | dict(changes)))


def _has_defaults(kind: type[Metric]) -> bool:
    return all(
        f.default is not dataclasses.MISSING or f.default_factory is not dataclasses.MISSING
        for f in dataclasses.fields(kind)
        if f.init
    )


def _label(requests: Sequence[_Request]) -> dict[str, Metric]:
    labeled: dict[str, Metric] = {}
    for request in requests:
        metric = request.metric
        others = [r.metric for r in requests if r is not request and r.metric.name == metric.name]
        label = request.label or _add_settings(metric.name, _find_differences(metric, others))
        if label in labeled:
            raise SettingError(
                f"two metrics have the label {label!r}; pass a dict of labels and metrics"
            )
        labeled[label] = metric
    return labeled


def _find_differences(metric: Metric, others: Sequence[Metric]) -> dict[str, str]:
    """Return the settings in which a metric differs from any of the others."""
    spelled = metric.settings()
    differences = {}
    for f in dataclasses.fields(metric):
        value = getattr(metric, f.name)
        if f.compare and any(getattr(other, f.name, _ABSENT) != value for other in others):
            differences[f.name] = spelled.get(f.name, format_setting(value))
    return differences


_ABSENT = object()


def _add_settings(name: str, settings: Mapping[str, str]) -> str:
    listed = ",".join(f"{key}={value}" for key, value in settings.items())
    return f"{name}:{listed}" if listed else name
