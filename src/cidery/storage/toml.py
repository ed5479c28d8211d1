"""TOML; the standard library reads it since Python 3.11."""

from __future__ import annotations

import sys
from typing import Any

from cidery.errors import MissingExtraError

TomlError = ValueError
"""Error of text that is not TOML; that of tomllib is a subclass."""


def parse_toml(text: str) -> Any:
    """Return the content of a TOML text."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        try:
            import tomli as tomllib
        except ImportError:
            raise MissingExtraError.to(
                "read TOML with Python 3.10", package="tomli", extra="server"
            ) from None
    return tomllib.loads(text)
