"""Data files of CHAIR, made by `tools/make_chair_data.py`, which names their sources."""

from __future__ import annotations

from pathlib import Path

DATA = Path(__file__).parent / "data"


def read_lines(name: str) -> list[str]:
    """Return the lines of a data file."""
    return (DATA / name).read_text(encoding="utf-8").splitlines()
