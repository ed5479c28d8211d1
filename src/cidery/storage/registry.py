"""Data, models and caches on disk, by name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from cidery.errors import SettingError
from cidery.storage import cache
from cidery.storage.cache import Resource, Status
from cidery.storage.disk_cache import CACHES
from cidery.storage.downloads import (
    MODELS,
    ModelSource,
    fetch_model,
    remove_model,
    verify_model,
)
from cidery.storage.meteor_table import METEOR, METEOR_WORDS

RESOURCES: Mapping[str, Resource[Any]] = MappingProxyType(
    {resource.name: resource for resource in (METEOR, METEOR_WORDS)}
)
"""Compiled data in the cache directory, by name."""


def get_resource(name: str) -> Resource[Any]:
    """Return a resource by name."""
    if name not in RESOURCES:
        raise _unknown(name, RESOURCES)
    return RESOURCES[name]


def get_model(name: str) -> ModelSource:
    """Return the source of a model by name."""
    if name not in MODELS:
        raise _unknown(name, MODELS)
    return MODELS[name]


def _unknown(name: str, known: Mapping[str, object]) -> SettingError:
    if name in MODELS:
        return SettingError(f"{name} is fetched, not built: {MODELS[name].command}")
    if name in RESOURCES:
        return SettingError(f"{name} is built, not fetched: cidery data build {name}")
    if name in CACHES:
        return SettingError(f"{name} is a cache, which is filled automatically")
    return SettingError(f"no data named {name!r}; known: {', '.join(known)}")


def _check_known(name: str) -> None:
    if name not in RESOURCES and name not in MODELS and name not in CACHES:
        raise _unknown(name, {**RESOURCES, **MODELS, **CACHES})


def build(name: str) -> Path:
    """Build compiled data again, and return their file."""
    return cache.build(get_resource(name))


def get(name: str) -> Path:
    """Fetch a model with pip again, and return its folder."""
    return fetch_model(get_model(name).name)


def verify(name: str) -> Status:
    """Check the whole file, or all files of a model, against their checksums."""
    _check_known(name)
    if name in CACHES:
        return CACHES[name].check()
    return verify_model(MODELS[name]) if name in MODELS else cache.verify(RESOURCES[name])


def remove(name: str) -> list[Path]:
    """Remove the files of data or of a cache, and return their paths."""
    _check_known(name)
    if name in CACHES:
        return CACHES[name].remove()
    return remove_model(MODELS[name]) if name in MODELS else cache.remove(RESOURCES[name])


def show() -> list[Status]:
    """Return the state of all data and caches, each file checked."""
    return [verify(name) for name in (*RESOURCES, *MODELS, *CACHES)]
