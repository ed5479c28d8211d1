"""Reports of how far work is."""

from __future__ import annotations

import io
import itertools
import sys

import pytest

import cidery
from cidery.cli import progress_bar
from cidery.cli.progress_bar import Bar
from cidery.runtime import (
    RisingShare,
    current_progress,
    report_part,
    split_progress,
    use_progress,
)
from support.example import Example

State = tuple[str, float]


def test_reports_go_to_whom_the_block_says() -> None:
    outer: list[State] = []
    inner: list[State] = []
    current_progress()("before", 0.0)
    with use_progress(lambda *state: outer.append(state)):
        current_progress()("one", 0.5)
        with use_progress(lambda *state: inner.append(state)):
            current_progress()("two", 1.0)
        current_progress()("three", 1.0)
    current_progress()("after", 1.0)
    assert outer == [("one", 0.5), ("three", 1.0)]
    assert inner == [("two", 1.0)]


def test_parts_of_a_step() -> None:
    seen: list[State] = []
    with use_progress(lambda *state: seen.append(state)):
        for part in split_progress([3, 1], ["slow", "quick"]):
            with part:
                current_progress()("work", 0.5)
                with report_part(0.5, 1.0):
                    current_progress()("deeper", 1.0)
    names = ["work", "deeper", "deeper", "deeper"]
    assert [name for name, _ in seen] == ["slow", *names, "quick", *names]
    shares = [share for _, share in seen]
    assert (shares[0], shares[4], shares[5], shares[-1]) == (0.0, 0.75, 0.75, 1.0)
    assert 0.3 < shares[1] < shares[2] < 0.75
    assert [share for _, share in seen] == sorted(share for _, share in seen)
    with report_part(0.0, 0.5, "nobody listens"):
        current_progress()("work", 0.5)


def test_several_steps_where_one_was_expected() -> None:
    share = RisingShare()
    shown = [share.advance(value) for _ in range(5) for value in (0.0, 0.3, 1.0)]
    assert shown == sorted(shown) and shown[-1] < 1
    assert share.advance(7.0) <= 1


def slow(candidate: str, references: list[str]) -> float:
    """Return a score; functions of users report their progress."""
    return float(len(candidate))


@pytest.mark.filterwarnings("ignore::cidery.errors.UnreliableWarning")
def test_scores_and_comparisons_report_rising_shares(example: Example) -> None:
    def other(candidate: str, references: list[str]) -> float:
        return 1.0

    metrics = ["bleu-4", slow, other, "cider-d"]
    systems = {"a": example.system_a, "b": example.system_b, "c": example.system_a}
    for run in (
        lambda: cidery.score(example.system_a, example.references, metrics, by="references"),
        lambda: cidery.compare(systems, example.references, metrics, resamples=50),
    ):
        seen: list[State] = []
        with use_progress(lambda *state: seen.append(state)):  # noqa: B023
            run()
        shares = [share for _, share in seen]
        assert shares == sorted(shares) and 0.5 < shares[-1] <= 1
        assert {"scoring by slow", "scoring by other"} <= {name for name, _ in seen}
    assert "testing differences" in {name for name, _ in seen}


class TestBar:
    def test_it_never_falls_back(self) -> None:
        bar = Bar(2)
        shown = []
        for step in ("reading", "scoring"):
            bar(step)
            for name, share in itertools.product("abc", (0.0, 0.5, 1.0)):
                bar.report(name, share)
                shown.append(bar.done)
        bar("one step more than announced")
        shown.append(bar.done)
        assert shown == sorted(shown)
        assert 0.45 <= shown[8] < 0.5 <= shown[9] < 1
        bar = Bar([0.1, 0.9])
        bar("reading")
        bar("scoring")
        assert bar.done == pytest.approx(0.1)

    def test_remaining_time(self, monkeypatch: pytest.MonkeyPatch) -> None:
        now = 100.0
        monkeypatch.setattr(progress_bar.time, "monotonic", lambda: now)
        bar = Bar(1)
        bar("scoring")
        texts = []
        for second in range(11):
            now = 100.0 + 30 * second
            bar.report("encoding captions", second / 10)
            texts.append(bar.text)
        assert texts[0] == "encoding captions"
        assert texts[1] == "encoding captions, about 4 min left"  # 270 seconds
        assert texts[8] == "encoding captions, about 60 s left"
        bar.report("another step", 0.0)
        assert bar.text == "another step"

    def test_long_work_prints_lines_where_there_is_no_terminal(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        now = 0.0
        monkeypatch.setattr(progress_bar.time, "monotonic", lambda: now)
        for is_quiet in (False, True):
            printed = io.StringIO()
            monkeypatch.setattr(sys, "stderr", printed)
            now = 0.0
            bar = Bar(1, is_quiet=is_quiet)
            bar("scoring")
            for second in range(0, 600, 10):
                now = float(second)
                bar.report("encoding captions", second / 600)
            lines = printed.getvalue().splitlines()
            if is_quiet:
                assert not lines
            else:
                assert lines[0] == "9%: encoding captions, about 9 min left"
                assert len(lines) == 4  # after 1, 2, 4 and 8 minutes
