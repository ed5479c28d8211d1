"""Agreement: the table of how well metrics agree with people."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cidery.scoring.comparison import format_p
from cidery.statistics import Floats
from cidery.text_tables import latex_table, markdown_table


@dataclass(frozen=True, eq=False)
class Agreement:
    """How well metrics agree with people on one data set.

    ```python
    agreement = evaluate(read_dataset("judgments", "mine.jsonl"), ["cider-d", "bleu-4"])
    agreement.results["cider-d"]["accuracy"]
    ```
    """

    dataset: str
    protocol: str
    results: Mapping[str, Mapping[str, float]]
    """metric -> statistic -> value; shares and coefficients are fractions, counts are int"""
    signatures: Mapping[str, str] = field(default_factory=dict)
    """metric -> how its scores were computed"""
    points: Mapping[str, tuple[Floats, Floats]] = field(default_factory=dict, repr=False)
    """metric -> scores and human ratings, for plots; results from the cache have none"""
    tested: str = ""
    """The statistic that p-values compare, where tests were asked for."""

    def to_dict(self) -> dict[str, Any]:
        """Return `{"dataset", "protocol", "results", "signatures"}`, ready for JSON.

        With tests also `"tested"`: the statistic that p-values compare.
        """
        tested = {"tested": self.tested} if self.tested else {}
        return {
            "dataset": self.dataset,
            "protocol": self.protocol,
            "results": {label: dict(found) for label, found in self.results.items()},
            "signatures": dict(self.signatures),
            **tested,
        }

    def notes(self) -> list[str]:
        """Return what a reader of the table must know."""
        return [f"p-values compare metrics by {self.tested}"] if self.tested else []

    def to_json(self, indent: int | None = 2) -> str:
        """Return `to_dict` as JSON; a value that is not a number (nan) becomes null."""
        content = self.to_dict()
        for found in content["results"].values():
            for name, value in found.items():
                found[name] = value if math.isfinite(value) else None
        return json.dumps(content, indent=indent, ensure_ascii=False)

    def records(self) -> list[dict[str, Any]]:
        """Return a row per metric with all digits and the signature, for CSV."""
        names = self._statistics()
        return [
            {"metric": label}
            | {name: found.get(name, "") for name in names}
            | {"signature": self.signatures.get(label, "")}
            for label, found in self.results.items()
        ]

    def _statistics(self) -> list[str]:
        return list(dict.fromkeys(name for found in self.results.values() for name in found))

    def header(self) -> list[str]:
        """Return the columns of `lines`; an interval is in the column of its statistic."""
        names = self._statistics()
        bounds = {f"{name}_{side}" for name in names for side in ("low", "high")}
        return ["metric", *(name for name in names if name not in bounds)]

    def lines(self) -> list[list[str]]:
        """Return the results as text cells, a row per metric, in percent."""
        columns = self.header()[1:]
        return [
            [label, *(_format(found, name) for name in columns)]
            for label, found in self.results.items()
        ]

    def to_markdown(self) -> str:
        """Return the results as a Markdown table."""
        return "\n\n".join([markdown_table(self.header(), self.lines()), *self.notes()])

    def to_latex(self) -> str:
        """Return the results as a LaTeX tabular (booktabs)."""
        return latex_table(self.header(), self.lines())

    def __str__(self) -> str:
        return self.to_markdown()


def _format(found: Mapping[str, float], name: str) -> str:
    if name not in found:
        return ""
    value = found[name]
    if isinstance(value, int):
        return str(value)
    if not math.isfinite(value):
        return "–"
    if name.endswith("_p") or name.startswith("p_"):
        return format_p(value)
    if name == "tie_threshold":  # on the metric's scale
        return f"{value:.3g}"
    if name == "correct":  # a count, of halves too
        return f"{value:g}"
    text = f"{100 * value:.1f}"
    if f"{name}_low" in found:
        text += f" [{100 * found[f'{name}_low']:.1f}, {100 * found[f'{name}_high']:.1f}]"
    return text
