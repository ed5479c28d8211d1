"""The metrics that come with cidery, each imported when it is first asked for.

`builtin.pyi` lists them, once: for type checkers and, read here as data, for Python.
"""

import pkgutil
from typing import Any

from cidery.metrics.on_demand import Families, Metrics, read_imports

_LISTED = read_imports(pkgutil.get_data(__name__, "builtin.pyi") or b"")

METRICS = Metrics(_LISTED)
FAMILIES = Families(METRICS)
find_members = METRICS.find_members

__all__ = ["FAMILIES", "METRICS", *_LISTED]


def __getattr__(name: str) -> Any:
    if name in _LISTED:
        return METRICS.load(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
