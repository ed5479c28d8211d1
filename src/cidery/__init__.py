"""cidery evaluates captions by consensus: how close is a sentence to what most people would say?

```python
import cidery

table = cidery.score(candidates, references)
print(table)
```
"""

import lazy_loader

from cidery._version import __version__ as __version__

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
