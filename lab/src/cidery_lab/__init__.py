"""Train captioners on features of images, and try the claims of papers (extra `train`).

```python
from cidery_lab import ModelCard, Stage, describe_images, invented_scenes, train

data = invented_scenes(train=12, val=4, test=4)
card = ModelCard("fc", len(data.vocabulary), data.width, hidden=4)
run = train(card, data, [Stage("cross-entropy", epochs=1)])
describe_images(run.model, data, data.test, beams=3)
```
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
