"""Reports of how far work is."""

from __future__ import annotations

from cidery.runtime import current_progress, use_progress


def test_reports_go_to_whom_the_block_says() -> None:
    outer: list[tuple[str, float]] = []
    inner: list[tuple[str, float]] = []
    current_progress()("before", 0.0)
    with use_progress(lambda *state: outer.append(state)):
        current_progress()("one", 0.5)
        with use_progress(lambda *state: inner.append(state)):
            current_progress()("two", 1.0)
        current_progress()("three", 1.0)
    current_progress()("after", 1.0)
    assert outer == [("one", 0.5), ("three", 1.0)]
    assert inner == [("two", 1.0)]
