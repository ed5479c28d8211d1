"""sweep(): one setting of a metric at many values, each judged by people."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np

from cidery.errors import SettingError
from cidery.meta.evaluation import evaluate
from cidery.meta.judgments import Dataset
from cidery.meta.settings import Settings
from cidery.metrics import Metric, MetricLike, get_metrics
from cidery.runtime import ProgressCallback, ignore_progress
from cidery.tables import Column, Table, Tabular, format_percent

SETTING = "repetition"
"""CIDEr-R's k_r."""
DRAWS = 50
_MAIN = ("accuracy", "tau_c", "tau_b", "pearson")
"""Statistics to judge a value by, the first that there is."""


@dataclass(frozen=True, eq=False)
class Sweep(Tabular):
    """How well a metric agrees with people at each value of a setting, the smallest value first.

    ```py
    found = sweep(read_dataset("cider-r-triplets", "data"), "cider-r", draws=20)
    found.best
    ```
    """

    dataset: str
    metric: str
    setting: str
    statistic: str
    """By which values are compared."""
    results: Mapping[float, Mapping[str, float]]
    """value -> statistic -> agreement"""
    signatures: Mapping[float, str]

    @property
    def best(self) -> float:
        """The value that agrees best; of equally good ones that in the middle."""
        top = max(found[self.statistic] for found in self.results.values())
        values = [value for value, f in self.results.items() if f[self.statistic] == top]
        return values[len(values) // 2]

    @property
    def as_good(self) -> tuple[float, float]:
        """The smallest and the largest value whose agreement lies in the interval of the best."""
        low = self.results[self.best].get(f"{self.statistic}_low", -math.inf)
        values = [value for value, f in self.results.items() if f[self.statistic] >= low]
        return min(values), max(values)

    def _columns(self) -> list[str]:
        first = next(iter(self.results.values()))
        kinds = [name for name in first if name.startswith(f"{self.statistic}_")]
        return [self.statistic, *(k for k in kinds if not k.endswith(("_low", "_high")))]

    def table(self) -> Table:
        """Return a row per value of the setting; agreement is in percent."""
        rows = [
            {self.setting: value, **found, "signature": self.signatures[value]}
            for value, found in self.results.items()
        ]
        columns = [Column(name, partial(_format, name)) for name in self._columns()]
        return Table(
            [Column(self.setting, ".3g"), *columns],
            rows,
            f"{self.dataset}: {self.metric} by {self.setting}, in percent",
            self.notes(),
            list(self.signatures.values()),
        )

    def notes(self) -> list[str]:
        """Return what a reader of the table must know."""
        found = [f"best: {self.setting} {self.best:.3g}"]
        if f"{self.statistic}_low" in self.results[self.best]:
            low, high = self.as_good
            found.append(
                f"{self.setting} from {low:.3g} to {high:.3g} reaches the 95 % interval of the "
                "best: these data do not tell them apart"
            )
        found.append(
            "the best value was chosen on the data that it is judged by: check it on others"
        )
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        return {
            "dataset": self.dataset,
            "metric": self.metric,
            "setting": self.setting,
            "statistic": self.statistic,
            "best": self.best,
            "as_good": list(self.as_good),
            "values": self.to_records(),
        }


def sweep(
    dataset: Dataset,
    metric: MetricLike = "cider-r",
    setting: str = SETTING,
    *,
    values: Sequence[float] | None = None,
    draws: int = DRAWS,
    settings: Settings | None = None,
    threads: int = 0,
    cache: bool | str | os.PathLike[str] = False,
    progress: ProgressCallback = ignore_progress,
    **changes: Any,
) -> Sweep:
    """Judge a metric at many values of one setting: by default CIDEr-R's k_r.

    Santos, Colombini, Avila 2021, section 5, found k_r = 0.8 by a random search (Bergstra, Bengio
    2012): so are values drawn here, evenly from 0 to 1 by the seed, unless they are given.

    Args:
        dataset: what `read_dataset` returns.
        metric: a name or a metric object that has the setting.
        setting: the name of the setting, a number.
        values: which values to try; by default drawn ones.
        draws: how many to draw.
        settings: how to judge, as in `evaluate`.
        threads: as in `evaluate`.
        cache: as in `evaluate`.
        progress: as in `evaluate`.
        changes: fields of `Settings`, such as `seed=1`.

    ```py
    sweep(read_dataset("pracegover-triplets", "triplets.json"), "cider-r", seed=1).best
    ```
    """
    chosen = (settings or Settings()).change(**changes)
    base = _find_metric(metric, setting, chosen.language)
    tried = _choose_values(values, draws, chosen.seed)
    metrics = {f"{value!r}": replace(base, **{setting: value}) for value in tried}
    found = evaluate(dataset, metrics, chosen, threads=threads, cache=cache, progress=progress)
    results = {value: found.results[f"{value!r}"] for value in tried}
    statistic = next((name for name in _MAIN if name in results[tried[0]]), None)
    if statistic is None:
        raise SettingError(
            f"the protocol {found.protocol} gives none of {', '.join(_MAIN)} to compare values by; "
            "choose another one"
        )
    signatures = {value: found.signatures[f"{value!r}"] for value in tried}
    return Sweep(found.dataset, base.name, setting, statistic, results, signatures)


def _find_metric(metric: MetricLike, setting: str, language: str | None) -> Metric:
    found = get_metrics(metric, language=language)
    if len(found) != 1:
        raise SettingError(f"{metric!r} names {len(found)} metrics; a sweep is of one")
    base = next(iter(found.values()))
    numbers = [f.name for f in fields(base) if _is_number(getattr(base, f.name))]
    if setting not in numbers:
        known = ", ".join(numbers) or "none"
        raise SettingError(f"{base.name} has no number called {setting!r}; it has: {known}")
    return base


def _is_number(value: object) -> bool:
    return isinstance(value, float)


def _choose_values(values: Sequence[float] | None, draws: int, seed: int) -> list[float]:
    if values is not None:
        if not len(values):
            raise SettingError("no values were named")
        return sorted({float(value) for value in values})
    if draws < 1:
        raise SettingError(f"at least 1 draw is needed, not {draws}")
    return sorted(np.random.default_rng(seed).uniform(0, 1, draws).tolist())


def _format(name: str, row: Mapping[str, Any]) -> str:
    return format_percent(row[name], row.get(f"{name}_low"), row.get(f"{name}_high"))
