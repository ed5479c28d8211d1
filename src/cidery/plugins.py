"""Plug-ins: metrics, tokenizers, file formats, data sets, encoders, commands of other packages.

A package declares them as entry points. Users refer to them by the name of the entry point:

| group               | object                                                                     |
|---------------------|----------------------------------------------------------------------------|
| `cidery.metrics`    | a Metric class, a Metric object or a function `f(candidate, references)`   |
| `cidery.tokenizers` | a function from a caption to its words                                     |
| `cidery.formats`    | a function from a file's bytes to records; the name is the file's suffix   |
| `cidery.datasets`   | a function from a path to a data set of judgments                          |
| `cidery.encoders`   | an Encoder class, an Encoder object or a function from captions to vectors |
| `cidery.commands`   | a Typer app: a subcommand of `cidery`                                      |
| `cidery.diagnostics` | a function without arguments that yields `cidery.doctor.Finding`          |

cidery's own names cannot be replaced. Installed packages are searched only for other names, or when
all names are listed.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from cidery.errors import PluginError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Kind: TypeAlias = Literal[
    "metric", "tokenizer", "format", "dataset", "encoder", "command", "diagnostic"
]

GROUPS = MappingProxyType(
    {
        "metric": "cidery.metrics",
        "tokenizer": "cidery.tokenizers",
        "format": "cidery.formats",
        "dataset": "cidery.datasets",
        "encoder": "cidery.encoders",
        "command": "cidery.commands",
        "diagnostic": "cidery.diagnostics",
    }
)
"""kind -> the group of its entry points"""


@dataclass(frozen=True)
class Plugin:
    """A plug-in of an installed package, not imported yet."""

    kind: Kind
    name: str
    package: str
    version: str
    target: str
    """`module:name`."""
    _entry_point: EntryPoint = field(repr=False, compare=False)

    @property
    def origin(self) -> str:
        """The package and its version, as signatures have them."""
        return f"{self.package}-{self.version}"

    def load(self) -> Any:
        """Import it; PluginError has the package and the reason."""
        try:
            return self._entry_point.load()
        except (Exception, SystemExit) as error:
            raise self.fail(f"cannot be imported: {type(error).__name__}: {error}") from error

    def fail(self, problem: str) -> PluginError:
        """Return an error that names the package."""
        return PluginError(
            f"the {self.kind} {self.name!r} of the package {self.package} {self.version} "
            f"({self.target}) {problem}"
        )


@dataclass(frozen=True, eq=False)
class LoadedPlugin:
    """A plug-in and its imported object."""

    plugin: Plugin
    value: Any


def list_plugins(kind: Kind) -> list[Plugin]:
    """Return the plug-ins of installed packages, without importing them.

    ```python
    [plugin.name for plugin in list_plugins("metric")]
    ```
    """
    from importlib.metadata import entry_points

    found = [
        Plugin(kind, e.name, e.dist.name, e.dist.version, e.value, e)
        for e in entry_points(group=GROUPS[kind])
        if e.dist is not None
    ]
    return sorted(found, key=lambda plugin: (plugin.name, plugin.package))


def list_names(kind: Kind, own: Iterable[str]) -> list[str]:
    """Return cidery's own names, then those of plug-ins."""
    return list(dict.fromkeys([*own, *(plugin.name for plugin in list_plugins(kind))]))


def load_plugin(kind: Kind, name: str) -> LoadedPlugin | None:
    """Import the plug-in of that name; None if there is none."""
    try:
        return _load(kind, name, tuple(sys.path))
    except _UnknownNameError:
        return None


class _UnknownNameError(LookupError):
    """No package has this name; raised, because results are cached and errors are not."""


@lru_cache(maxsize=64)
def _load(kind: Kind, name: str, path: tuple[str, ...]) -> LoadedPlugin:  # noqa: ARG001
    found = [plugin for plugin in list_plugins(kind) if plugin.name == name]
    if not found:
        raise _UnknownNameError
    if len(found) > 1:
        packages = " and ".join(f"{p.package} {p.version} ({p.target})" for p in found)
        raise PluginError(
            f"{len(found)} packages define the {kind} {name!r}: {packages}; uninstall one of them"
        )
    return LoadedPlugin(found[0], found[0].load())


def find_package(module: str) -> str | None:
    """Return the installed package of a module, `name-version`; None if it is not known.

    ```python
    find_package("numpy.linalg")   # "numpy-…"
    ```
    """
    return _find_package(module.partition(".")[0], tuple(sys.path))


@lru_cache(maxsize=64)
def _find_package(top: str, path: tuple[str, ...]) -> str | None:  # noqa: ARG001
    from importlib.metadata import PackageNotFoundError, distribution

    for kind in GROUPS:
        for plugin in list_plugins(kind):  # type: ignore[arg-type]  # keys of GROUPS
            if plugin.target.partition(":")[0].partition(".")[0] == top:
                return plugin.origin
    try:
        found = distribution(top)
    except (PackageNotFoundError, ValueError):
        return None
    # A file of the user's may share its name with an installed package.
    file = getattr(sys.modules.get(top), "__file__", None)
    root = Path(str(found.locate_file(""))).resolve()
    if file is None or root not in Path(file).resolve().parents:
        return None
    return f"{found.name}-{found.version}"


COMPANIONS = MappingProxyType(
    {"serve": "server", "study": "server", "challenge": "server", "lab": "lab"}
)
"""Commands of the other distributions of this repository -> the extra that installs them."""


def install_command(extra: str) -> str:
    """Return the command that installs an extra.

    cidery-server and cidery-lab are installed from the checkout that cidery was installed from,
    where there is one.
    """
    checkout = _find_checkout()
    if extra in COMPANIONS.values() and checkout is not None:
        return f"pip install {shlex.quote(str(checkout / extra))}"
    return f"pip install 'cidery[{extra}]'"


def _find_checkout() -> Path | None:
    """Return the folder that cidery was installed from, if it is a checkout of the repository."""
    from importlib.metadata import distribution
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    recorded = distribution("cidery").read_text("direct_url.json") or "{}"
    url = urlsplit(json.loads(recorded).get("url", ""))
    folder = Path(url2pathname(url.path)) if url.scheme == "file" else Path(__file__).parents[2]
    return folder if (folder / "server" / "pyproject.toml").is_file() else None
