"""cidery evaluates captions by consensus: how close is a sentence to what most people would say?

```python
import cidery

table = cidery.score(candidates, references)
print(table)
```
"""

from types import ModuleType

from cidery._version import __version__
from cidery.corpus import Corpus
from cidery.description import Description, describe
from cidery.diversity import diversity, leave_one_out, rank_references
from cidery.errors import CideryError
from cidery.evaluation import Comparison, compare, score
from cidery.frequencies import DocumentFrequencies
from cidery.metrics import (
    METRICS,
    Bleu,
    Cider,
    CiderD,
    CiderR,
    Meteor,
    RougeL,
    RougeN,
    RougeS,
    RougeW,
)
from cidery.rewards import Reward
from cidery.scores import ScoreTable
from cidery.tokenizers import tokenize

__all__ = [
    "METRICS",
    "Bleu",
    "Cider",
    "CiderD",
    "CiderR",
    "CideryError",
    "Comparison",
    "Corpus",
    "Description",
    "DocumentFrequencies",
    "Meteor",
    "Reward",
    "RougeL",
    "RougeN",
    "RougeS",
    "RougeW",
    "ScoreTable",
    "__version__",
    "compare",
    "describe",
    "diversity",
    "leave_one_out",
    "rank_references",
    "score",
    "tokenize",
]


def __getattr__(name: str) -> ModuleType:
    """Import `cidery.meta` when it is first asked for."""
    if name == "meta":
        from importlib import import_module

        return import_module("cidery.meta")
    raise AttributeError(f"module 'cidery' has no attribute {name!r}")
