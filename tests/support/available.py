"""Availability of the metrics of an extra."""

from __future__ import annotations

from functools import cache
from importlib.machinery import PathFinder

import pytest

from cidery.errors import DataError, MissingExtraError


@cache
def find_missing(extra: str | None) -> str:
    """Return the reason why metrics of an extra cannot run here; empty if they can."""
    if extra in ("claims", "meteor", "spice") and PathFinder.find_spec("pycocoevalcap") is None:
        return "pycocoevalcap, which holds METEOR's data, is not installed"
    try:
        if extra in ("claims", "spice"):
            from cidery.metrics.spice.parser import load_parser

            load_parser()
        if extra in ("claims", "contextual"):
            from cidery.encoders import get_encoder

            get_encoder("minilm")
    except (DataError, MissingExtraError) as error:
        return str(error)
    return ""


def skip_unless_available(extra: str | None) -> None:
    """Skip a test whose metrics cannot run here."""
    if reason := find_missing(extra):
        pytest.skip(reason)
