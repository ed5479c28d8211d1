"""Metrics as other programs define them, computed from the rows of cidery's metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Literal, TypeAlias

import numpy as np

from cidery.auditing.nltk_meteor import NltkMeteor
from cidery.metrics import Bleu, Cider, CiderD, CiderR, Meteor, Metric, RougeL
from cidery.metrics.base import Prepared, TokenizedReferences
from cidery.runtime import Workspace
from cidery.statistics import Floats

Finish: TypeAlias = "Callable[[Floats], Floats]"
"""Function from rows, float64[captions, k], to scores, float64[captions]."""


@dataclass(frozen=True)
class Variant:
    """Metric and the reduction of its rows to one score."""

    metric: Metric
    mean: bool = False
    """True to average per-caption scores where the metric pools statistics."""
    finish: Finish | None = None
    """Function from rows to per-caption scores, in place of the metric's; they are averaged."""
    pool: Finish | None = None
    """Function from summed rows to a score, in place of the metric's."""
    references: Literal["together", "best", "mean"] = "together"
    """`best` or `mean`: each reference is scored separately, and the scores are combined."""

    def each(self, rows: Floats) -> Floats:
        """Return per-caption scores."""
        return self.metric.each(rows) if self.finish is None else self.finish(rows)

    @property
    def is_mean(self) -> bool:
        """True where the score is the mean of per-caption scores."""
        pooled = type(self.metric).pool is not Metric.pool
        return self.mean or self.finish is not None or (not pooled and self.pool is None)

    def reduce(self, rows: Floats) -> float:
        """Return the corpus score."""
        if self.is_mean:
            return float(self.each(rows).mean())
        return float(self.pool_sums(rows.sum(axis=0)[None], np.asarray([float(len(rows))]))[0])

    def pool_sums(self, sums: Floats, counts: Floats) -> Floats:
        """Return scores of sums of rows, float64[parts, k]."""
        return self.metric.pool(sums, counts) if self.pool is None else self.pool(sums)


# Columns of BLEU's rows: length, reference length, matches of orders 1 to 4, n-grams of each.
_MATCHES, _TOTALS = slice(2, 6), slice(6, 10)


def _precision(rows: Floats, n: int) -> Floats:
    """Return the precision of n-grams of one length."""
    totals = rows[:, _TOTALS][:, n - 1]
    return np.asarray(rows[:, _MATCHES][:, n - 1] / np.maximum(totals, 1), np.float64)


def _mean_of_orders(rows: Floats) -> Floats:
    """Return the mean of BLEU-1 to BLEU-4."""
    return np.asarray(np.mean([Bleu(n)._score(rows) for n in range(1, 5)], axis=0), np.float64)


def _smooth(rows: Floats, n: int, method: int) -> Floats:
    """Return BLEU of sentences with a smoothing of Chen and Cherry 2014, as NLTK numbers them.

    As in NLTK, a caption too short for n-grams of some length counts as one with none matched, and
    a caption without a match of any word scores 0.
    """
    lengths = np.maximum(rows[:, 0], 1.0)
    misses, logs = np.zeros(len(rows)), np.zeros(len(rows))
    for order in range(n):
        matches, totals = rows[:, _MATCHES][:, order], np.maximum(rows[:, _TOTALS][:, order], 1)
        missed = matches == 0
        misses += missed
        if method == 2 and order:
            precision = (matches + 1) / (totals + 1)
        else:
            stand_ins = {
                1: np.full(len(rows), 0.1),
                2: np.full(len(rows), 0.1),  # not reached: without a matched word the score is 0
                3: 1 / 2**misses,
                4: np.log(np.maximum(lengths, 2)) / (5 * 2**misses),
            }
            precision = np.where(missed, stand_ins[method], matches) / totals
        logs += np.log(precision)
    ratio = rows[:, 0] / np.maximum(rows[:, 1], 1)
    with np.errstate(divide="ignore", over="ignore"):
        penalty = np.where(ratio < 1, np.exp(1 - 1 / ratio), 1.0)
    return np.where(rows[:, _MATCHES][:, 0] > 0, penalty * np.exp(logs / n), 0.0)


def _bleu_variants(n: int) -> dict[str, Variant]:
    return {
        "standard": Variant(Bleu(n)),
        "sentences": Variant(Bleu(n), mean=True),
        "sentences-plain": Variant(Bleu(n, faithful="paper"), mean=True),
        **{
            f"sentences-{smoothing}": Variant(Bleu(n), finish=partial(_smooth, n=n, method=method))
            for method, smoothing in enumerate(
                ("epsilon", "add-one", "exponential", "by-length"), 1
            )
        },
        **{
            smoothing: Variant(Bleu(n, "paper", smoothing=smoothing))
            for smoothing in ("epsilon", "add-one", "exponential")
        },
        "no-brevity": Variant(Bleu(n, brevity=False)),
        "shortest": Variant(Bleu(n, reference_length="shortest")),
        "average": Variant(Bleu(n, reference_length="average")),
        "precision": Variant(Bleu(n), pool=partial(_precision, n=n)),
        "mean-of-orders": Variant(Bleu(4), pool=_mean_of_orders),
        **{f"order-{other}": Variant(Bleu(other)) for other in range(1, 5) if other != n},
    }


def _f_of_pair(rows: Floats) -> Floats:
    """Return the rows of RougeL, which are F scores."""
    return np.ascontiguousarray(rows[:, 0])


_ROUGE = {
    "standard": Variant(RougeL()),
    "beta-1": Variant(RougeL(beta=1.0)),
    "beta-2": Variant(RougeL(beta=2.0)),
    "beta-0.5": Variant(RougeL(beta=0.5)),
    "beta-1.5": Variant(RougeL(beta=1.5)),
    "beta-3": Variant(RougeL(beta=3.0)),
    "beta-8": Variant(RougeL(beta=8.0)),
    "recall": Variant(RougeL(beta=1e3)),
    "precision": Variant(RougeL(beta=1e-3)),
    "best-f": Variant(RougeL(beta=1.0), finish=_f_of_pair, references="best"),
    "mean-f": Variant(RougeL(beta=1.0), finish=_f_of_pair, references="mean"),
}


def _old_meteor(rows: Floats, alpha: float, beta: float, gamma: float) -> Floats:
    """Return METEOR without weights of matchers and of function words, as before version 1.3."""
    length, reference_length, chunks = rows[:, 0], rows[:, 1], rows[:, 20]
    matches, reference_matches = rows[:, 21], rows[:, 22]
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = np.where(length > 0, matches / length, 0.0)
        recall = np.where(reference_length > 0, reference_matches / reference_length, 0.0)
        mean = precision * recall / (alpha * precision + (1 - alpha) * recall)
        # Perfect captions have no chunk in these rows, where they had one.
        penalty = gamma * (np.maximum(chunks, 1) / matches) ** beta
    return np.where(matches > 0, mean * (1 - penalty), 0.0)


def _meteor_variants() -> dict[str, Variant]:
    words = Meteor(paraphrases=False)
    first = partial(_old_meteor, alpha=0.9, beta=3.0, gamma=0.5)
    tuned = partial(_old_meteor, alpha=0.81, beta=0.83, gamma=0.28)
    return {
        "standard": Variant(Meteor()),
        "sentences": Variant(Meteor(), mean=True),
        "words": Variant(words),
        "2005": Variant(words, finish=first, references="best"),
        "2007": Variant(words, finish=tuned, references="best"),
        "nltk": Variant(NltkMeteor("synonyms")),
        "nltk-stems": Variant(NltkMeteor("stems")),
        "nltk-exact": Variant(NltkMeteor("exact")),
        "2005-pooled": Variant(words, pool=first),
        "2007-pooled": Variant(words, pool=tuned),
    }


@dataclass(frozen=True)
class _CiderParts(CiderD):
    """CIDEr-D without clipping, or with the best reference instead of the mean."""

    clip: bool = True
    best_reference: bool = False

    name = "cider-d-parts"

    def prepare(self, references: TokenizedReferences, work: Workspace) -> Prepared:
        """Prepare the references."""
        return self._prepare(
            references,
            work,
            scale=10.0,
            clip=self.clip,
            penalty="gaussian",
            sigma=self.sigma,
            best_reference=self.best_reference,
        )


SIGMAS = (1, 2, 3, 4, 5, 8, 10, 12)
"""Widths of CIDEr-D's length penalty that programs may have set."""
ORDERS = (1, 2, 3, 5)
"""Lengths of the longest n-grams, in place of 4."""


def _times_ten(rows: Floats) -> Floats:
    return 10 * np.ascontiguousarray(rows[:, 0])


_CIDER = {
    **{f"sigma-{sigma}": Variant(CiderD(sigma=float(sigma))) for sigma in SIGMAS},
    **{f"d-order-{n}": Variant(CiderD(n=n)) for n in ORDERS},
    **{f"plain-order-{n}": Variant(Cider(n=n, faithful="coco")) for n in ORDERS},
    "clipped": Variant(CiderD(sigma=1e6)),
    "not-clipped": Variant(_CiderParts(clip=False)),
    "d-best-reference": Variant(_CiderParts(best_reference=True)),
    "stems": Variant(Cider(), finish=_times_ten),
    "standard": Variant(CiderD()),
    "plain": Variant(Cider(faithful="coco")),
    "paper": Variant(Cider()),
    "r": Variant(CiderR()),
    "d-paper": Variant(CiderD(faithful="paper")),
    "best-reference": Variant(Cider(faithful="coco", over="max")),
    "no-idf": Variant(Cider(faithful="coco", idf=False)),
}


VARIANTS: Mapping[str, Mapping[str, Variant]] = MappingProxyType(
    {
        **{f"bleu-{n}": _bleu_variants(n) for n in range(1, 5)},
        "rouge-l": _ROUGE,
        "meteor": _meteor_variants(),
        "cider-d": _CIDER,
        "cider-r": _CIDER | {"standard": Variant(CiderR()), "d": Variant(CiderD())},
    }
)
"""Definitions by metric and variant."""
