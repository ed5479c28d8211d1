"""Drop-in replacements for pycocoevalcap and related code: same signatures, shapes and values.

```python
from cidery.coco import COCO, COCOEvalCap, PTBTokenizer, Bleu, Rouge, Cider
```

or, for code that is not to be changed, `cidery.coco.install()` before it is imported, or
`python -m cidery.coco SCRIPT`. What differs from the originals on purpose is listed in
docs/differences.md.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cidery.coco.annotations import COCO as COCO
    from cidery.coco.bleu import Bleu as Bleu
    from cidery.coco.bleu import BleuScorer as BleuScorer
    from cidery.coco.cider import Cider as Cider
    from cidery.coco.cider import CiderD as CiderD
    from cidery.coco.cider import CiderR as CiderR
    from cidery.coco.cider import CiderScorer as CiderScorer
    from cidery.coco.cider import PlainCider as PlainCider
    from cidery.coco.evaluation import COCOEvalCap as COCOEvalCap
    from cidery.coco.installation import install as install
    from cidery.coco.installation import uninstall as uninstall
    from cidery.coco.optional import Meteor as Meteor
    from cidery.coco.optional import Spice as Spice
    from cidery.coco.rouge import Rouge as Rouge
    from cidery.coco.tokenizer import PTBTokenizer as PTBTokenizer

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

_MODULES = {
    "COCO": "annotations",
    "Bleu": "bleu",
    "BleuScorer": "bleu",
    "COCOEvalCap": "evaluation",
    "Cider": "cider",
    "CiderD": "cider",
    "CiderR": "cider",
    "CiderScorer": "cider",
    "Meteor": "optional",
    "PTBTokenizer": "tokenizer",
    "PlainCider": "cider",
    "Rouge": "rouge",
    "Spice": "optional",
    "install": "installation",
    "uninstall": "installation",
}
"""Where each name is defined; it is imported when it is first used.

A Python that only might need them, because `CIDERY_COCO` is set, starts as quickly as before.
"""

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            return getattr(import_module(f"cidery.coco.{_MODULES[name]}"), name)
        raise AttributeError(f"module 'cidery.coco' has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *_MODULES})
