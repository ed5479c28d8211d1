"""Data that metrics need and that cidery may not ship: compiled once, from packages you install.

```python
from cidery import data

data.build("meteor")     # otherwise done at first use
data.show()              # what the cache directory holds
data.remove("meteor")
```
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from cidery.data import cache
from cidery.data.cache import Report, Resource, Status, cache_directory, load, report_to
from cidery.data.meteor import METEOR, METEOR_WORDS
from cidery.data.meteor import write_table as write_meteor_table
from cidery.errors import SettingError

RESOURCES: Mapping[str, Resource[Any]] = MappingProxyType(
    {resource.name: resource for resource in (METEOR, METEOR_WORDS)}
)
"""Everything that may be kept in the cache directory, by name."""


def get_resource(name: str) -> Resource[Any]:
    """Return the resource of that name."""
    if name not in RESOURCES:
        raise SettingError(f"no data named {name!r}; known: {', '.join(RESOURCES)}")
    return RESOURCES[name]


def build(name: str) -> Path:
    """Build these data anew, whatever the cache directory holds, and return their file."""
    return cache.build(get_resource(name))


def verify(name: str) -> Status:
    """Check the whole file against its checksum."""
    return cache.verify(get_resource(name))


def remove(name: str) -> list[Path]:
    """Remove the file, also that of another version, and return what was removed."""
    return cache.remove(get_resource(name))


def show() -> list[Status]:
    """Return what the cache directory holds, each file checked."""
    return [cache.verify(resource) for resource in RESOURCES.values()]


__all__ = [
    "RESOURCES",
    "Report",
    "Resource",
    "Status",
    "build",
    "cache_directory",
    "get_resource",
    "load",
    "remove",
    "report_to",
    "show",
    "verify",
    "write_meteor_table",
]
