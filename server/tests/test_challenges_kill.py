"""Workers die, the power fails: every submission is scored exactly once."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from server.tests.support.installations import running
from server.tests.support.worker_kills import FEWEST_KILLS, SHORT_LEASE, run_under_fire


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lists a process's children")
def test_nothing_is_lost_or_doubled(database: str, tmp_path: Path) -> None:
    with running(tmp_path, database, workers=2, settings=SHORT_LEASE) as app:
        outcome = run_under_fire(app, 3, seed=5)
        assert outcome.kills >= FEWEST_KILLS
        assert outcome.is_exact, outcome
        assert "Traceback" not in app.log.read_text()
