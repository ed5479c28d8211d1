"""Caches on disk: bounded, listed, removed."""

from __future__ import annotations

from pathlib import Path

import pytest

from cidery import storage
from cidery.storage import CACHES, DiskCache


def test_the_oldest_contents_are_removed_above_the_limit(tmp_path: Path) -> None:
    cache = DiskCache("small", folder=tmp_path, max_bytes=200_000)
    for number in range(100):
        cache.save({str(number).encode(): bytes(10_000)})
    keys = [str(number).encode() for number in range(100)]
    found = cache.load(keys)
    assert set(found) == set(keys[-len(found) :])  # the newest
    assert 10 <= len(found) <= 20
    assert cache.path.stat().st_size <= 250_000
    cache.save({b"large": bytes(300_000)})  # alone above the limit
    assert cache.load([b"large"]) == {}


def test_a_key_is_written_once(tmp_path: Path) -> None:
    cache = DiskCache("small", folder=tmp_path)
    cache.save({b"a": b"1"})
    cache.save({b"a": b"2", b"b": b"3"})
    assert cache.load([b"a", b"b", b"c"]) == {b"a": b"1", b"b": b"3"}


def test_all_caches_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CIDERY_CACHE", str(tmp_path))
    CACHES["scene-graphs"].save({b"a": b"1"})
    CACHES["embeddings"].path.write_bytes(b"x" * 4096)
    states = {found.name: found for found in storage.show() if found.name in CACHES}
    assert {name: found.state for name, found in states.items()} == {
        "embeddings": "damaged",
        "scene-graphs": "ready",
        "agreement": "empty",
    }
    assert states["scene-graphs"].size == CACHES["scene-graphs"].path.stat().st_size > 0
    assert storage.remove("scene-graphs") == [tmp_path / "scene-graphs-v1.sqlite"]
    assert storage.remove("scene-graphs") == []
