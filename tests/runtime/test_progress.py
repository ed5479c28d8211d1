"""Reports of how far work is."""

from __future__ import annotations

from cidery.runtime.progress import current_report, report_to


def test_reports_go_to_whom_the_block_says() -> None:
    outer: list[tuple[str, float]] = []
    inner: list[tuple[str, float]] = []
    current_report()("before", 0.0)
    with report_to(lambda *state: outer.append(state)):
        current_report()("one", 0.5)
        with report_to(lambda *state: inner.append(state)):
            current_report()("two", 1.0)
        current_report()("three", 1.0)
    current_report()("after", 1.0)
    assert outer == [("one", 0.5), ("three", 1.0)]
    assert inner == [("two", 1.0)]
