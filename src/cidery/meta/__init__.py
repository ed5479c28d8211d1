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
    from cidery.meta.estimation import Estimates, Plan, choose_next, estimate, plan
    from cidery.meta.evaluation import evaluate
    from cidery.meta.judgments import Dataset, JudgedCaptions, Pairs, Ratings, Sets, Systems
    from cidery.meta.overview import Overview, evaluate_all
    from cidery.meta.protocols import PROTOCOLS
    from cidery.meta.protocols.gaming import SPOILINGS, spoil
    from cidery.meta.settings import Settings
    from cidery.meta.sweeping import Sweep, sweep

_MODULES = {
    "DATASETS": "datasets",
    "PROTOCOLS": "protocols",
    "SPOILINGS": "protocols.gaming",
    "Agreement": "agreement",
    "Dataset": "judgments",
    "Estimates": "estimation",
    "JudgedCaptions": "judgments",
    "Overview": "overview",
    "Pairs": "judgments",
    "Plan": "estimation",
    "Ratings": "judgments",
    "Sets": "judgments",
    "Settings": "settings",
    "Sweep": "sweeping",
    "Systems": "judgments",
    "choose_next": "estimation",
    "estimate": "estimation",
    "evaluate": "evaluation",
    "evaluate_all": "overview",
    "plan": "estimation",
    "read_dataset": "datasets",
    "spoil": "protocols.gaming",
    "sweep": "sweeping",
}
"""The module of each name; it is imported when the name is first used, as help needs only one."""

__all__ = [
    "DATASETS",
    "PROTOCOLS",
    "SPOILINGS",
    "Agreement",
    "Dataset",
    "Estimates",
    "JudgedCaptions",
    "Overview",
    "Pairs",
    "Plan",
    "Ratings",
    "Sets",
    "Settings",
    "Sweep",
    "Systems",
    "choose_next",
    "estimate",
    "evaluate",
    "evaluate_all",
    "plan",
    "read_dataset",
    "spoil",
    "sweep",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
