"""Drop-in replacements for pycocoevalcap and related code: same signatures, shapes and values.

```python
from cidery.coco import COCO, COCOEvalCap, PTBTokenizer, Bleu, Rouge, Cider
```

or, for code that is not to be changed, `cidery.coco.install()` before it is imported. What differs
from the originals on purpose is listed in docs/differences.md.
"""

from cidery.coco.annotations import COCO
from cidery.coco.bleu import Bleu, BleuScorer
from cidery.coco.cider import Cider, CiderD, CiderR, CiderScorer, PlainCider
from cidery.coco.evaluation import COCOEvalCap
from cidery.coco.installation import install, uninstall
from cidery.coco.optional import Meteor, Spice
from cidery.coco.rouge import Rouge
from cidery.coco.tokenizer import PTBTokenizer

__all__ = [
    "COCO",
    "Bleu",
    "BleuScorer",
    "COCOEvalCap",
    "Cider",
    "CiderD",
    "CiderR",
    "CiderScorer",
    "Meteor",
    "PTBTokenizer",
    "PlainCider",
    "Rouge",
    "Spice",
    "install",
    "uninstall",
]
