"""The experiments, by name: a module each, with `ABOUT` and `run(lab) -> Findings`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from cidery.errors import SettingError

EXPERIMENTS = ("repetition", "balance", "generators", "kr", "rewards", "redteam")
"""Names of experiments in the order of the list; each is a module."""


def get_experiment(name: str) -> Any:
    """Return the module of an experiment."""
    if name not in EXPERIMENTS:
        raise SettingError(f"no experiment named {name!r}; known: {', '.join(EXPERIMENTS)}")
    return import_module(f"{__name__}.{name}")
