"""cidery evaluates captions by consensus: how close is a sentence to what most people would say?

```python
import cidery

table = cidery.score(candidates, references)
print(table)
```
"""

import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from cidery._version import __version__

if TYPE_CHECKING:
    from cidery import meta
    from cidery.corpus import Corpus
    from cidery.description import Description, describe
    from cidery.diversity import diversity, leave_one_out, rank_references
    from cidery.errors import CideryError
    from cidery.evaluation import Comparison, compare, score
    from cidery.explanation import Explanation, explain
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
    from cidery.rewards import Reward
    from cidery.scores import ScoreTable
    from cidery.tokenizers import tokenize

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

_ROOMS = {
    "Corpus": "corpus",
    "Comparison": "evaluation",
    "CideryError": "errors",
    "Description": "description",
    "DocumentFrequencies": "frequencies",
    "Explanation": "explanation",
    "Reward": "rewards",
    "ScoreTable": "scores",
    "compare": "evaluation",
    "describe": "description",
    "diversity": "diversity",
    "explain": "explanation",
    "leave_one_out": "diversity",
    "rank_references": "diversity",
    "score": "evaluation",
    "tokenize": "tokenizers",
}
"""Where public names live, if not in `metrics`. Each is imported when it is first asked for."""


class _Door(ModuleType):
    """This module; its `diversity` is the function, also after someone imported that room."""

    def __getattr__(self, name: str) -> Any:
        if name in __all__ and name != "meta":
            value = getattr(import_module(f"cidery.{_ROOMS.get(name, 'metrics')}"), name)
            setattr(self, name, value)
            return value
        if name.startswith("_") or find_spec(f"cidery.{name}") is None:
            raise AttributeError(f"module 'cidery' has no attribute {name!r}")
        return import_module(f"cidery.{name}")

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *__all__})

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "diversity" and isinstance(value, ModuleType):
            value = value.diversity  # the import system binds a room's name to its module
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Door
