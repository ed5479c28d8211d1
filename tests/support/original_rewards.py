"""The reward code that is on no package index, from the arithmetic of pycocoevalcap.

pyciderevalcap's CIDEr-D is pycocoevalcap's with document frequencies from a pickle and `res` as a
list; its plain CIDEr is the same without clipping and length penalty. Registered as
`pyciderevalcap`, for scripts that import it.
"""

from __future__ import annotations

import math
import pickle
import sys
import types
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from pycocoevalcap.cider.cider_scorer import CiderScorer


class _DfScorer(CiderScorer):
    """pycocoevalcap's scorer with frequencies and log |I| that are given."""

    fixed_log: float | None = None

    @property
    def ref_len(self) -> float:
        return self._log if self.fixed_log is None else self.fixed_log

    @ref_len.setter
    def ref_len(self, value: float) -> None:
        self._log = value


class CiderD:
    def __init__(self, df: str = "corpus") -> None:
        self.df = df
        if df != "corpus":
            stored = pickle.loads((Path("data") / f"{df}.p").read_bytes())
            self.counts = defaultdict(float, stored["document_frequency"])
            self.log_images = math.log(float(stored["ref_len"]))

    def compute_score(
        self, gts: dict[Any, list[str]], res: list[dict[str, Any]]
    ) -> tuple[float, np.ndarray]:
        scorer = _DfScorer()
        for entry in res:
            scorer += (entry["caption"][0], gts[entry["image_id"]])
        if self.df == "corpus":
            return scorer.compute_score()
        scorer.document_frequency, scorer.fixed_log = self.counts, self.log_images
        scores = np.array(scorer.compute_cider())
        return np.mean(scores), scores

    def method(self) -> str:
        return "CIDEr-D"


class Cider(CiderD):
    """Plain CIDEr, by formula: `tests/oracle.py`."""

    def compute_score(
        self, gts: dict[Any, list[str]], res: list[dict[str, Any]]
    ) -> tuple[float, np.ndarray]:
        from support import oracle

        formula = oracle.Cider(self.counts, math.exp(self.log_images))
        scores = np.array(
            [
                10
                * formula.cider(
                    entry["caption"][0].split(),
                    [reference.split() for reference in gts[entry["image_id"]]],
                    [0.25] * 4,
                )
                for entry in res
            ]
        )
        return np.mean(scores), scores


def register() -> None:
    for name, members in {
        "pyciderevalcap": {},
        "pyciderevalcap.cider": {},
        "pyciderevalcap.cider.cider": {"Cider": Cider},
        "pyciderevalcap.ciderD": {},
        "pyciderevalcap.ciderD.ciderD": {"CiderD": CiderD},
    }.items():
        module = types.ModuleType(name)
        vars(module).update(members)
        sys.modules[name] = module
