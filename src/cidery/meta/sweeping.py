"""sweep(): agreement of a metric for many values of a setting."""

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
"""Statistics to compare values by; the first that exists is used."""


@dataclass(frozen=True, eq=False)
class Sweep(Tabular):
    """Agreement of a metric for each value of a setting, in ascending order.

    ```py
    found = sweep(read_dataset("cider-r-triplets", "data"), "cider-r", draws=20)
    found.best
    ```
    """

    dataset: str
    metric: str
    setting: str
    statistic: str
    """Statistic to compare values by."""
    results: Mapping[float, Mapping[str, float]]
    """value -> statistic -> agreement"""
    signatures: Mapping[float, str]

    @property
    def best(self) -> float:
        """Best value; the median of equally good ones."""
        top = max(found[self.statistic] for found in self.results.values())
        values = [value for value, f in self.results.items() if f[self.statistic] == top]
        return values[len(values) // 2]

    @property
    def equivalent_range(self) -> tuple[float, float]:
        """Minimum and maximum of the values whose agreement is in the interval of the best."""
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
        """Return the notes below the table."""
        found = [f"best: {self.setting} {self.best:.3g}"]
        if f"{self.statistic}_low" in self.results[self.best]:
            low, high = self.equivalent_range
            found.append(
                f"{self.setting} from {low:.3g} to {high:.3g} reaches the 95 % interval of the "
                "best: no difference was found on these data"
            )
        found.append(
            "the best value was chosen on the data that it is judged by: check it on others"
        )
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return all results, for JSON."""
        return {
            "dataset": self.dataset,
            "metric": self.metric,
            "setting": self.setting,
            "statistic": self.statistic,
            "best": self.best,
            "equivalent_range": list(self.equivalent_range),
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
    """Evaluate a metric for many values of one setting. Default: CIDEr-R's k_r.

    Santos, Colombini, Avila 2021, section 5, found k_r = 0.8 by random search (Bergstra, Bengio
    2012). Default values are drawn uniformly from 0 to 1 by the seed.

    Args:
        dataset: from `read_dataset`.
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
            f"the protocol {found.protocol} has none of {', '.join(_MAIN)}; choose another protocol"
        )
    signatures = {value: found.signatures[f"{value!r}"] for value in tried}
    return Sweep(found.dataset, base.name, setting, statistic, results, signatures)


def _find_metric(metric: MetricLike, setting: str, language: str | None) -> Metric:
    found = get_metrics(metric, language=language)
    if len(found) != 1:
        raise SettingError(f"{metric!r} names {len(found)} metrics, expected one")
    base = next(iter(found.values()))
    numbers = [f.name for f in fields(base) if _is_number(getattr(base, f.name))]
    if setting not in numbers:
        known = ", ".join(numbers) or "none"
        raise SettingError(f"{base.name} has no numeric setting {setting!r}; it has: {known}")
    return base


def _is_number(value: object) -> bool:
    return isinstance(value, float)


def _choose_values(values: Sequence[float] | None, draws: int, seed: int) -> list[float]:
    if values is not None:
        if not len(values):
            raise SettingError("values must contain at least one value")
        return sorted({float(value) for value in values})
    if draws < 1:
        raise SettingError(f"draws must be at least 1, not {draws}")
    return sorted(np.random.default_rng(seed).uniform(0, 1, draws).tolist())


def _format(name: str, row: Mapping[str, Any]) -> str:
    return format_percent(row[name], row.get(f"{name}_low"), row.get(f"{name}_high"))
