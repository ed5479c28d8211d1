"""The load benchmark, small: none lost, none doubled, every item exactly its judges."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

BENCHMARKS = Path(__file__).parents[2] / "benchmarks" / "load"


def test_a_dozen_judges_at_once(tmp_path: Path) -> None:
    sys.path.insert(0, str(BENCHMARKS))
    try:
        from studies_load import run
    finally:
        sys.path.remove(str(BENCHMARKS))
    # In a thread: a browser of other tests may have an event loop running in this one.
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(
            run, tmp_path / "app", "", items=40, each=3, judges=12, pause=0.02, processes=2
        ).result()
    assert found["answers"] == 120
