"""Tiny models gain nothing from threads, and lose much on a busy machine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _one_thread(request: pytest.FixtureRequest) -> Iterator[None]:
    if request.node.get_closest_marker("model") is None:
        yield
        return
    torch = pytest.importorskip("torch", reason="cidery-lab is not installed")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
