"""cidery evaluates captions by consensus: how close is a sentence to what most people would say?

```python
import cidery

table = cidery.score(candidates, references)
print(table)
```
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cidery._version import __version__

if TYPE_CHECKING:
    from cidery import meta
    from cidery.captions.corpus import Corpus
    from cidery.captions.description import Description, describe
    from cidery.captions.tokenizers import tokenize
    from cidery.diversity import measure_diversity, rank_references, score_references
    from cidery.errors import CideryError
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
    from cidery.metrics.contextual.explanation import Explanation, explain
    from cidery.rewards import Reward
    from cidery.scoring.comparison import Comparison, compare
    from cidery.scoring.evaluation import score
    from cidery.scoring.tables import ScoreTable

_MODULES = {
    "METRICS": "metrics",
    "BertScore": "metrics",
    "Bleu": "metrics",
    "Cider": "metrics",
    "CiderD": "metrics",
    "CiderR": "metrics",
    "CideryError": "errors",
    "Comparison": "scoring.comparison",
    "Consensus": "metrics",
    "Corpus": "captions.corpus",
    "Description": "captions.description",
    "DocumentFrequencies": "frequencies",
    "Explanation": "metrics.contextual.explanation",
    "Irv": "metrics",
    "IrvUnigram": "metrics",
    "Meteor": "metrics",
    "Reward": "rewards",
    "RougeL": "metrics",
    "RougeN": "metrics",
    "RougeS": "metrics",
    "RougeW": "metrics",
    "ScoreTable": "scoring.tables",
    "Spice": "metrics",
    "Spider": "metrics",
    "compare": "scoring.comparison",
    "describe": "captions.description",
    "explain": "metrics.contextual.explanation",
    "measure_diversity": "diversity",
    "rank_references": "diversity",
    "score": "scoring.evaluation",
    "score_references": "diversity",
    "tokenize": "captions.tokenizers",
}
"""Where each public name lives; it is imported when it is first used."""

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
    "explain",
    "measure_diversity",
    "meta",
    "rank_references",
    "score",
    "score_references",
    "tokenize",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f"cidery.{_MODULES[name]}"), name)
    if name == "meta":
        return import_module("cidery.meta")
    raise AttributeError(f"module 'cidery' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
