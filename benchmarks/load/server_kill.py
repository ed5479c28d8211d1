"""Submissions to a server whose workers are killed: each is scored exactly once.

    python benchmarks/run.py server_kill [--submissions 500] [--postgresql]

Halfway, everything is killed at once and started again.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from server.tests.support.installations import PostgreSQL, running, running_postgresql
from server.tests.support.worker_kills import SHORT_LEASE, run_under_fire  # beside the tests


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--submissions", type=int, default=500)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--postgresql", action="store_true", help="instead of SQLite")
    options = parser.parse_args()
    with ExitStack() as stack:
        database = ""
        if options.postgresql:
            programs = PostgreSQL.find()
            if programs is None:
                raise SystemExit("PostgreSQL is not installed")
            database = stack.enter_context(running_postgresql(programs)).new_database()
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        app = stack.enter_context(
            running(folder, database, workers=options.workers, settings=SHORT_LEASE)
        )
        outcome = run_under_fire(app, options.submissions, seed=options.seed)
    print(
        f"{outcome.submitted} submissions, {outcome.kills} workers killed, one power cut, "
        f"{outcome.seconds:.0f} s: states {outcome.states}, submissions by number of scores "
        f"{outcome.scores}, {outcome.lost} lost"
    )
    sys.exit(not outcome.is_exact)


if __name__ == "__main__":
    main()
