"""Agreement with people: any metric, judged by human judgments.

```python
from cidery import meta

dataset = meta.read_dataset("judgments", "mine.jsonl")
print(meta.evaluate(dataset, ["cider-d", "bleu-4"]))
```
"""

from cidery.meta.agreement import PROTOCOLS, Agreement, evaluate
from cidery.meta.datasets import DATASETS, read_dataset
from cidery.meta.gaming import SPOILINGS, spoil
from cidery.meta.judgments import Dataset, JudgedCaptions, Pairs, Ratings, Sets, Systems

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
    "Systems",
    "evaluate",
    "read_dataset",
    "spoil",
]
