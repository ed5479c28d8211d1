"""Agreement with people: any metric, judged by human judgments.

```python
from cidery import meta

dataset = meta.read_dataset("judgments", "mine.jsonl")
print(meta.evaluate(dataset, ["cider-d", "bleu-4"]))
```
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cidery.meta.agreement import Agreement
    from cidery.meta.datasets import DATASETS, read_dataset
    from cidery.meta.evaluation import evaluate
    from cidery.meta.judging import PROTOCOLS
    from cidery.meta.judging.gaming import SPOILINGS, spoil
    from cidery.meta.judgments import Dataset, JudgedCaptions, Pairs, Ratings, Sets, Systems
    from cidery.meta.settings import Settings

_MODULES = {
    "DATASETS": "datasets",
    "PROTOCOLS": "judging",
    "SPOILINGS": "judging.gaming",
    "Agreement": "agreement",
    "Dataset": "judgments",
    "JudgedCaptions": "judgments",
    "Pairs": "judgments",
    "Ratings": "judgments",
    "Sets": "judgments",
    "Settings": "settings",
    "Systems": "judgments",
    "evaluate": "evaluation",
    "read_dataset": "datasets",
    "spoil": "judging.gaming",
}
"""The module of each name; it is imported when the name is first used, as help needs only one."""

__all__ = [
    "DATASETS",
    "PROTOCOLS",
    "SPOILINGS",
    "Agreement",
    "Dataset",
    "JudgedCaptions",
    "Pairs",
    "Ratings",
    "Sets",
    "Settings",
    "Systems",
    "evaluate",
    "read_dataset",
    "spoil",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
