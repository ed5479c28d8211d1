"""cidery evaluates captions by consensus: how close is a sentence to what most people would say?

```python
import cidery

table = cidery.score(candidates, references)
print(table)
```
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from cidery._version import __version__
from cidery.corpus import Corpus
from cidery.errors import CideryError
from cidery.evaluation import Comparison, compare, score
from cidery.frequencies import DocumentFrequencies
from cidery.metrics import (
    METRICS,
    BertScore,
    Bleu,
    Cider,
    CiderD,
    CiderR,
    Consensus,
    Irv,
    IrvUnigram,
    Meteor,
    RougeL,
    RougeN,
    RougeS,
    RougeW,
    Spice,
    Spider,
)
from cidery.scores import ScoreTable
from cidery.tokenizers import tokenize

if TYPE_CHECKING:
    from cidery import meta
    from cidery.description import Description, describe
    from cidery.diversity import diversity, leave_one_out, rank_references
    from cidery.explanation import Explanation, explain
    from cidery.rewards import Reward

__all__ = [
    "METRICS",
    "BertScore",
    "Bleu",
    "Cider",
    "CiderD",
    "CiderR",
    "CideryError",
    "Comparison",
    "Consensus",
    "Corpus",
    "Description",
    "DocumentFrequencies",
    "Explanation",
    "Irv",
    "IrvUnigram",
    "Meteor",
    "Reward",
    "RougeL",
    "RougeN",
    "RougeS",
    "RougeW",
    "ScoreTable",
    "Spice",
    "Spider",
    "__version__",
    "compare",
    "describe",
    "diversity",
    "explain",
    "leave_one_out",
    "meta",
    "rank_references",
    "score",
    "tokenize",
]

_LATER = {
    "Description": "cidery.description",
    "Explanation": "cidery.explanation",
    "Reward": "cidery.rewards",
    "describe": "cidery.description",
    "diversity": "cidery.diversity",
    "explain": "cidery.explanation",
    "leave_one_out": "cidery.diversity",
    "rank_references": "cidery.diversity",
}
"""What is imported when it is first asked for: scoring starts sooner without it."""


class _Door(ModuleType):
    """This module; its `diversity` is the function, also after someone imported that room."""

    def __getattr__(self, name: str) -> Any:
        if name == "meta":
            return import_module("cidery.meta")
        if name not in _LATER:
            raise AttributeError(f"module 'cidery' has no attribute {name!r}")
        value = getattr(import_module(_LATER[name]), name)
        setattr(self, name, value)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "diversity" and isinstance(value, ModuleType):
            value = value.diversity  # the import system binds a room's name to its module
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Door
