"""install(): third-party code that imports pycocoevalcap or related packages gets cidery."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, TypeAlias

from cidery._version import __version__
from cidery.errors import SettingError

_TOKENIZER = {
    "PTBTokenizer": "tokenizer.PTBTokenizer",
    "PUNCTUATIONS": "tokenizer.PUNCTUATIONS",
}

MODULES: Mapping[str, Mapping[str, str]] = {
    "pycocoevalcap.eval": {
        "COCOEvalCap": "evaluation.COCOEvalCap",
        "PTBTokenizer": "tokenizer.PTBTokenizer",
        "Bleu": "bleu.Bleu",
        "Meteor": "optional.Meteor",
        "Rouge": "rouge.Rouge",
        "Cider": "cider.Cider",
        "Spice": "optional.Spice",
    },
    "pycocoevalcap.tokenizer.ptbtokenizer": _TOKENIZER,
    "pycocoevalcap.bleu.bleu": {"Bleu": "bleu.Bleu", "BleuScorer": "bleu.BleuScorer"},
    "pycocoevalcap.bleu.bleu_scorer": {"BleuScorer": "bleu.BleuScorer"},
    "pycocoevalcap.meteor.meteor": {"Meteor": "optional.Meteor"},
    "pycocoevalcap.rouge.rouge": {"Rouge": "rouge.Rouge"},
    "pycocoevalcap.cider.cider": {"Cider": "cider.Cider", "CiderScorer": "cider.CiderScorer"},
    "pycocoevalcap.cider.cider_scorer": {"CiderScorer": "cider.CiderScorer"},
    "pycocoevalcap.ciderR.ciderR": {"CiderR": "cider.CiderR"},
    "pycocoevalcap.spice.spice": {"Spice": "optional.Spice"},
    "pyciderevalcap.tokenizer.ptbtokenizer": _TOKENIZER,
    "pyciderevalcap.cider.cider": {
        "Cider": "cider.PlainCider",
        "CiderScorer": "cider.PlainCiderScorer",
    },
    "pyciderevalcap.cider.cider_scorer": {"CiderScorer": "cider.PlainCiderScorer"},
    "pyciderevalcap.ciderD.ciderD": {
        "CiderD": "cider.CiderD",
        "CiderScorer": "cider.CiderDScorer",
    },
    "pyciderevalcap.ciderD.ciderD_scorer": {"CiderScorer": "cider.CiderDScorer"},
}
"""Members of each module, and their definitions in cidery.coco."""
PACKAGES = ("pycocoevalcap", "pyciderevalcap")
_COCO = {"pycocotools.coco": {"COCO": "annotations.COCO"}}

AliasesLike: TypeAlias = Iterable[str] | Mapping[str, str]
"""`["utils.cider.pyciderevalcap", "evaluation=pycocoevalcap"]`, or the same as a mapping."""


def install(*, ignore_sigma: bool = False, aliases: AliasesLike = ()) -> None:
    """Make imports of pycocoevalcap and pyciderevalcap find cidery.

    Where pycocotools is not installed, cidery's `COCO` replaces it as well. Call this before these
    packages are imported; otherwise SettingError is raised and nothing changes. A second call adds
    aliases and sets `ignore_sigma`.

    Args:
        ignore_sigma: `CiderD(sigma=…)` always uses 6, as pyciderevalcap does.
        aliases: Other names of these packages: copies inside a project, such as OFA's
            `"utils.cider.pyciderevalcap"`. For other names, add the original:
            `"evaluation.coco=pycocoevalcap"` or `"metrics.cider=pycocoevalcap.cider.cider"`.

    ```python
    import cidery.coco
    cidery.coco.install(aliases=["utils.cider.pyciderevalcap"])
    from pycocoevalcap.cider.cider import Cider   # cidery's
    ```
    """
    register_modules(ignore_sigma=ignore_sigma, aliases=aliases)


def uninstall() -> None:
    """Undo `install`; objects that were imported are not affected."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Finder)]
    for name in [name for name, module in sys.modules.items() if isinstance(module, _Module)]:
        module = sys.modules.pop(name)
        parent, _, child = name.rpartition(".")
        if getattr(sys.modules.get(parent), child, None) is module:
            delattr(sys.modules[parent], child)


def register_modules(
    *, ignore_sigma: bool = False, aliases: AliasesLike = (), reason: str = ""
) -> None:
    """Register the drop-in modules; with a reason, the first import prints it on stderr."""
    names = {name: name for name in PACKAGES} | find_aliases() | read_aliases(aliases)
    for name in names:
        _refuse_if_imported(name)
    uninstall()
    sys.meta_path.insert(0, _Finder(names, MODULES, ignore_sigma=ignore_sigma, reason=reason))
    # Asked last, so that it is used only where there is no pycocotools.
    sys.meta_path.append(_Finder({"pycocotools": "pycocotools"}, _COCO, reason=reason))


def is_installed() -> bool:
    """Return whether imports of pycocoevalcap find cidery in this process."""
    return any(isinstance(finder, _Finder) for finder in sys.meta_path)


def read_aliases(aliases: AliasesLike) -> dict[str, str]:
    """Return the original name of each alias; raise SettingError for invalid ones."""
    if isinstance(aliases, str):
        raise SettingError(f"aliases are a list of names, [{aliases!r}], not a text")
    if isinstance(aliases, Mapping):
        pairs: Sequence[tuple[str, str]] = list(aliases.items())
    else:
        pairs = [_split_alias(alias) for alias in aliases]
    return dict(_check_alias(alias, target) for alias, target in pairs)


def _split_alias(alias: str) -> tuple[str, str]:
    if not isinstance(alias, str):
        raise SettingError(f"an alias is the name of a module, not {alias!r}")
    name, _, target = alias.partition("=")
    return name.strip(), target.strip() or name.strip().rpartition(".")[2]


def _check_alias(alias: str, target: str) -> tuple[str, str]:
    if not isinstance(alias, str) or not all(part.isidentifier() for part in alias.split(".")):
        raise SettingError(
            f"the alias {alias!r} is not the name of a module; write it as it is imported, "
            "such as 'utils.cider.pyciderevalcap'"
        )
    if not any(f"{name}.".startswith(f"{target}.") for name in MODULES):
        raise SettingError(
            f"the alias {alias!r} refers to {target!r}, which cidery does not replace; it must end "
            f"in {' or '.join(PACKAGES)}, or name the original: '{alias}={PACKAGES[0]}' or one of "
            f"its modules, such as '{alias}={next(iter(MODULES))}'"
        )
    return alias, target


def _refuse_if_imported(name: str) -> None:
    imported = sys.modules.get(name)
    if imported is not None and not isinstance(imported, _Module):
        raise SettingError(
            f"{name} is imported already, from {getattr(imported, '__file__', None) or '?'}"
            "; call cidery.coco.install() first, at the top of the program"
        )


def find_aliases() -> dict[str, str]:
    """Return the aliases registered in this process, with their original names."""
    return {
        name: target
        for finder in sys.meta_path
        if isinstance(finder, _Finder)
        for name, target in finder.names.items()
        if name != target
    }


class _Module(ModuleType):
    """A module that install() made."""


class _Finder:
    """Finder and loader that redirects imports of some packages to cidery.

    It does not use importlib.abc, which is slow to import.

    Args:
        names: The packages or modules by the name under which they are imported, and the name in
            `modules` that each refers to. Parent packages are not touched.
        modules: Members by module.
        ignore_sigma: As in `install`.
        reason: Message of the first import on stderr; empty for none.
    """

    def __init__(
        self,
        names: Mapping[str, str],
        modules: Mapping[str, Mapping[str, str]],
        *,
        ignore_sigma: bool = False,
        reason: str = "",
    ) -> None:
        self.names = names
        self.ignore_sigma = ignore_sigma
        self.reason = reason
        self.modules: dict[str, Mapping[str, str]] = {}
        self.packages: set[str] = set()
        for name, target in names.items():
            for module, members in modules.items():
                if f"{module}.".startswith(f"{target}."):
                    below = module.removeprefix(target)
                    self.modules[name + below] = members
                    parents = below.split(".")[1:-1]
                    self.packages |= {
                        ".".join([name, *parents[:depth]]) for depth in range(len(parents) + 1)
                    }
        self.packages -= self.modules.keys()

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,  # noqa: ARG002
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        loader: Any = self
        if fullname in self.modules:
            return ModuleSpec(fullname, loader, origin="cidery.coco")
        if fullname in self.packages:
            return ModuleSpec(fullname, loader, origin="cidery.coco", is_package=True)
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Module(spec.name, "Put in place by cidery.coco.install.")

    def exec_module(self, module: ModuleType) -> None:
        if self.reason and module.__name__ in self.modules:
            print(
                f"cidery {__version__} answers imports of {module.__name__} ({self.reason}); "
                "see python -m cidery.coco --status",
                file=sys.stderr,
            )
            _forget_reasons()
        for name, place in self.modules.get(module.__name__, {}).items():
            setattr(module, name, self._find(place))

    def _find(self, place: str) -> Any:
        module, _, name = place.partition(".")
        found = getattr(importlib.import_module(f"cidery.coco.{module}"), name)
        if self.ignore_sigma and place == "cider.CiderD":
            return partial(found, ignore_sigma=True)
        return list(found) if isinstance(found, tuple) else found  # PUNCTUATIONS is a list there


def _forget_reasons() -> None:
    """Print the reason only once."""
    for finder in sys.meta_path:
        if isinstance(finder, _Finder):
            finder.reason = ""
