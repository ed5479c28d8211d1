"""The metrics that come with cidery: a new one is a file and a line here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

# In the order of lists and tables.
# isort: off
from cidery.metrics.ngram.cider import Cider as Cider
from cidery.metrics.ngram.cider import CiderD as CiderD
from cidery.metrics.ngram.cider import CiderR as CiderR
from cidery.metrics.ngram.bleu import Bleu as Bleu
from cidery.metrics.ngram.rouge import RougeN as RougeN
from cidery.metrics.ngram.rouge import RougeL as RougeL
from cidery.metrics.ngram.rouge import RougeS as RougeS
from cidery.metrics.ngram.rouge import RougeW as RougeW
from cidery.metrics.meteor import Meteor as Meteor
from cidery.metrics.contextual.irv import IrvUnigram as IrvUnigram
from cidery.metrics.contextual.bertscore import BertScore as BertScore
from cidery.metrics.contextual.irv import Irv as Irv
from cidery.metrics.contextual.consensus import Consensus as Consensus
from cidery.metrics.spice.metric import Spice as Spice
from cidery.metrics.spice.metric import Spider as Spider
# isort: on

if TYPE_CHECKING:
    from cidery.metrics.base import Metric

_CLASSES: Mapping[str, type[Metric]] = MappingProxyType(
    {
        name: value
        for name, value in globals().items()
        if isinstance(value, type) and value.__module__.startswith("cidery.metrics.")
    }
)
"""name -> class, of the lines above"""

METRICS: Mapping[str, Metric] = MappingProxyType(
    {metric.name: metric for kind in _CLASSES.values() for metric in kind.variants()}
)
"""Every metric of cidery with its default settings; `get_metrics` also finds those that other
packages add."""


def _collect_families() -> dict[str, tuple[str, ...]]:
    families: dict[str, tuple[str, ...]] = {}
    for name, metric in METRICS.items():
        if metric.family is not None:
            families[metric.family] = (*families.get(metric.family, ()), name)
    return families


FAMILIES: Mapping[str, tuple[str, ...]] = MappingProxyType(_collect_families())
"""Names that mean several metrics."""

if not TYPE_CHECKING:  # type checkers read the imports above
    __all__ = ["FAMILIES", "METRICS", *_CLASSES]
