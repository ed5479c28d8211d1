"""Signature and ScoreTable: numbers that say how they came about."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from cidery.corpus import ImageId
from cidery.errors import SettingError
from cidery.statistics import RESAMPLES, Floats, Interval, Pool, bootstrap_interval

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Signature:
    """All that a stranger needs to compute the same number.

    ```python
    str(Signature("cider-d", (("n", "4"), ("sigma", "6"))))  # "cider-d|n:4|sigma:6"
    ```
    """

    metric: str
    settings: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return "|".join([self.metric, *(f"{key}:{value}" for key, value in self.settings)])


@dataclass(frozen=True, eq=False)
class Resampling:
    """What a corpus score is pooled from: rows per image and the way to pool their sum."""

    rows: Floats
    """float64[images, k]"""
    pool: Pool


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """Scores of one system: per corpus, per caption, with signatures and intervals.

    ```python
    table = score({"a": "a dog"}, {"a": ["a dog runs"]}, metrics=["rouge-l"])
    table.corpus["rouge-l"], table.each["rouge-l"], table.signatures["rouge-l"]
    ```
    """

    ids: Sequence[ImageId]
    """One per row of `each`, in the order of the candidates."""
    image_count: int
    corpus: Mapping[str, float]
    """metric -> corpus score"""
    each: Mapping[str, Floats]
    """metric -> float64[rows]"""
    signatures: Mapping[str, str]
    resampling: Mapping[str, Resampling] = field(repr=False)
    _intervals: dict[tuple[Any, ...], Interval] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        for name in ("corpus", "each", "signatures", "resampling"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))
        for values in self.each.values():
            values.flags.writeable = False

    def interval(
        self, metric: str, confidence: float = 0.95, seed: int = 0, resamples: int = RESAMPLES
    ) -> Interval:
        """Return the bootstrap interval of a corpus score, images drawn again with replacement."""
        if metric not in self.resampling:
            known = ", ".join(self.resampling) or "none"
            raise SettingError(f"no interval for {metric!r}; scored: {known}")
        key = (metric, confidence, seed, resamples)
        if key not in self._intervals:
            source = self.resampling[metric]
            self._intervals[key] = bootstrap_interval(
                source.rows, source.pool, confidence=confidence, resamples=resamples, seed=seed
            )
        return self._intervals[key]

    def to_dict(self) -> dict[str, Any]:
        """Return `{"images", "scores", "signatures"}`, ready for JSON."""
        return {
            "images": self.image_count,
            "scores": dict(self.corpus),
            "signatures": dict(self.signatures),
        }

    def to_json(self, indent: int | None = 2) -> str:
        """Return `to_dict` as JSON; a value that is no number (nan) becomes null."""
        scores = {k: v if np.isfinite(v) else None for k, v in self.corpus.items()}
        content = self.to_dict() | {"scores": scores}
        return json.dumps(content, indent=indent, ensure_ascii=False)

    def to_columns(self) -> dict[str, Sequence[Any]]:
        """Return one column of ids and one per metric, a row per caption."""
        return {"image_id": list(self.ids), **{k: v.tolist() for k, v in self.each.items()}}

    def to_pandas(self) -> pd.DataFrame:
        """Return the scores per caption as a data frame indexed by image id."""
        try:
            import pandas as pd
        except ImportError:
            from cidery.errors import MissingExtraError

            raise MissingExtraError.to(
                "make a data frame", package="pandas", extra="pandas"
            ) from None
        return pd.DataFrame(self.to_columns()).set_index("image_id")

    def to_markdown(self, digits: int = 4) -> str:
        """Return the corpus scores as a Markdown table."""
        lines = ["| metric | score |", "|---|---:|"]
        lines += [f"| {name} | {value:.{digits}f} |" for name, value in self.corpus.items()]
        return "\n".join(lines)

    def to_latex(self, digits: int = 4) -> str:
        """Return the corpus scores as a LaTeX tabular (booktabs)."""
        return latex_table(
            ["metric", "score"],
            [[name, f"{value:.{digits}f}"] for name, value in self.corpus.items()],
        )

    def __str__(self) -> str:
        width = max(map(len, self.corpus), default=0)
        return "\n".join(f"{name:<{width}}  {value:.4f}" for name, value in self.corpus.items())


def latex_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a booktabs tabular; the first column is left-aligned, the others right."""
    escape = str.maketrans({"_": r"\_", "%": r"\%", "&": r"\&", "#": r"\#"})
    lines = [
        r"\begin{tabular}{l" + "r" * (len(header) - 1) + "}",
        r"\toprule",
        " & ".join(cell.translate(escape) for cell in header) + r" \\",
        r"\midrule",
        *(" & ".join(cell.translate(escape) for cell in row) + r" \\" for row in rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines)
