"""Files on disk: the cache directory, compiled tables, downloaded models, atomic writes.

```python
from cidery import storage

storage.build("meteor")     # automatic at first use
storage.get("minilm")       # never automatic
storage.show()              # content of the cache directory
storage.remove("meteor")
```
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
