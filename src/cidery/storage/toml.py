"""TOML; the standard library reads it since Python 3.11."""

from __future__ import annotations

import sys
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TomlError = ValueError
"""Error of text that is not TOML; that of tomllib is a subclass."""


def parse_toml(text: str) -> Any:
    """Return the content of a TOML text."""
    return tomllib.loads(text)
