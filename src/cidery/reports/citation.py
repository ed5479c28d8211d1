"""Citation of cidery; a test compares it with CITATION.cff."""

from __future__ import annotations

from cidery._version import __version__

TITLE = "cidery: evaluation of captions by consensus"
AUTHOR = "The cidery developers"
ADDRESS = "https://github.com/cidery/cidery"
YEAR = 2026


def cite() -> str:
    """Return a BibTeX entry of this version."""
    return (
        "@software{cidery,\n"
        f"  title   = {{{TITLE}}},\n"
        f"  author  = {{{{{AUTHOR}}}}},\n"
        f"  year    = {{{YEAR}}},\n"
        f"  version = {{{__version__}}},\n"
        f"  url     = {{{ADDRESS}}},\n"
        "}"
    )
