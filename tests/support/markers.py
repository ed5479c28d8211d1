"""Markers: requirements of a test beyond Python packages, and the group it runs in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from cidery.metrics import METRICS
from support.available import skip_unless_available

MARKERS = {
    "app": "needs the packages of cidery-server (Django and others)",
    "both_databases": "runs on PostgreSQL as well as on SQLite",
    "browser": "needs Chromium",
    "build": "builds a package, or compiles the native core with another compiler",
    "docs": "needs the packages that build the documentation site",
    "extra(name)": "scores with the metrics of an extra; skipped where they cannot run",
    "harness": "needs evaluation harnesses from PyPI, which `make harnesses` installs",
    "java": "needs Java and the reference tools that run on it",
    "model": "needs a language model, a spaCy pipeline or torch",
    "ray": "starts a Ray cluster on this machine",
    "sanitizer": "compiles the native core with a sanitizer and runs it",
    "service": "starts the server, its workers or PostgreSQL",
    "shared": "needs the folder ../shared with real captions and judgments",
    "stack": "needs RL trainers from PyPI, which `make stacks` installs",
}
FIXTURE_MARKERS = {
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
    "torchmetrics": "model",
    "world": "service",
}
"""Markers of the tests that use a fixture."""
FIXTURE_GROUPS = {
    "world": "attacked installation",
    "browsed": "installation in a browser",
    "installation": "installation",
    "strict": "strict installation",
    "sanitized_core": "sanitized_core",
    "local_app": "Django",
    "parser": "scene graphs",
    "make_model": "torch",
    "torchmetrics": "torch",
}
"""Fixtures that take seconds to start -> group of tests that one process runs; first match."""
MODEL_EXTRAS = ("claims", "contextual", "spice")
"""Extras whose metrics need a model."""


def mark_extra(extra: str | None) -> list[pytest.MarkDecorator]:
    """Return the markers of a test that scores with metrics of an extra."""
    if extra is None:
        return []
    marks = [pytest.mark.extra(extra)]
    if extra in MODEL_EXTRAS:
        marks.append(pytest.mark.model)
    if extra == "spice":
        marks.append(pytest.mark.xdist_group(FIXTURE_GROUPS["parser"]))
    return marks


def mark_metrics(names: Iterable[str]) -> list[Any]:
    """Return metric names as parameters of a test, each with the markers of its extra."""
    extras = {name: METRICS[name.partition(":")[0]].needs.extra for name in names}
    return [pytest.param(name, marks=mark_extra(extra)) for name, extra in extras.items()]


def skip_without_extras(item: pytest.Item) -> None:
    """Skip a test whose metrics cannot run here."""
    for marker in item.iter_markers("extra"):
        skip_unless_available(marker.args[0])


def mark_by_fixtures(item: pytest.Item) -> None:
    """Add the markers that follow from a test's fixtures and distribution."""
    fixtures = getattr(item, "fixturenames", ())
    markers = {FIXTURE_MARKERS[name] for name in fixtures if name in FIXTURE_MARKERS}
    if item.config.rootpath / "server" in item.path.parents:
        markers.add("app")
    for marker in sorted(markers):
        item.add_marker(marker)
    if item.get_closest_marker("xdist_group") is None and (group := find_group(item)):
        item.add_marker(pytest.mark.xdist_group(group))


def find_group(item: pytest.Item) -> str:
    """Return the group of tests that share a slow fixture with this one; empty for none."""
    if not isinstance(item, pytest.Function):
        return ""
    fixture = next((name for name in FIXTURE_GROUPS if name in item.fixturenames), None)
    if fixture is not None:
        call = getattr(item, "callspec", None)
        kind = call.params.get(fixture) if call else None
        return f"{FIXTURE_GROUPS[fixture]} {kind}" if kind else FIXTURE_GROUPS[fixture]
    definitions = item._fixtureinfo.name2fixturedefs.values()
    has_module_fixture = any(found[-1].scope == "module" for found in definitions)
    return item.path.stem if has_module_fixture else ""
