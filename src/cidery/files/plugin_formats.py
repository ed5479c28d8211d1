"""File formats of other packages (`cidery.plugins`)."""

from __future__ import annotations

from typing import Any

from cidery.errors import FormatError
from cidery.plugins import load_plugin


def has_format(name: str) -> bool:
    """Return True if an installed package reads a format or suffix."""
    return bool(name) and load_plugin("format", name) is not None


def read_plugin_format(name: str, content: bytes, file: str) -> list[Any]:
    """Return the records of a file in a format of another package."""
    loaded = load_plugin("format", name)
    if loaded is None:
        raise FormatError(f"{file}: no installed package reads the format {name!r}")
    if not callable(loaded.value):
        raise loaded.plugin.fail(
            f"is {type(loaded.value).__name__}, expected a function from bytes to records"
        )
    try:
        return list(loaded.value(content))
    except Exception as error:
        problem = loaded.plugin.fail(f"cannot read it: {type(error).__name__}: {error}")
        raise FormatError(f"{file}: {problem}") from error
