"""Rewards: metrics as training signals, advantages for policy gradients, and a red team.

```python
reward = cidery.Reward(references, metric="cider-d", frequencies="coco-train2014")
reward(image_ids, captions)   # float64[captions]
```
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
