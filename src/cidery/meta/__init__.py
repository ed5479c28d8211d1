"""Agreement of metrics with human judgments.

```python
from cidery import meta

dataset = meta.read_dataset("judgments", "mine.jsonl")
print(meta.evaluate(dataset, ["cider-d", "bleu-4"]))
```
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
