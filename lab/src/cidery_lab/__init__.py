"""Training of captioners on image features, and experiments that test claims of papers.

```python
from cidery_lab import ModelCard, Stage, caption_images, synthetic_scenes, train

data = synthetic_scenes(train=12, val=4, test=4)
card = ModelCard("fc", len(data.vocabulary), data.width, hidden=4)
run = train(card, data, [Stage("cross-entropy", epochs=1)])
caption_images(run.model, data, data.test, beams=3)
```
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
