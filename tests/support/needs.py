"""What a test needs beyond Python packages: its markers, from the fixtures that it uses."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.machinery import PathFinder

import pytest

from cidery.metrics import METRICS
from support.available import skip_unless_available

MARKERS = {
    "app": "needs the packages of the web app (Django and others)",
    "both_databases": "runs on PostgreSQL as well as on SQLite",
    "browser": "needs Chromium",
    "build": "builds the package, or compiles its core with another compiler",
    "docs": "needs the packages that build the documentation site",
    "harness": "needs evaluation harnesses from PyPI, which `make harnesses` installs",
    "java": "needs Java and the reference tools that run on it",
    "model": "needs a language model or a spaCy pipeline, and the packages that run it",
    "ray": "starts a cluster of Ray on this machine",
    "sanitizer": "compiles the native core with a sanitizer and runs it",
    "service": "starts the web app, its workers or PostgreSQL",
    "shared": "needs the folder ../shared with real captions and judgments",
    "stack": "needs RL trainers from PyPI, which `make stacks` installs",
}
NAMES = {
    "browser": "browser",
    "browsed": "service",
    "built_wheel": "build",
    "database": "service",
    "harnesses": "harness",
    "installation": "service",
    "java": "java",
    "make_model": "model",
    "minilm": "model",
    "parser": "model",
    "postgresql": "service",
    "ray_cluster": "ray",
    "sanitized_core": "sanitizer",
    "shared": "shared",
    "site": "docs",
    "stacks": "stack",
    "torch": "model",
    "torchmetrics": "model",
    "world": "service",
}


MODELS = ("claims", "contextual", "spice")
"""Extras whose metrics need a model."""


def extras_of(item: pytest.Item) -> Iterator[str]:
    """Yield the extras of the metrics that are a test's parameters, and those named by `extra`."""
    call = getattr(item, "callspec", None)
    for name, value in call.params.items() if call else ():
        metric = METRICS.get(value) if isinstance(value, str) else value
        extra = value if name == "extra" else getattr(metric, "extra", None)
        if isinstance(extra, str):
            yield extra


def skip_without_extras(item: pytest.Item) -> None:
    """Skip a test whose metric cannot run here."""
    for extra in extras_of(item):
        skip_unless_available(extra)


def names_in(item: pytest.Item) -> set[str]:
    """Return the names of a test's fixtures, and of what its code uses."""
    names = set(getattr(item, "fixturenames", ()))
    if isinstance(item, pytest.Function):
        names |= set(item.function.__code__.co_names)
    return names


def mark_needs(item: pytest.Item) -> None:
    """Add the markers that follow from a test's fixtures, helpers and folder."""
    found = {NAMES[name] for name in names_in(item) & set(NAMES)}
    if item.config.rootpath / "server" in item.path.parents:
        found.add("app")
    if set(extras_of(item)) & set(MODELS):
        found.add("model")
    for marker in sorted(found):
        item.add_marker(marker)


def has_app_packages() -> bool:
    """Tell whether the tests of the web app can be imported here."""
    return PathFinder.find_spec("django") is not None
