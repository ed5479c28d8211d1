"""Metrics of cidery by name; each is imported when it is first used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from types import MappingProxyType

from cidery.metrics.base import Metric

LOCATIONS: Mapping[str, str] = MappingProxyType(
    {
        "cider": "cidery.metrics.ngram.cider:Cider",
        "cider-d": "cidery.metrics.ngram.cider:CiderD",
        "cider-r": "cidery.metrics.ngram.cider:CiderR",
        "bleu-1": "cidery.metrics.ngram.bleu:Bleu",
        "bleu-2": "cidery.metrics.ngram.bleu:Bleu",
        "bleu-3": "cidery.metrics.ngram.bleu:Bleu",
        "bleu-4": "cidery.metrics.ngram.bleu:Bleu",
        "rouge-1": "cidery.metrics.ngram.rouge:RougeN",
        "rouge-2": "cidery.metrics.ngram.rouge:RougeN",
        "rouge-l": "cidery.metrics.ngram.rouge:RougeL",
        "rouge-s": "cidery.metrics.ngram.rouge:RougeS",
        "rouge-w": "cidery.metrics.ngram.rouge:RougeW",
        "meteor": "cidery.metrics.meteor:Meteor",
        "irv-unigram": "cidery.metrics.contextual.irv:IrvUnigram",
        "bertscore": "cidery.metrics.contextual.bertscore:BertScore",
        "bertscore-precision": "cidery.metrics.contextual.bertscore:BertScore",
        "bertscore-recall": "cidery.metrics.contextual.bertscore:BertScore",
        "irv": "cidery.metrics.contextual.irv:Irv",
        "consensus": "cidery.metrics.contextual.consensus:Consensus",
        "fense": "cidery.metrics.contextual.fense:Fense",
        "clipscore": "cidery.metrics.contextual.clip:ClipScore",
        "refclipscore": "cidery.metrics.contextual.clip:ClipScore",
        "pac-s": "cidery.metrics.contextual.clip:PacScore",
        "ref-pac-s": "cidery.metrics.contextual.clip:PacScore",
        "spice": "cidery.metrics.spice.metric:Spice",
        "spider": "cidery.metrics.spice.metric:Spider",
        "spider-fl": "cidery.metrics.spice.spider_fl:SpiderFl",
        "claims-f": "cidery.metrics.claims.metric:Claims",
        "claims-precision": "cidery.metrics.claims.metric:Claims",
        "claims-recall": "cidery.metrics.claims.metric:Claims",
        "vocab": "cidery.metrics.vocabulary:Vocabulary",
        "chair-i": "cidery.metrics.chair.metric:Chair",
        "chair-s": "cidery.metrics.chair.metric:Chair",
        "chair-recall": "cidery.metrics.chair.metric:Chair",
        "chair-open-i": "cidery.metrics.chair.open_chair:OpenChair",
        "chair-open-s": "cidery.metrics.chair.open_chair:OpenChair",
        "chair-open-recall": "cidery.metrics.chair.open_chair:OpenChair",
    }
)
"""Module and class of each metric, in the order of lists and tables."""

FAMILIES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "bleu": ("bleu-1", "bleu-2", "bleu-3", "bleu-4"),
        "rouge": ("rouge-1", "rouge-2", "rouge-l", "rouge-s", "rouge-w"),
        "claims": ("claims-f", "claims-precision", "claims-recall"),
        "chair": ("chair-i", "chair-s", "chair-recall"),
        "chair-open": ("chair-open-i", "chair-open-s", "chair-open-recall"),
    }
)
"""Names of several metrics together."""

AMBIGUOUS: Mapping[str, str] = MappingProxyType(
    {
        "cider": "cider-d (the CIDEr of pycocoevalcap and of most papers) or cider (the equations "
        "of the CIDEr paper)",
    }
)
"""Names that stand for several metrics unless they are written exactly as in `LOCATIONS`."""


class _Metrics(Mapping[str, Metric]):
    def __getitem__(self, name: str) -> Metric:
        module, _, kind = LOCATIONS[name].partition(":")
        variants: Mapping[str, Metric] = {
            metric.name: metric for metric in getattr(import_module(module), kind).variants()
        }
        return variants[name]

    def __contains__(self, name: object) -> bool:
        return name in LOCATIONS

    def __iter__(self) -> Iterator[str]:
        return iter(LOCATIONS)

    def __len__(self) -> int:
        return len(LOCATIONS)


METRICS: Mapping[str, Metric] = _Metrics()
"""Metrics of cidery with their default settings; `get_metrics` also finds those of plugins."""
