"""install(): third-party code that imports pycocoevalcap or related packages gets cidery."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping
from functools import partial
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from cidery.coco.annotations import COCO
from cidery.coco.bleu import Bleu, BleuScorer
from cidery.coco.cider import (
    Cider,
    CiderD,
    CiderDScorer,
    CiderR,
    CiderScorer,
    PlainCider,
    PlainCiderScorer,
)
from cidery.coco.evaluation import COCOEvalCap
from cidery.coco.optional import Meteor, Spice
from cidery.coco.rouge import Rouge
from cidery.coco.tokenizer import PUNCTUATIONS, PTBTokenizer
from cidery.errors import SettingError

_TOKENIZER = {"PTBTokenizer": PTBTokenizer, "PUNCTUATIONS": list(PUNCTUATIONS)}
_EVALUATION = {
    "COCOEvalCap": COCOEvalCap,
    "PTBTokenizer": PTBTokenizer,
    "Bleu": Bleu,
    "Meteor": Meteor,
    "Rouge": Rouge,
    "Cider": Cider,
    "Spice": Spice,
}

MODULES: Mapping[str, Mapping[str, Any]] = {
    "pycocoevalcap.eval": _EVALUATION,
    "pycocoevalcap.tokenizer.ptbtokenizer": _TOKENIZER,
    "pycocoevalcap.bleu.bleu": {"Bleu": Bleu, "BleuScorer": BleuScorer},
    "pycocoevalcap.bleu.bleu_scorer": {"BleuScorer": BleuScorer},
    "pycocoevalcap.meteor.meteor": {"Meteor": Meteor},
    "pycocoevalcap.rouge.rouge": {"Rouge": Rouge},
    "pycocoevalcap.cider.cider": {"Cider": Cider, "CiderScorer": CiderScorer},
    "pycocoevalcap.cider.cider_scorer": {"CiderScorer": CiderScorer},
    "pycocoevalcap.ciderR.ciderR": {"CiderR": CiderR},
    "pycocoevalcap.spice.spice": {"Spice": Spice},
    "pyciderevalcap.tokenizer.ptbtokenizer": _TOKENIZER,
    "pyciderevalcap.cider.cider": {"Cider": PlainCider, "CiderScorer": PlainCiderScorer},
    "pyciderevalcap.cider.cider_scorer": {"CiderScorer": PlainCiderScorer},
    "pyciderevalcap.ciderD.ciderD": {"CiderD": CiderD, "CiderScorer": CiderDScorer},
    "pyciderevalcap.ciderD.ciderD_scorer": {"CiderScorer": CiderDScorer},
}
"""What each module has, by its full name."""
_COCO = {"pycocotools.coco": {"COCO": COCO}}


def install(*, ignore_sigma: bool = False) -> None:
    """Register cidery under the names of pycocoevalcap and pyciderevalcap.

    Where pycocotools is not installed, our light COCO takes its name as well. Call it before
    anything imports these packages: if one is imported already, SettingError is raised, and
    nothing is changed. A second call changes nothing but `ignore_sigma`.

    Args:
        ignore_sigma: `CiderD(sigma=…)` takes 6 whatever is given, as pyciderevalcap does.

    ```python
    import cidery.coco
    cidery.coco.install()
    from pycocoevalcap.cider.cider import Cider   # cidery's
    ```
    """
    modules = dict(MODULES)
    if ignore_sigma:
        modules["pyciderevalcap.ciderD.ciderD"] = {
            "CiderD": partial(CiderD, ignore_sigma=True),
            "CiderScorer": CiderDScorer,
        }
    if "pycocotools" not in sys.modules and importlib.util.find_spec("pycocotools") is None:
        modules |= _COCO
    for package in {name.partition(".")[0] for name in modules}:
        imported = sys.modules.get(package)
        if imported is not None and not isinstance(imported, _Module):
            raise SettingError(
                f"{package} is imported already, from {getattr(imported, '__file__', None) or '?'}"
                "; call cidery.coco.install() first, at the top of the program"
            )
    uninstall()
    for name, members in modules.items():
        _register(name, members)


def uninstall() -> None:
    """Take the names away again; what was imported under them stays what it is."""
    for name in [name for name, module in sys.modules.items() if isinstance(module, _Module)]:
        del sys.modules[name]


class _Module(ModuleType):
    """A module that install() made."""


def _register(name: str, members: Mapping[str, Any]) -> _Module:
    """Make a module and the packages it lies in."""
    known = sys.modules.get(name)
    module = (
        known if isinstance(known, _Module) else _Module(name, "Registered by cidery.coco.install.")
    )
    is_package = not members
    module.__spec__ = ModuleSpec(name, None, is_package=is_package)
    if is_package:
        module.__path__ = []
    vars(module).update(members)
    sys.modules[name] = module
    parent, _, child = name.rpartition(".")
    if parent:
        setattr(_register(parent, {}), child, module)
    return module
