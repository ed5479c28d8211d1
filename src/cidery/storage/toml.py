"""TOML, which Python itself reads from 3.11 on."""

from __future__ import annotations

import sys
from typing import Any

from cidery.errors import MissingExtraError

TomlError = ValueError
"""What a text that is not TOML raises: tomllib's error is one."""


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
