"""Drop-in replacements for pycocoevalcap and related code: same signatures, shapes and values.

```python
from cidery.coco import COCO, COCOEvalCap, PTBTokenizer, Bleu, Rouge, Cider
```

or, for code that is not to be changed, `cidery.coco.install()` before it is imported, or
`python -m cidery.coco SCRIPT`. What differs from the originals on purpose is listed in
docs/differences.md.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
