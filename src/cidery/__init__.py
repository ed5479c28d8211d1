"""cidery evaluates captions by consensus: the similarity of a caption to human captions.

```python
import cidery

table = cidery.score(candidates, references)
print(table)
```
"""

import lazy_loader

from cidery._version import __version__ as __version__

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
